"""Votes that are no table in a file: where they come from, and who reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jamrank.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_SQLITE = b"SQLite format 3\0"
_URL = re.compile(r"(postgres(ql)?|sqlite)(\+\w+)?://", re.IGNORECASE)
# By the name of its module, since what collects votes is built upon this room; it has `votes_of(where)`.
_LEDGER = "jamrank.collect.source"


def is_url(where: str | os.PathLike[str]) -> bool:
    """Return whether a name is the URL of a database."""
    return isinstance(where, str) and _URL.match(where) is not None


def is_source(where: str | os.PathLike[str]) -> bool:
    """Return whether votes are in a database: by its URL, or by how the file begins."""
    if is_url(where):
        return True
    try:
        # A pipe can be read but once, and is left to those who read tables.
        if not Path(where).is_file():
            return False
        with Path(where).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False


def source_name(where: str | os.PathLike[str]) -> str:
    """Return a path or URL as messages show it: without the password."""
    text = str(where)
    if not is_url(where):
        return text
    text = re.sub(r"(?<=://)([^:@/]*):.*@", r"\1:***@", text)
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", text)


def load_source(where: str | os.PathLike[str]) -> pl.DataFrame:
    """Return the votes of a database in the canonical form.

    Raises InputError: If it is no ledger, or has no votes.
    """
    try:
        read = cast("Callable[[str | os.PathLike[str]], pl.DataFrame]", import_module(_LEDGER).votes_of)
    except ModuleNotFoundError:
        raise InputError(
            "this is a database, and SQLAlchemy is not installed",
            "pip install 'jamrank[jury]' to read ledgers",
            source=source_name(where),
        ) from None
    return read(where)
