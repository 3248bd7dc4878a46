"""Large files of votes in jamrank's own form, coded part by part: the text of a part is dropped before the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.folding import count
from jamrank.data.ids import as_objects, encode
from jamrank.data.packing import Packing, sorted_keys
from jamrank.data.parsing import REQUIRED, WINNERS
from jamrank.data.periods import TIMES
from jamrank.data.storage import MISSING
from jamrank.io.canonical import integers
from jamrank.kernels import default_threads, kernels
from jamrank.typing import Int32Array

# Annotators; items on the left and on the right; winners; questions.
KINDS = {"annotator": 0, "left": 1, "right": 1, "winner": 2, "question": 3}
# What else a table of jamrank's own form may say, by the names of its columns.
_FURTHER = {"weight", "p_left", "grade", *TIMES}
# Votes are packed so many at a time, whose codes stay in cache.
_SLICE = 1 << 18


class Codes:
    """A column in codes, in as few bytes as they need and in one block, which is given back as a whole.

    Attributes
    ----------
    low : int
        The lowest code: -1 where a field is empty.
    """

    def __init__(self) -> None:
        self._codes: NDArray[Any] = np.empty(0, dtype=np.int8)
        self._size = self.low = 0

    def __len__(self) -> int:
        return self._size

    @property
    def codes(self) -> NDArray[Any]:
        """All codes."""
        return self._codes[: self._size]

    def add(self, own: NDArray[Any], low: int, high: int, expected: int) -> None:
        """Append codes from `low` to `high`, of about as many as are `expected` in the end."""
        # One number more stands for an empty field.
        kind = np.promote_types(self._codes.dtype, np.min_scalar_type(min(low, -high - 2)))
        size = self._size + len(own)
        if kind != self._codes.dtype or size > len(self._codes):
            grown = np.empty(max(size, len(self._codes), expected + expected // 16), dtype=kind)
            grown[: self._size] = self.codes
            self._codes = grown
        self._codes[self._size : size] = own
        self._size, self.low = size, min(self.low, low)


@dataclass(frozen=True)
class Coded:
    """The columns of a file as codes, -1 for an empty field.

    Attributes
    ----------
    columns : dict of str to Codes or list of ndarray
        Those that count; whole numbers that are ids already are as they were, part by part.
    words : dict of int to list of str
        The distinct texts of each kind of column, by code; no kind whose columns are whole numbers.
    written : bool
        Whether numbers are written as text, as in a CSV.
    """

    columns: dict[str, Codes | list[NDArray[Any]]]
    words: dict[int, list[str]]
    written: bool


def useful_columns(names: list[str]) -> list[str] | None:
    """Return the columns of jamrank's own form that are to be coded; None where others say something of a vote."""
    if not set(REQUIRED) <= set(names) or _FURTHER & set(names):
        return None
    if "question" not in names and len(names) > len(REQUIRED):
        from jamrank.io.formats.table import QUESTIONS

        if any(name.lower() in QUESTIONS for name in names):
            return None
    return [name for name in names if name in KINDS]


def in_doubt(name: str, low: int, high: int) -> bool:
    """Return whether, by the bounds of a column's codes, an id is missing or there are too many winners."""
    return high >= len(WINNERS) if name == "winner" else low < 0 and name != "question"


def votes_of(coded: Coded) -> Comparisons | None:
    """Return the votes of a file; None where anything is wrong with one, or they do not fit into integers."""
    said = coded.words[KINDS["winner"]]
    if not set(said) <= set(WINNERS):
        return None
    # The last one stands for an empty field, whose code is -1.
    meaning = np.array([*(WINNERS[word] for word in said), MISSING], np.int8)
    annotators, (who,) = _ranked(coded, "annotator")
    items, (left, right) = _ranked(coded, "left", "right")
    if "" in (annotators[0], items[0]):
        return None
    questions, asked = np.array([""], dtype=object), None
    if "question" in coded.columns:
        questions, (asked,) = _ranked(coded, "question")
    packing = Packing(items, annotators, questions)
    if not packing.possible:
        return None
    results = _Ranked(_codes_of(coded, "winner"), meaning)
    n_votes = len(results.codes)
    keys, n_missing = [np.empty(n_votes, dtype=np.int64)], 0
    for begin in range(0, n_votes, _SLICE):
        part = slice(begin, begin + _SLICE)
        lefts, rights, outcomes = left[part], right[part], meaning[results.codes[part]]
        if kernels.any_equal(lefts, rights, default_threads()):
            return None
        packing.pack(lefts, rights, who[part], None if asked is None else asked[part], outcomes, keys[0][part])
        n_missing += count(outcomes, MISSING)
    # Before memory is taken to sort and to unpack; the keys go when they are sorted.
    del left, right, who, asked, results
    coded.columns.clear()
    return Comparisons.unpack(packing, *sorted_keys(keys.pop(), None), n_votes - n_missing, n_missing)


@dataclass(frozen=True)
class _Ranked:
    """A column of ids: codes, and the rank of each from -1 on."""

    codes: NDArray[Any]
    rank: NDArray[Any]

    def __getitem__(self, part: slice) -> Int32Array:
        codes = self.codes[part]
        found = np.empty(len(codes), dtype=np.int32)
        kernels.code_ids(codes, -1 if len(self.rank) else 0, self.rank, found, default_threads())
        return found


def _codes_of(coded: Coded, name: str) -> NDArray[Any]:
    column = coded.columns[name]
    assert isinstance(column, Codes)
    return column.codes


def _ranked(coded: Coded, *names: str) -> tuple[NDArray[Any], list[_Ranked]]:
    """Return the distinct ids of some columns, sorted, and the place of each vote's id among them."""
    kind = KINDS[names[0]]
    columns = [coded.columns[name] for name in names]
    if kind not in coded.words:
        labels, codes = encode(*(np.concatenate(column) for column in columns if isinstance(column, list)))
        return labels, [_Ranked(own, np.empty(0, dtype=np.int32)) for own in codes]
    texts = coded.words.pop(kind)
    gaps = any(isinstance(column, Codes) and column.low < 0 for column in columns)
    # One question for all rows without; its name is no number, and no id of the others is one then.
    words = pl.Series([*texts, ""] if gaps and "" not in texts else texts, dtype=pl.String)
    whole = integers(words) if coded.written else None
    known = words if whole is None else whole
    order = known.arg_sort().to_numpy()
    labels = as_objects(known.gather(order)) if whole is None else whole.to_numpy()[order]
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order + 1] = np.arange(len(order), dtype=np.int32)
    rank[0] = rank[texts.index("") + 1 if "" in texts else -1]
    return labels, [_Ranked(_codes_of(coded, name), rank) for name in names]
