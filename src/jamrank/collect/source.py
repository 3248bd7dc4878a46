"""A ledger as a source of votes."""

from __future__ import annotations

import os

import polars as pl

from jamrank.collect.ledger import open_ledger
from jamrank.errors import InputError
from jamrank.io.formats.grades import grades_of_margins


def votes_of(where: str | os.PathLike[str]) -> pl.DataFrame:
    """Return the votes of the ledger in a file or at a URL, with grades where strengths differ.

    Raises InputError: If there are none.
    """
    with open_ledger(where, create=False) as ledger:
        frame = ledger.votes()
        if not frame.height:
            raise InputError("the ledger has no votes yet", "ask people or judges first", source=ledger.name)
    empty = [name for name in ("question", "criterion") if (frame[name] == "").all()]
    return with_grades(frame).drop(empty)


def with_grades(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the grade of each vote to a table of votes, from its strength: a few levels, or thirds of many."""
    # A decided vote of strength 0 is the mildest, not a tie.
    level = pl.when(pl.col("winner").is_in(["left", "right"])).then(1.0 + pl.col("strength")).fill_null(0.0)
    _, grade = grades_of_margins(frame.select(level.alias("level"))["level"].to_numpy())
    return frame if grade is None else frame.with_columns(pl.Series("grade", grade))
