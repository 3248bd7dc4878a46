"""How votes are stored: one by one, or as the matrix of a jury."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

# How a vote came out, seen from the canonical order of its pair.
SECOND, FIRST, TIE, MISSING = 0, 1, 2, 3
# The verdicts of at most so many annotators on a pair fit into a byte.
LARGEST_SMALL_JURY = 8
# The grade of the two parts of a soft vote.
SOFT = -1


@dataclass(frozen=True)
class VoteTable:
    """Votes one by one, sorted by pair and annotator: those on pair ``p`` are ``start[p]:start[p + 1]``.

    ``weight`` is empty where all votes count once, ``swapped`` where the first item was always on the left. ``grade``
    is empty where no vote says more than who won; otherwise 0 for a plain vote, from 1 on for how clearly an item
    won, and ``SOFT`` for the two parts of a vote that is a probability. ``period`` has the share of each vote in
    every period of time, where that is known. ``covariate`` has a column for each covariate, towards the left item.
    """

    start: IntArray
    annotator: Int32Array
    result: NDArray[np.int8]
    swapped: BoolArray
    weight: FloatArray
    grade: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    period: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    covariate: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.flags.writeable = False

    @property
    def table(self) -> VoteTable:
        """The table itself."""
        return self


@dataclass(frozen=True)
class Verdicts:
    """What each of at most eight annotators said of each pair as one number, a bit each, the first highest.

    of_pair: That number.
    times: How often each number occurs.
    """

    of_pair: NDArray[np.uint8]
    times: IntArray

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.flags.writeable = False

    @property
    def n_annotators(self) -> int:
        """Number of annotators: each number of so many bits has a count."""
        return len(self.times).bit_length() - 1


@dataclass(frozen=True)
class DenseVotes:
    """The votes of a few annotators on every pair, as a matrix; single votes are listed on first access.

    known_results: The ``results``; None where the verdicts say all of them.
    swapped: Whether the pair's first item was on the right; empty where it never was.
    decided: Whether it is known that there are neither ties nor gaps.
    verdicts: The results of a small jury without ties and gaps in short, where they were found while encoding.
    """

    known_results: NDArray[np.int8] | None
    swapped: BoolArray
    decided: bool = False
    verdicts: Verdicts | None = None

    def __post_init__(self) -> None:
        for array in (self.known_results, self.swapped):
            if array is not None:
                array.flags.writeable = False

    @property
    def shape(self) -> tuple[int, int]:
        """Number of pairs, and of annotators."""
        if self.known_results is None:
            assert self.verdicts is not None
            return len(self.verdicts.of_pair), self.verdicts.n_annotators
        n_pairs, n_annotators = self.known_results.shape
        return n_pairs, n_annotators

    @cached_property
    def results(self) -> NDArray[np.int8]:
        """The results of each pair, seen from its canonical order; 3 where there is no vote."""
        return self.results_of(slice(None))

    def results_of(self, pairs: slice | IntArray) -> NDArray[np.int8]:
        """Return the results of some pairs."""
        if self.known_results is not None:
            return self.known_results[pairs]
        assert self.verdicts is not None
        said, n_annotators = self.verdicts.of_pair[pairs], self.verdicts.n_annotators
        results = np.empty((len(said), n_annotators), np.int8)
        kernels.unpack_verdicts(said, n_annotators, results.ravel(), default_threads())
        results.flags.writeable = False
        return results

    @cached_property
    def table(self) -> VoteTable:
        """The votes one by one."""
        n_pairs, n_annotators = self.results.shape
        who = np.broadcast_to(np.arange(n_annotators, dtype=np.int32), self.results.shape)
        voted = self.results != MISSING
        if voted.all():  # a complete jury needs no selection
            start = np.arange(0, n_pairs * n_annotators + 1, n_annotators)
            annotator, result = who.ravel(), self.results.ravel()
        else:
            start = np.concatenate([[0], np.cumsum(voted.sum(axis=1))])
            annotator, result = who[voted], self.results[voted]
        swapped = np.repeat(self.swapped, np.diff(start)) if len(self.swapped) else self.swapped
        return VoteTable(start, annotator, result, swapped, np.empty(0))
