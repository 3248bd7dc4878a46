"""Rows that do not count: those that cannot be votes, and votes of annotators who are left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import polars as pl

from jamrank.data.ids import as_column
from jamrank.data.parsing import SELF_PAIR, parse_weights, parse_winners, refuse_empty, refuse_missing
from jamrank.errors import InputError, ParameterError
from jamrank.io.formats.base import of_one_type
from jamrank.io.records import Record
from jamrank.text import many

# If each row has a different problem, the file is read again for each of them.
_MOST_PASSES = 200
# If more than this share of the rows is bad, the format was probably not recognised correctly.
_FEW = 0.5
_ROWS_NAMED = 5


def refuse_second_header(content: pl.DataFrame) -> None:
    """Refuse rows of a table of text that repeat its header, as where two files were joined into one."""
    same: pl.Series | None = None
    for column in content.get_columns():
        if column.dtype == pl.Null:  # not read
            continue
        if isinstance(column.dtype, pl.Enum) and column.name not in column.dtype.categories:
            return
        found = (column == column.name).fill_null(False)
        same = found if same is None else same & found
        if not same.any():
            return
    if same is not None:
        rows = [row + 1 for row in same.arg_true().to_list()]
        remedy = "remove the row, or give the files one after the other instead of joining them"
        raise InputError("the header is repeated here", remedy, row=rows[0], rows=rows, reason="a repeated header")


@dataclass
class Sieve:
    """Removes rows that cannot be votes, one problem at a time, and records their positions."""

    content: pl.DataFrame | list[Record]
    reasons: dict[str, list[int]] = field(default_factory=dict)
    _passes: int = 0

    def __post_init__(self) -> None:
        self._kept = np.arange(len(self.content))

    def set_aside(self, error: InputError) -> bool:
        """Leave out the rows of an error; False if it is not about single rows."""
        self._passes += 1
        if not error.rows or self._passes > _MOST_PASSES or len(error.rows) >= len(self._kept):
            return False
        bad = np.zeros(len(self._kept), dtype=bool)
        bad[np.array(error.rows) - 1] = True
        self.reasons.setdefault(error.reason, []).extend((self._kept[bad] + 1).tolist())
        if isinstance(self.content, pl.DataFrame):
            self.content = self.content.filter(pl.Series(~bad))
        else:
            self.content = [record for record, own in zip(self.content, bad.tolist(), strict=True) if not own]
        self._kept = self._kept[~bad]
        return True

    def placed(self, error: InputError) -> InputError:
        """Return an error on rows that are left as one on rows of the file."""
        if error.row is None or not self.reasons:
            return error
        rows = [int(self._kept[row - 1]) + 1 for row in error.rows]
        return error.but(row=int(self._kept[error.row - 1]) + 1, rows=rows)

    def counts(self) -> dict[str, int]:
        """Return how many rows were set aside, by reason with the first rows."""
        return {f"{reason}: {_named(rows)}": len(rows) for reason, rows in self.reasons.items()}


def _named(rows: list[int]) -> str:
    rows = sorted(rows)
    listed = ", ".join(map(str, rows[:_ROWS_NAMED])) + (", …" if rows[_ROWS_NAMED:] else "")
    return f"{'row' if len(rows) == 1 else 'rows'} {listed}"


def with_all_rows(
    error: InputError, content: pl.DataFrame | list[Record], read: Callable[[pl.DataFrame | list[Record]], object]
) -> InputError:
    """Return an error that counts all rows of its file that cannot be votes, and says how to leave them out.

    error: The first problem.
    content: The file.
    read: Raises an :class:`InputError` at the first problem of what is left of it.
    """
    sieve, problem = Sieve(content), error
    while sieve.set_aside(problem):
        try:
            read(sieve.content)
        except InputError as other:
            problem = other
        else:
            break
    count = sum(map(len, sieve.reasons.values()))
    listed = [error.remedy]
    if len(sieve.reasons) > 1:
        listed.append(f"{many(count, 'row')} cannot be votes ({', '.join(sieve.counts())})")
    if 0 < count <= max(_FEW * len(content), 1):
        such = "this row" if count == 1 else f"these {count:,} rows"
        listed.append(f"--skip-bad-rows (skip_bad_rows= in Python) sets {such} aside")
    return error.but(remedy="; ".join(listed))


def refuse_bad_rows(frame: Any) -> None:
    """Refuse a canonical table in which a row cannot be a vote.

    Raises InputError: With all rows of the first problem that is found.
    """
    for name in ("annotator", "left", "right"):
        column = as_column(frame[name])
        refuse_missing(name, column)
        refuse_empty(name, column)
    parse_winners(as_column(frame["winner"]))
    if "weight" in frame.columns:
        parse_weights(frame["weight"])
    left, right = of_one_type(frame["left"], frame["right"])
    rows = (left == right).arg_true().to_list()
    if rows:
        places = [row + 1 for row in rows]
        problem = f"{left[rows[0]]!s} is compared with itself"
        remedy = "left and right must be different items"
        raise InputError(problem, remedy, row=places[0], rows=places, reason=SELF_PAIR)


@dataclass(frozen=True)
class Annotators:
    """Whose votes count: those of some, or of all but some; ids are compared as they are written."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def checked(cls, only: object, without: object) -> Annotators:
        """Return the selection, from an id or several of each.

        Raises ParameterError: If both are given.
        """
        chosen = cls(_texts(only), _texts(without))
        if chosen.only and chosen.without:
            raise ParameterError("--only and --without exclude each other; give one of them")
        return chosen

    def __bool__(self) -> bool:
        return bool(self.only or self.without)

    def among(self, known: Collection[str]) -> Annotators:
        """Return the same selection with each annotator named alone, where names were joined by commas.

        Raises ParameterError: If a named annotator did not vote, or no annotator is left.
        """
        found = replace(self, only=self._resolved(self.only, known), without=self._resolved(self.without, known))
        if found.without and set(known) <= set(found.without):
            raise ParameterError("--without leaves no annotator")
        return found

    def _resolved(self, names: tuple[str, ...], known: Collection[str]) -> tuple[str, ...]:
        parts = [[name] if name in known else [part.strip() for part in name.split(",")] for name in names]
        flat = tuple(name for several in parts for name in several)
        for name in flat:
            if name not in known:
                option = "--only" if self.only else "--without"
                alike = get_close_matches(name, known, 3, 0.6)
                meant = f"did you mean {' or '.join(alike)}?" if alike else f"there are {_listed(known)}"
                problem = f"{option} {name}: no such annotator among {many(len(known), 'annotator')}"
                raise ParameterError(f"{problem}; {meant}")
        return flat

    def keep(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the annotators who count."""
        if not self:
            return frame
        names = frame["annotator"].cast(pl.String)
        return frame.filter(names.is_in(list(self.only)) if self.only else ~names.is_in(list(self.without)))


EVERYBODY = Annotators()


def _texts(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    return tuple(str(name) for name in (given if several else (given,)))  # type: ignore[attr-defined]


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:8]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")
