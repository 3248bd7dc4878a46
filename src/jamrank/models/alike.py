"""Items that nothing but their names tells apart, and an order of items that does not hang on names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import Comparisons
from jamrank.diagnostics.folds import Colours, sample_parts
from jamrank.io.parted import Votes

__all__ = ["Likeness", "by_group", "codes", "likeness", "nothing_alike"]

Longs = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_SAME = 9  # decimals in which scores of exchangeable items agree
_MOST_ROUNDS = 30
# Of more items than that which are alike, the rest go by their place.
_MOST_SINGLED_OUT = 40


@dataclass(frozen=True)
class Likeness:
    """What the votes say of who is like whom.

    Attributes
    ----------
    group : ndarray of int
        Equal for items with the same score that the votes do not tell apart.
    place : ndarray of int
        The place of each item in an order that names do not change, but for exchanging items that are alike.
    annotator : ndarray of uint64
        Equal for annotators that the votes do not tell apart, once items have their places.
    """

    group: Longs
    place: Longs
    annotator: Hashes


def nothing_alike(n_items: int) -> Longs:
    """Return groups of one item each."""
    return np.arange(n_items)


def likeness(votes: Votes, scores: NDArray[np.float64]) -> Likeness:
    """Tell items apart by scores and votes, and put them in an order.

    Items with one score are coloured by what votes say of them, of those they were compared with, and so on. One of
    those that are still alike, whichever it is, is then singled out and the others are coloured anew, by how they
    stand to it, until all differ.
    """
    table = votes if isinstance(votes, Comparisons) else sample_parts(votes, votes.n_votes)
    colours = Colours(table)
    rounded = np.round(scores, _SAME) + 0.0
    _settle(colours)
    group = codes(rounded, colours.item)
    code = group
    for turn in range(_MOST_SINGLED_OUT):
        count = np.bincount(code)
        alike = np.flatnonzero(count[code] > 1)
        if not len(alike):
            break
        one = alike[np.argmin(code[alike])]
        colours.item[one] += np.uint64(turn + 1)
        _settle(colours)
        code = codes(code, colours.item)
    place = np.empty(len(scores), np.int64)
    place[np.lexsort((np.arange(len(code)), code))] = np.arange(len(code))
    return Likeness(group, place, colours.annotator)


def by_group(values: NDArray[np.float64], group: Longs) -> NDArray[np.float64]:
    """Return values with one row an item, each row the mean over those that are alike."""
    count = np.bincount(group)
    if count.max(initial=0) <= 1:
        return values
    total = np.zeros((len(count), *values.shape[1:]))
    np.add.at(total, group, values)
    return np.asarray((total.T / np.maximum(count, 1)).T[group])


def _settle(colours: Colours) -> None:
    known = 0
    for _ in range(_MOST_ROUNDS):
        colours.refine()
        found = len(np.unique(colours.item)) + len(np.unique(colours.annotator))
        if found <= known:
            return
        known = found


def codes(first: NDArray[np.generic], second: Hashes) -> Longs:
    """Return numbers for the distinct couples of values, in their order."""
    order = np.lexsort((second, first))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (first[order][1:] != first[order][:-1]) | (second[order][1:] != second[order][:-1])
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(new) - 1
    return found
