"""Large files of votes in jamrank's own form, coded part by part: the text of a part is dropped before the next."""

from __future__ import annotations

from collections.abc import Iterator
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
from jamrank.kernels.in_threads import copied, extremes
from jamrank.typing import Int32Array

# Annotators; items on the left and on the right; winners; questions.
KINDS = {"annotator": 0, "left": 1, "right": 1, "winner": 2, "question": 3}
# What else a table of jamrank's own form may say, by the names of its columns.
_FURTHER = {"weight", "p_left", "grade", *TIMES}


@dataclass(frozen=True)
class Coded:
    """The columns of a file as codes, -1 for an empty field.

    Attributes
    ----------
    parts : dict of str to list of ndarray
        Of each column that counts, part by part; whole numbers that are ids already are as they were.
    words : dict of int to list of str
        The distinct texts of each kind of column, by code; no kind whose columns are whole numbers.
    written : bool
        Whether numbers are written as text, as in a CSV.
    """

    parts: dict[str, list[NDArray[Any]]]
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


def add_part(columns: dict[str, list[NDArray[Any]]], name: str, codes: NDArray[Any]) -> bool:
    """Keep the codes of a part of a column; False where an id is missing, or there are too many winners."""
    low, high = extremes(codes)
    if (high >= len(WINNERS)) if name == "winner" else (low < 0 and name != "question"):
        return False
    columns[name].append(copied(codes, np.int8) if name == "winner" else codes)
    return True


def votes_of(coded: Coded) -> Comparisons | None:
    """Return the votes of a file; None where anything is wrong with one, or they do not fit into integers."""
    said = coded.words[KINDS["winner"]]
    if not set(said) <= set(WINNERS):
        return None
    # The last one stands for an empty field, whose code is -1.
    meaning = np.array([*(WINNERS[word] for word in said), MISSING], np.int8)
    results = np.concatenate([meaning[part] for part in coded.parts.pop("winner")])
    annotators, (who,) = _ranked(coded, "annotator")
    items, (left, right) = _ranked(coded, "left", "right")
    if kernels.any_equal(left, right, default_threads()) or "" in (annotators[0], items[0]):
        return None
    questions, asked = np.array([""], dtype=object), None
    if "question" in coded.parts:
        questions, (asked,) = _ranked(coded, "question")
    packing = Packing(items, annotators, questions)
    if not packing.possible:
        return None
    n_votes, n_missing = len(results), count(results, MISSING)
    keys = [packing.pack(left, right, who, asked, results)]
    # Before memory is taken to sort and to unpack; the keys go when they are sorted.
    del left, right, who, asked, results
    return Comparisons.unpack(packing, *sorted_keys(keys.pop(), None), n_votes - n_missing, n_missing)


def _ranked(coded: Coded, *names: str) -> tuple[NDArray[Any], list[Int32Array]]:
    """Return the distinct ids of some columns, sorted, and the place of each vote's id among them."""
    kind = KINDS[names[0]]
    if kind not in coded.words:
        return encode(*(np.concatenate(list(_taken(coded.parts[name]))) for name in names))
    texts = coded.words.pop(kind)
    gaps = any(extremes(part)[0] < 0 for name in names for part in coded.parts[name])
    # One question for all rows without; its name is no number, and no id of the others is one then.
    words = pl.Series([*texts, ""] if gaps and "" not in texts else texts, dtype=pl.String)
    whole = integers(words) if coded.written else None
    known = words if whole is None else whole
    order = known.arg_sort().to_numpy()
    labels = as_objects(known.gather(order)) if whole is None else whole.to_numpy()[order]
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order + 1] = np.arange(len(order), dtype=np.int32)
    rank[0] = rank[texts.index("") + 1 if "" in texts else -1]
    return labels, [_joined(coded.parts[name], rank) for name in names]


def _joined(parts: list[NDArray[Any]], rank: Int32Array) -> Int32Array:
    """Return the ranks of codes from -1 on that came in parts, which are dropped on the way."""
    found, begin = np.empty(sum(map(len, parts)), dtype=np.int32), 0
    for part in _taken(parts):
        kernels.code_ids(part, -1, rank, found[begin : begin + len(part)], default_threads())
        begin += len(part)
    return found


def _taken(parts: list[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    parts.reverse()
    while parts:
        yield parts.pop()
