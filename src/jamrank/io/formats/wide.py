"""Wide tables: a row for each pair, a column for each annotator."""

from __future__ import annotations

import numpy as np
import polars as pl

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, TIE, Outcomes, by_words
from jamrank.io.formats.table import QUESTIONS, Table

_NOT_ANNOTATORS = ("left", "right", "weight", "id", "pair_id", "index", "", "Unnamed: 0")
# What would make each row a vote of its own, and the table another.
_NOT_WIDE = (
    "winner", "label", "chosen", "rejected", "p_a", "p_left", "preference", "choice", "annotator", "worker", "judge",
)  # fmt: skip
_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED}
_NUMBERS = {"1": LEFT, "1.0": LEFT, "0": RIGHT, "0.0": RIGHT, "0.5": TIE, ".5": TIE}


def read(table: Table) -> Ballots:
    """Read ``left,right`` and the annotators: ``left``, ``right``, ``tie`` or 1, 0, 0.5; empty for no vote."""
    names = _annotators(table)
    if not names:
        raise InputError("no columns of annotators beside left and right", "expected one for each annotator")
    left, right = table.ids("left"), table.ids("right")
    cells = [_words(table, name) for name in names]
    meaning = _meaning(cells)
    if meaning is _NUMBERS:
        _refuse_items_called_like_votes(left, right)
    said: Outcomes = np.concatenate([by_words(cell, meaning, table.user_words) for cell in cells])
    rows = np.tile(np.arange(len(table)), len(names))
    weight, (question, asked) = table.weights(), table.asked("question", "question_id", each=True)
    note = "1 is left, 0 right" if meaning is _NUMBERS else ""
    return Ballots(
        pl.Series("annotator", names).gather(np.repeat(np.arange(len(names)), len(table))),
        left.gather(rows),
        right.gather(rows),
        said,
        None if weight is None else weight[rows],
        None if question is None else question.gather(rows),
        rows,
        notes=(
            f"annotators are the columns {', '.join(map(shown, names[:5]))}{', …' if names[5:] else ''}",
            note,
            asked,
        ),
    )


def _annotators(table: Table) -> list[str]:
    return [name for name in table.columns if name not in _NOT_ANNOTATORS and name.lower() not in QUESTIONS]


def _words(table: Table, name: str) -> pl.Series:
    """Return the cells of a column as they would be written."""
    series = table.series(name)
    if series is not None and series.dtype == pl.Boolean:
        raise InputError(f"the column {shown(name)} holds true and false", "expected left, right and tie, or 1 and 0")
    if series is not None and series.dtype.is_float():
        return series.fill_nan(None).cast(pl.String)
    if series is None:
        return pl.Series(name, [_written(value) for value in table.values(name)], dtype=pl.String)
    return table.words(name)


def _written(value: object) -> str | None:
    if value is None or value == "" or value != value:
        return None
    return value if isinstance(value, str) else repr(value)


def _meaning(cells: list[pl.Series]) -> dict[str, int]:
    """Return whether votes are words or numbers; not both, or a column is no annotator's."""
    seen = {str(value) for cell in cells for value in cell.drop_nulls().unique()}
    if not (seen & _WORDS.keys()):
        return _NUMBERS if seen & _NUMBERS.keys() else _WORDS
    if not (seen & _NUMBERS.keys()):
        return _WORDS
    numbers = next(
        cell.name for cell in cells if {str(value) for value in cell.drop_nulls().unique()} & _NUMBERS.keys()
    )
    problem = f"the column {shown(numbers)} has numbers where others have words"
    raise InputError(problem, "leave it out if it is not an annotator, or write its votes as in the other columns")


def _refuse_items_called_like_votes(left: pl.Series, right: pl.Series) -> None:
    called = {str(value) for column in (left, right) for value in column.unique()}
    if called <= set(_NUMBERS):
        raise InputError("items and votes are both called 0 and 1", "write the votes as left and right")


def fits(table: Table) -> bool:
    """Return whether two or more columns hold nothing but votes, and no column says that this is something else."""
    names = _annotators(table)
    if len(names) < 2 or any(name in table for name in _NOT_WIDE):
        return False
    try:
        votes = [set(_words(table, name).drop_nulls().unique()) for name in names]
    except InputError:
        return False
    return any(votes) and sum(bool(said & (_WORDS | _NUMBERS).keys()) for said in votes) >= 2


FORMAT = Format("wide", "wide table", ("left", "right"), read, fits)
