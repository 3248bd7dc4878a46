"""Votes as integers: packed, sorted, folded and unpacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jamrank.data.storage import MISSING, DenseVotes, VoteTable
from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray


class FoldedVotes(NamedTuple):
    """Pairs in canonical order and the votes on them: the part of :class:`jamrank.Comparisons` beside the ids."""

    pair_first: Int32Array
    pair_second: Int32Array
    pair_question: Int32Array
    storage: VoteTable | DenseVotes
    n_votes: int
    n_missing: int


@dataclass(frozen=True)
class Packing:
    """Votes as 64-bit integers that sort by pair, question and annotator: the codes of a vote side by side."""

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]

    @property
    def bits(self) -> tuple[int, int, int]:
        """Bits of an item, a question and an annotator."""
        return _bits(len(self.items)), _bits(len(self.questions)), _bits(len(self.annotators))

    @property
    def possible(self) -> bool:
        """Whether a vote fits into an integer."""
        items, questions, annotators = self.bits
        return 2 * items + questions + annotators + 3 <= 63

    @property
    def below_pair(self) -> int:
        """Bits that do not belong to the pair of items."""
        return self.bits[1] + self.bits[2] + 3

    def pack(
        self,
        left: Int32Array,
        right: Int32Array,
        annotator: Int32Array,
        question: Int32Array | None,
        results: NDArray[np.int8],
        out: IntArray | None = None,
    ) -> IntArray:
        """Return an integer for each vote, in `out` if given; results are seen from the left."""
        keys = np.empty(len(results), dtype=np.int64) if out is None else out
        asked = np.empty(0, dtype=np.int32) if question is None else question
        kernels.pack_votes(left, right, annotator, asked, results, *self.bits, keys, default_threads())
        return keys

    def unpack(self, keys: IntArray, weight: FloatArray, n_votes: int, n_missing: int) -> FoldedVotes:
        """Return the votes of distinct, sorted integers; empty weights mean all 1."""
        threads, bits = default_threads(), self.bits
        n_pairs = kernels.count_pairs(keys, bits[2] + 3, threads)
        first, second = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int32)
        asked = np.empty(n_pairs if len(self.questions) > 1 else 0, dtype=np.int32)
        start, who = np.empty(n_pairs + 1, dtype=np.int64), np.empty(len(keys), dtype=np.int32)
        result, swapped = np.empty(len(keys), dtype=np.int8), np.empty(len(keys), dtype=bool)
        kernels.unpack_votes(keys, *bits, first, second, asked, start, who, result, swapped, threads)
        if n_missing:
            voted = result != MISSING
            start = np.concatenate([[0], np.cumsum(voted)])[start]
            who, result, swapped = who[voted], result[voted], swapped[voted]
            weight = weight[voted] if len(weight) else weight
        return FoldedVotes(
            first,
            second,
            asked if len(self.questions) > 1 else np.broadcast_to(np.int32(0), n_pairs),
            VoteTable(start, who, result, swapped if swapped.any() else np.empty(0, dtype=bool), weight),
            n_votes,
            n_missing,
        )


def _bits(count: int) -> int:
    """Return the number of bits that codes below ``count`` need."""
    return max(count - 1, 0).bit_length()


def _starts_of_runs(keys: IntArray) -> BoolArray:
    """Return for each sorted key whether it differs from the one before."""
    new = np.empty(len(keys), dtype=bool)
    new[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return new


def sorted_keys(key: IntArray, weights: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """Sort keys and fold equal ones: distinct keys, and the weight of each (empty: all 1)."""
    if weights is None:
        threads = default_threads()
        room = np.empty(len(key), dtype=np.int64)
        kernels.sort_keys(key, room, int(key.max(initial=0)).bit_length(), threads)
        n_distinct = kernels.count_pairs(key, 0, threads)
        if n_distinct == len(key):
            return key, np.empty(0)
        # Memory that was used before is cheaper than new; but not to keep much more of it than is needed.
        distinct = room[:n_distinct] if 2 * n_distinct > len(key) else np.empty(n_distinct, dtype=np.int64)
        times = np.empty(n_distinct)
        kernels.fold_keys(key, distinct, times, threads)
        return distinct, times
    # Equal votes are sorted by weight, so that their sum does not depend on the order of the rows.
    order = np.lexsort((weights, key))
    key, weights = key[order], weights[order]
    starts = np.flatnonzero(_starts_of_runs(key))
    folded = np.add.reduceat(weights, starts)
    return key[starts], folded if (folded != 1).any() else np.empty(0)
