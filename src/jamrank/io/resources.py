"""Text files that come with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def package_text(package: str, name: str) -> str:
    """Return a text file that lies in a package, such as a style sheet."""
    return files(package).joinpath(name).read_text(encoding="utf-8")
