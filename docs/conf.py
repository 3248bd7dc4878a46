"""How the documentation is built: `make docs`."""

from pathlib import Path

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

_RESULTS = Path(__file__).parent.parent / "benchmarks" / "results.md"
_INCLUDE = "\n```{include} ../benchmarks/results.md\n:heading-offset: 1\n```\n"
_NO_RESULTS = "\nThis copy of the documentation was built without results.\n"


def _add_results(app, name, source):
    """Show the results of the benchmarks where there are any."""
    if name == "benchmarks":
        source[0] += _INCLUDE if _RESULTS.exists() else _NO_RESULTS


def setup(app):
    """Let Sphinx know of the above."""
    app.connect("source-read", _add_results)
