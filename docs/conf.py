"""How the documentation is built: `make docs`."""

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

from jamrank import __version__

project = "jamrank"
copyright = "the jamrank developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# As parameters are shown: several attributes may share one line.
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"jamrank {release}"
html_copy_source = False

# Tables and records are shown as they are.
lexers["csv"] = lexers["jsonl"] = TextLexer()
