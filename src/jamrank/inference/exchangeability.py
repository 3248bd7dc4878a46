"""Exchangeable items and annotators, and an order that does not depend on names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.color_refinement import ColorRefinement, mix
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import MISSING, TIE
from jamrank.io.out_of_core.parted import Votes
from jamrank.io.out_of_core.sampling import sample_parts
from jamrank.typing import FloatArray, HashArray, IntArray

_SAME = 9  # decimals in which scores of exchangeable items agree
_MOST_ROUNDS = 30
# Of more exchangeable items than this, the rest are ordered by index.
_MOST_SINGLED_OUT = 40


@dataclass(frozen=True)
class Exchangeability:
    """Which items and annotators are exchangeable given the votes.

    group: Equal for exchangeable items: same score, same votes.
    place: The position of each item in an order that depends on names only among exchangeable items.
    annotator: Equal for annotators that are exchangeable once items are ordered.
    annotator_place, question_place: The positions of annotators and questions in such an order.
    table: The votes.
    """

    group: IntArray
    place: IntArray
    annotator: HashArray
    annotator_place: IntArray
    question_place: IntArray
    table: Comparisons

    def canonical(self, votes: Comparisons | None = None) -> Comparisons:
        """Return the votes with positions instead of ids; the result does not depend on names.

        ``votes`` may be other votes on the same pairs by the same annotators and one more, who comes last.
        """
        votes = self.table if votes is None else votes
        who = np.append(self.annotator_place, len(self.annotator_place))
        idle = np.setdiff1d(np.arange(votes.n_annotators), votes.vote_annotator)
        empty = np.flatnonzero(np.diff(votes.vote_start) == 0)
        pair = np.concatenate([votes.vote_pair, np.zeros(len(idle), np.int64), empty])
        annotator = np.concatenate([votes.vote_annotator, idle, np.zeros(len(empty), np.int64)])
        n_extra = len(idle) + len(empty)
        result = np.concatenate([votes.vote_result, np.full(n_extra, MISSING, np.int8)])
        swapped = np.concatenate([votes.vote_swapped, np.zeros(n_extra, bool)])
        weight = np.concatenate([votes.vote_weight, np.ones(n_extra)])
        first, second = self.place[votes.pair_first[pair]], self.place[votes.pair_second[pair]]
        left, right = np.where(swapped, second, first), np.where(swapped, first, second)
        result = np.where(swapped & (result < TIE), 1 - result, result).astype(np.int8)
        grade = np.concatenate([votes.vote_grade, np.zeros(n_extra, np.int8)])
        columns = (left, right, who[annotator], result, weight, self.question_place[votes.pair_question[pair]], grade)
        order = np.lexsort(columns[::-1])
        left, right, judge, result, weight, question, grade = (column[order] for column in columns)
        return Comparisons._from_results(left, right, judge, result, weight, question, grades=grade)


def all_distinct(n_items: int) -> IntArray:
    """Return groups of one item each."""
    return np.arange(n_items)


def find_exchangeable(
    votes: Votes, scores: FloatArray, sides: bool = False, features: FloatArray | None = None
) -> Exchangeability:
    """Find exchangeable items and order all items, by scores and votes.

    Colour refinement: items of equal score are coloured by their votes, then by the colours of the items they were
    compared with, and so on. While items share a colour, one of them gets its own and the refinement is repeated.
    """
    table = votes if isinstance(votes, Comparisons) else sample_parts(votes, votes.n_votes)
    colors = ColorRefinement(table, sides)
    if features is not None:
        alike = np.unique(np.round(features, _SAME) + 0.0, axis=0, return_inverse=True)[1]
        colors.item = colors.item + mix(alike.ravel().astype(np.uint64))
    rounded = np.round(scores, _SAME) + 0.0
    _settle(colors)
    group = codes(rounded, colors.item)
    # Not by scores: rounding must not decide an order.
    code = np.unique(colors.item, return_inverse=True)[1]
    for turn in range(_MOST_SINGLED_OUT):
        count = np.bincount(code)
        alike = np.flatnonzero(count[code] > 1)
        if not len(alike):
            break
        one = alike[np.argmin(code[alike])]
        colors.item[one] += np.uint64(turn + 1)
        _settle(colors)
        code = codes(code, colors.item)
    question = _single_out_questions(colors)
    return Exchangeability(
        group, _places(code), colors.annotator, _places(colors.annotator), _places(question), table
    )


def _single_out_questions(colors: ColorRefinement) -> HashArray:
    for turn in range(_MOST_SINGLED_OUT):
        kinds, at, count = np.unique(colors.question, return_inverse=True, return_counts=True)
        if len(kinds) == len(at):
            break
        colors.question[np.flatnonzero(count[at] > 1)[0]] += np.uint64(turn + 1)
        _settle(colors)
    return colors.question


def _places(values: NDArray[Any]) -> IntArray:
    """Return the position of each value in sorted order."""
    place = np.empty(len(values), np.int64)
    place[np.argsort(values, kind="stable")] = np.arange(len(values))
    return place


def by_group(values: FloatArray, group: IntArray) -> FloatArray:
    """Return values with one row per item, averaged over exchangeable items."""
    count = np.bincount(group)
    if count.max(initial=0) <= 1:
        return values
    total = np.zeros((len(count), *values.shape[1:]))
    np.add.at(total, group, values)
    return np.asarray((total.T / np.maximum(count, 1)).T[group])


def _settle(colors: ColorRefinement) -> None:
    known = 0
    for _ in range(_MOST_ROUNDS):
        colors.refine()
        found = len(np.unique(colors.item)) + len(np.unique(colors.annotator))
        if found <= known:
            return
        known = found


def codes(first: NDArray[np.generic], second: HashArray) -> IntArray:
    """Return codes of the distinct couples of values, in sorted order."""
    order = np.lexsort((second, first))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (first[order][1:] != first[order][:-1]) | (second[order][1:] != second[order][:-1])
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(new) - 1
    return found
