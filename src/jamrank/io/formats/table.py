"""A file of votes before anyone knows what it means: columns of text, of typed values or of records."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from jamrank.data.ids import UNNAMED
from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.read_log import NotReadError
from jamrank.io.records import Record
from jamrank.typing import FloatArray

# Columns in which the annotators may stand, where a format does not name its own.
ANNOTATORS = (
    "annotator", "worker", "judge", "performer", "rater", "labeler", "labeller", "assessor", "user",
    "annotator_id", "worker_id", "judge_id", "rater_id", "labeler_id", "user_id",
)  # fmt: skip
# Columns in which the questions may stand, in capitals or not, where a format does not name its own: finest first.
QUESTIONS = ("question", "question_id", "prompt_id", "prompt", "instruction", "topic")
# What was asked, and not what it was about.
_ASKED = QUESTIONS[:-1]
# Columns that may number the votes.
_NUMBERING = ("id", "question_id")
_EXACT = 2**53
# How alike two names must be for one to be a misspelling of the other; 1 is the same.
_ALIKE = 0.85
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


class Table:
    """The columns of a file.

    Parameters
    ----------
    content : polars.DataFrame or list of dict
        A table, or records.
    written : bool
        Whether all of a table is text, as in a CSV. Columns that were not read are null.
    who : str
        Whose votes they are, where the file does not say.
    given : mapping, optional
        Columns that the user named: ``annotator``, ``question`` and ``weight``. They go before a format's own.
    words : mapping of str to int, optional
        Outcomes by words of the user's own.
    """

    def __init__(
        self,
        content: pl.DataFrame | list[Record],
        written: bool = False,
        who: str = UNNAMED,
        given: Mapping[str, str] | None = None,
        words: Mapping[str, int] | None = None,
    ) -> None:
        self._content, self.written = content, written
        self._who, self._given, self._words = who, dict(given or {}), dict(words or {})
        self._unused = {*self._given, *(["words"] if self._words else [])}
        self.asked_in: str | None = None
        # Names of columns whose values were looked at, of this table and those that were made of it.
        self.looked_at: set[str] = set()

    def _made_of_this(self, content: pl.DataFrame | list[Record], given: dict[str, str]) -> Table:
        table = Table(content, self.written, self._who, given, self._words)
        table.looked_at = self.looked_at
        return table

    def lowered(self) -> Table | None:
        """Return the same table with column names in lower case and without spaces around; None if two would meet."""
        names = {name: name.strip().lower() for name in self.columns}
        if len(set(names.values())) < len(names) or all(name == low for name, low in names.items()):
            return None
        content: pl.DataFrame | list[Record]
        if isinstance(self._content, pl.DataFrame):
            content = self._content.rename(names)
        else:
            content = [{names[name]: value for name, value in record.items()} for record in self._content]
        given = {role: names.get(column, column) for role, column in self._given.items()}
        return self._made_of_this(content, given)

    @property
    def unused(self) -> set[str]:
        """What the user gave and no format has asked for: roles of columns, and ``words``."""
        return self._unused

    @property
    def user_words(self) -> dict[str, int]:
        """Outcomes by words of the user's own."""
        self._unused.discard("words")
        return self._words

    def _named(self, role: str) -> str | None:
        """Return the column that the user named for a role."""
        self._unused.discard(role)
        return self._given.get(role)

    def __len__(self) -> int:
        return len(self._content)

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns; of records, those of any."""
        if isinstance(self._content, pl.DataFrame):
            return self._content.columns
        return list(dict.fromkeys(name for record in self._content for name in record))

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def has(self, *names: str) -> bool:
        """Return whether all of these columns are there."""
        return all(name in self for name in names)

    def values(self, name: str) -> list[Any]:
        """Return a column as Python objects, None where there is nothing; ``a.b`` looks into records."""
        if name in self:
            if isinstance(self._content, pl.DataFrame):
                return self._series(self._content, name).to_list()
            return [record.get(name) for record in self._content]
        outer, dot, inner = name.partition(".")
        if not dot or not self.has(outer):
            raise InputError(f"no column {shown(name)} among {_listed(self.columns)}", "check the name")
        return [_look_into(value, inner) for value in self.values(outer)]

    def series(self, name: str) -> pl.Series | None:
        """Return a column of a table as it is; None where values must be looked at one by one."""
        return self._series(self._content, name) if isinstance(self._content, pl.DataFrame) and name in self else None

    def _series(self, content: pl.DataFrame, name: str) -> pl.Series:
        self.looked_at.add(name)
        if self.written and content[name].dtype == pl.Null:
            raise NotReadError(name)
        return content[name]

    def is_flat(self, name: str) -> bool:
        """Return whether a column is known to have neither lists nor records."""
        if not isinstance(self._content, pl.DataFrame) or name not in self:
            return False
        kind = self._content.schema[name]
        return not kind.is_nested() and kind != pl.Object

    def as_text(self) -> Table:
        """Return the same table with columns of text where it has been read into categories."""
        if not self.written or not isinstance(self._content, pl.DataFrame):
            return self
        content = self._content.with_columns(pl.col(pl.Enum).cast(pl.String))
        return self._made_of_this(content, self._given)

    def ids(self, name: str, missing: str | None = None) -> pl.Series:
        """Return a column of ids: text or whole numbers.

        Parameters
        ----------
        name : str
            The column.
        missing : str, optional
            What stands for an id that is not there; without it, that is an error.

        Several columns joined by ``+`` are one id together, unless a column has that name.

        Returns
        -------
        polars.Series
            Of type String or Int64, or categories where the table has been read into these.
        """
        if "+" in name and name not in self:  # an item that several columns name together
            parts = [self.ids(part, missing).cast(pl.String) for part in name.split("+")]
            return pl.select(pl.concat_str(parts, separator=" ").alias(name)).to_series()
        series = self.series(name)
        if series is not None and self._has_categories(series):
            column = series
        else:
            column = _ids_of_series(series) if series is not None else as_ids(self.values(name), name)
        if not column.null_count():
            return column
        if missing is None:
            rows = [row + 1 for row in column.is_null().arg_true().to_list()]
            raise InputError(f"{name} is missing", "every vote needs an id there", row=rows[0], rows=rows)
        return column.cast(pl.String).fill_null(missing)

    def words(self, name: str) -> pl.Series:
        """Return a column of words, null for none; whole numbers count as they are written."""
        series = self.series(name)
        if series is not None and self._has_categories(series):
            return series
        return self.ids(name, missing="").cast(pl.String).replace("", None).alias(name)

    def _has_categories(self, series: pl.Series) -> bool:
        return self.written and isinstance(series.dtype, pl.Enum)

    def numbers(self, name: str, least: float = -math.inf, most: float = math.inf) -> FloatArray:
        """Return a column of numbers, NaN for none.

        Raises
        ------
        InputError
            At the first value that is no finite number, or out of bounds.
        """
        series = self.series(name)
        if series is None:
            column = np.array([_number(value) for value in self.values(name)], dtype=np.float64)
        elif series.dtype.is_numeric() or series.dtype in (pl.String, pl.Null):
            column = _numbers_of_series(series)
        elif self._has_categories(series):
            column = _numbers_of_series(series.cast(pl.String))
        else:
            raise InputError(f"the column {shown(name)} holds {series.dtype}", "expected numbers")
        wrong = np.isinf(column) | (column < least) | (column > most)
        if wrong.any():
            rows = np.flatnonzero(wrong).tolist()
            bounds = "a finite number" if math.isinf(least) else f"a number of at least {least:g}"
            if not math.isinf(most):
                bounds = f"a number from {least:g} to {most:g}"
            value = self.values(name)[rows[0]]
            if _DECIMAL_COMMA.fullmatch(str(value).strip()):
                bounds += ", with a point before decimals"
            problem, places = f"{name} is {shown(value)}", [row + 1 for row in rows]
            raise InputError(problem, f"expected {bounds}", row=places[0], rows=places, reason=f"bad {name}")
        return column

    def is_numeric(self, name: str) -> bool:
        """Return whether a column has numbers, and nothing else."""
        try:
            return bool((~np.isnan(self.numbers(name))).any())
        except InputError:
            return False

    def weights(self, name: str = "weight") -> FloatArray | None:
        """Return the weights of the rows; None where there is no such column."""
        name = self._named("weight") or name
        if name not in self and name not in self._given.values():
            return None
        weights = self.numbers(name, least=0.0)
        if np.isnan(weights).any():
            rows = (np.flatnonzero(np.isnan(weights)) + 1).tolist()
            raise InputError(f"{name} is empty", "expected a number of at least 0", row=rows[0], rows=rows)
        return weights

    def questions(self, *names: str) -> pl.Series | None:
        """Return the first of some columns as questions, one for all rows without; None where no column is there."""
        found = self._named("question") or next((name for name in names if name in self), None)
        return None if found is None else self.ids(found, missing="")

    def asked(self, *names: str, each: bool = False, broad: bool = True) -> tuple[pl.Series | None, str]:
        """Return the questions, also from a column that is only called like one and repeats itself; and a note.

        Parameters
        ----------
        *names : str
            The columns in which the format has the questions. One that numbers the votes gives way to a column that
            repeats itself.
        each : bool
            Whether such a column also counts if it differs in every row, where every vote may be on its own.
        broad : bool
            Whether it may be the topic.

        Returns
        -------
        column : polars.Series or None
        note : str
            Empty where it was the format's own column, or there is none.
        """
        own = next((name for name in names if name in self), None)
        alike = self._alike(QUESTIONS if broad and own is None else _ASKED, own)
        if self._given.get("question") is not None or not alike or (own is not None and own not in _NUMBERING):
            return self.questions(*names), ""
        self._named("question")
        if own is not None and self._repeats(own):
            alike = []
        found = self._best(alike, each and own is None)
        self.asked_in = own if found is None else found
        if found is not None:
            why = "" if own is None else f", as {own!r} differs in every row"
            return self.ids(found, missing=""), f"questions are {found!r}{why}"
        return self.questions(*names), self._why_not(alike, own)

    def _alike(self, names: Sequence[str], own: str | None) -> list[str]:
        """Return columns that are called like those of questions, finest first."""
        found = [name for name in self.columns if name.lower() in names and name != own]
        return sorted(found, key=lambda name: (names.index(name.lower()), name))

    def _best(self, alike: list[str], each: bool) -> str | None:
        """Return the first column that repeats itself; before the topic, one of ids that differ in every row."""
        asked = [name for name in alike if name.lower() in _ASKED]
        found = next((name for name in asked if self._repeats(name)), None)
        if found is None and each:
            found = next((name for name in asked if self._counts(name) is not None), None)
        return found or next((name for name in alike if name not in asked and self._repeats(name)), None)

    def _why_not(self, alike: list[str], own: str | None) -> str:
        """Return why a column that is called like one of questions is none; empty where it says nothing."""
        for name in alike:
            counts = self._counts(name)
            if counts is None:
                return f"{name!r} is not used as the question: its values are no ids"
            if own is None and counts[1] > 1:
                return f"{name!r} is not used as the question: it differs in every row"
        return ""

    def unasked(self, used: Collection[str]) -> str:
        """Return a note on a column that looks like one of questions, where the user named all columns but that."""
        found = next((name for name in self._alike(_ASKED, None) if name not in used and self._repeats(name)), None)
        return "" if found is None else f"{found!r} is not used as the question; question={found} maps it"

    def _repeats(self, name: str) -> bool:
        """Return whether a column has ids, and some of them more than once: each vote may have a text of its own."""
        counts = self._counts(name)
        return counts is not None and counts[0] < counts[1]

    def _counts(self, name: str) -> tuple[int, int] | None:
        """Return how many ids of a column are distinct, and how many there are; None where they are no ids."""
        try:
            series = self.series(name)
            column = _ids_of_series(series) if series is not None else as_ids(self.values(name), name)
        except InputError:
            return None
        known = column.drop_nulls()
        return (known.n_unique(), len(known)) if len(known) else None

    def annotators(self, *names: str) -> tuple[pl.Series, str]:
        """Return who voted, and a note on where that was found.

        Parameters
        ----------
        *names : str
            The columns in which the format has the annotators.

        Returns
        -------
        column : polars.Series
        note : str
            Empty where it was the format's own column.
        """
        own = self._named("annotator") or next((name for name in names if name in self), None)
        if own is not None:
            return self.ids(own), ""
        others = [name for name in self.columns if name.strip().lower() in ANNOTATORS]
        if len(others) > 1:
            problem = f"the annotators may be in {' or '.join(map(repr, others))}"
            raise InputError(problem, "choose one with --map annotator=…")
        if others:
            return self.ids(others[0]), f"annotators from the column {others[0]!r}"
        column, note = self.unnamed()
        meant = [name for name in self.columns if get_close_matches(name.lower(), ANNOTATORS, 1, _ALIKE)]
        if meant:
            note += f"; if {shown(meant[0])} has them, --map annotator={meant[0]}"
        return column, note

    def unnamed(self) -> tuple[pl.Series, str]:
        """Return one annotator for all rows, and a note that says so."""
        note = "no annotators are named: all votes count as those of one annotator"
        if self._who != UNNAMED:
            note += f", named {shown(self._who)} after the file"
        return pl.Series("annotator", [self._who], dtype=pl.Enum([self._who])).new_from_index(0, len(self)), note


def as_ids(values: Sequence[Any], name: str, rows: Sequence[int] | None = None) -> pl.Series:
    """Return Python objects as ids, null for None, NaN and empty text.

    name: What they are, for an error.
    rows: The row of the file that each came from, counted from 0; unless given, its own position.
    """
    ids = [_id(value, name, row) for row, value in zip(rows or range(len(values)), values, strict=True)]
    kinds = {type(value) for value in ids} - {type(None)}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in ids if isinstance(value, int)):
        return pl.Series(name, ids, dtype=pl.Int64)
    return pl.Series(name, [None if value is None else str(value) for value in ids], dtype=pl.String)


def _id(value: Any, name: str, row: int) -> str | int | None:
    if isinstance(value, str):
        return value or None
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and math.isnan(value):
        return None
    # A whole number with a gap in its column becomes a float in pandas.
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    problem = f"{name} is {shown(value)}"
    raise InputError(problem, "expected text or a whole number", row=row + 1, reason=f"{name} is not an id")


_SHORTER_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


def _ids_of_series(series: pl.Series) -> pl.Series:
    kind = series.dtype
    if kind in (pl.Categorical, pl.Enum, pl.Null):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        empty = series == ""
        return series.set(empty, None) if empty.any() else series
    if kind.is_integer():
        return series.cast(pl.Int64 if kind in _SHORTER_INTEGERS else pl.String)
    return as_ids(series.to_list(), series.name)


def _numbers_of_series(series: pl.Series) -> FloatArray:
    numbers = series.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & series.is_not_null() & (series != "" if series.dtype == pl.String else True)
    return numbers.set(wrong, math.inf).fill_null(math.nan).to_numpy()


def _number(value: Any) -> float:
    """Return a number, NaN for none and infinity for what is no number."""
    if value is None or value == "":
        return math.nan
    if isinstance(value, str):
        return float(_numbers_of_series(pl.Series([value]))[0])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.inf
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _look_into(value: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and part.isascii():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            return None
    return value


def _listed(names: Iterable[str]) -> str:
    names = [shown(name) for name in names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
