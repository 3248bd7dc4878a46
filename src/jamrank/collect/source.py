"""A ledger as a source of votes."""

from __future__ import annotations

import os

import polars as pl

from jamrank.collect.ledger import open_ledger
from jamrank.errors import InputError

__all__ = ["votes_of"]


def votes_of(where: str | os.PathLike[str]) -> pl.DataFrame:
    """Return the votes of the ledger in a file or at a URL.

    Raises
    ------
    InputError
        If there are none.
    """
    with open_ledger(where, create=False) as ledger:
        frame = ledger.votes()
        if not frame.height:
            raise InputError("the ledger has no votes yet", "ask people or judges first", source=ledger.name)
    empty = [name for name in ("question", "criterion") if (frame[name] == "").all()]
    return frame.drop(empty)
