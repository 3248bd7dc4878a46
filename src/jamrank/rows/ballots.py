"""The votes on each row: one list for each row, or each distinct list once (a *pattern*).

A jury of six has at most 3⁶ patterns, however many pairs it judges. In a crowd nearly every row has its own list.
Other code asks rows for sums over their votes and does not depend on how they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jamrank.kernels import default_threads, kernels
from jamrank.typing import FloatArray, Int32Array, IntArray

# One byte where there are few patterns, else four.
Codes = NDArray[np.uint8] | Int32Array
FEW_PATTERNS = 256
# Log-odds by which a gold vote outweighs votes against it; a larger value would cost digits of the objective.
_CERTAIN = 1000.0
# Fewer votes of patterns are not worth a thread.
_MANY_VOTES = 1 << 15


class Ballots(Protocol):
    """The votes on each row.

    A *confusion group* is a set of votes that distort the truth in the same way: an annotator, or an annotator within
    a cluster. A vote is one integer, twice its group plus 1 if it is for the row's first item. Beyond
    ``n_confusion_groups`` there may be ``n_gold`` more, which always report the truth (gold); no sums are returned
    for them.
    """

    n_confusion_groups: int
    n_gold: int

    def over_votes(self, values: FloatArray, power: int) -> FloatArray:
        """Add up a value for each row over its votes, times a power of their weight, by confusion group and side."""
        ...

    def matrix(self, rows: slice) -> csr_array:
        """Return the weight of every vote by list of votes and kind; the kind is the integer that encodes a vote."""
        ...

    def clustered(self, cluster: Int32Array, n_clusters: int) -> Ballots:
        """Return the same votes with a confusion group for each annotator and cluster of rows."""
        ...


@dataclass(frozen=True)
class RaggedVotes:
    """A list of votes for each row: those of row ``r`` are ``start[r]:start[r + 1]``; empty weights mean all 1."""

    start: IntArray
    vote: Int32Array
    weight: FloatArray
    n_confusion_groups: int
    n_gold: int = 0

    @property
    def vote_row(self) -> IntArray:
        """The row of each vote."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def over_votes(self, values: FloatArray, power: int) -> FloatArray:
        """Add up a value for each row over its votes, by confusion group and side."""
        weight = self.weight**power if power > 1 else self.weight
        sums = np.empty(2 * (self.n_confusion_groups + self.n_gold))
        kernels.sum_by_kind(self.start, self.vote, weight, np.ascontiguousarray(values), sums, default_threads())
        return sums[: 2 * self.n_confusion_groups].reshape(-1, 2)

    @property
    def vote_counts(self) -> FloatArray:
        """Weight of the votes by confusion group and side."""
        counts = np.empty(2 * (self.n_confusion_groups + self.n_gold))
        kernels.sum_by_code(self.vote, self.weight, counts, default_threads())
        return counts[: 2 * self.n_confusion_groups].reshape(-1, 2)

    def matrix(self, rows: slice) -> csr_array:
        """Return the weight of every vote by row, for a range of rows, and kind."""
        start = self.start[rows.start : rows.stop + 1]
        at = slice(start[0], start[-1])
        weight = self.weight[at] if len(self.weight) else np.ones(at.stop - at.start)
        return _kinds(weight, self.vote[at], start - start[0], self)

    def clustered(self, cluster: Int32Array, n_clusters: int) -> RaggedVotes:
        """Return the same votes with a confusion group for each annotator and cluster of rows."""
        of_vote = np.repeat(cluster, np.diff(self.start))
        vote = _in_cluster(self.vote, of_vote, n_clusters)
        n_confusion_groups, n_gold = self.n_confusion_groups * n_clusters, self.n_gold * n_clusters
        return replace(self, vote=vote.astype(np.int32), n_confusion_groups=n_confusion_groups, n_gold=n_gold)


@dataclass(frozen=True)
class Patterns:
    """The distinct lists of votes, and the list of each row; that of pattern ``u`` is ``start[u]:start[u + 1]``."""

    of_row: Codes
    start: IntArray
    vote: Int32Array
    weight: FloatArray
    n_confusion_groups: int
    n_gold: int = 0

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def vote_pattern(self) -> IntArray:
        """The pattern of each vote."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def _threads(self) -> int:
        return default_threads() if len(self.vote) > _MANY_VOTES else 1

    @cached_property
    def _kinds(self) -> bool:
        """Whether the patterns are the kinds of single votes: one vote each, of every kind in order."""
        kinds = np.arange(2 * (self.n_confusion_groups + self.n_gold))
        return np.array_equal(self.vote, kinds) and len(self) == len(kinds) and bool((self.weight == 1).all())

    @cached_property
    def share(self) -> FloatArray:
        """(votes for the first item + 1) / (votes + 2) of each pattern."""
        wins, vote_counts = (
            np.bincount(self.vote_pattern, values, len(self))
            for values in (self.weight * (self.vote % 2), self.weight)
        )
        return np.asarray((wins + 1) / (vote_counts + 2), dtype=np.float64)

    def log_likelihoods(self, log_emission: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each pattern if the first, or the second, item is truly better."""
        of_kind = with_gold(log_emission, self.n_gold).reshape(-1, 2)
        if self._kinds:
            return np.ascontiguousarray(of_kind[:, 1]), np.ascontiguousarray(of_kind[:, 0])
        first, second = np.empty(len(self)), np.empty(len(self))
        kernels.list_likelihoods(self.start, self.vote, self.weight, of_kind.ravel(), first, second, self._threads)
        return first, second

    def over_patterns(self, values: FloatArray, power: int = 1) -> FloatArray:
        """Add up a value for each pattern over its votes, by confusion group and side."""
        if self._kinds:
            return values[: 2 * self.n_confusion_groups].reshape(-1, 2).copy()
        weight = self.weight if power == 1 else self.weight**power
        sums = np.empty(2 * (self.n_confusion_groups + self.n_gold))
        kernels.sum_by_kind(self.start, self.vote, weight, np.ascontiguousarray(values), sums, self._threads)
        return sums[: 2 * self.n_confusion_groups].reshape(-1, 2)

    def over_votes(self, values: FloatArray, power: int) -> FloatArray:
        """Add up a value for each row over its votes, by confusion group and side."""
        return self.over_patterns(self.by_pattern(values), power)

    def by_pattern(self, values: FloatArray) -> FloatArray:
        """Add up a value for each row by its pattern."""
        found = np.empty(len(self))
        kernels.sum_by_code(self.of_row, np.ascontiguousarray(values), found, default_threads())
        return found

    def matrix(self, rows: slice) -> csr_array:
        """Return the weight of every vote by pattern, for all patterns, and kind."""
        return _kinds(self.weight, self.vote, self.start, self)

    def clustered(self, cluster: Int32Array, n_clusters: int) -> Patterns:
        """Return the same votes with a confusion group for each annotator and cluster of rows."""
        used, of_row = _numbered(self.of_row.astype(np.int64) * n_clusters + cluster, len(self) * n_clusters)
        old, in_cluster = used // n_clusters, used % n_clusters
        lengths = np.diff(self.start)[old]
        start = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(start[-1]) + np.repeat(self.start[old] - start[:-1], lengths)
        vote = _in_cluster(self.vote[at], np.repeat(in_cluster, lengths), n_clusters)
        return Patterns(
            as_codes(of_row, len(used)),
            start,
            vote.astype(np.int32),
            self.weight[at],
            self.n_confusion_groups * n_clusters,
            self.n_gold * n_clusters,
        )


def single_patterns(n_confusion_groups: int, of_row: Codes | None = None) -> Patterns:
    """Return the patterns of single votes, one for each kind; ``of_row`` has the kind of each row, if known."""
    kinds = 2 * n_confusion_groups
    every = np.arange(kinds, dtype=np.int32)
    of_row = as_codes(np.empty(0, np.int64), kinds) if of_row is None else of_row
    return Patterns(of_row, np.arange(kinds + 1), every, np.ones(kinds), n_confusion_groups)


def _numbered(code: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """Return the distinct codes, all of them below a bound, and the place of each code among them."""
    if bound > len(code):
        return np.unique(code, return_inverse=True)
    there = np.zeros(bound, dtype=np.bool_)
    there[code] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[code]


def _kinds(weight: FloatArray, vote: Int32Array, start: IntArray, ballots: RaggedVotes | Patterns) -> csr_array:
    """Return weights by list of votes and kind; gold votes are left out."""
    shape = len(start) - 1, 2 * (ballots.n_confusion_groups + ballots.n_gold)
    return csr_array((weight, vote, start), shape=shape)[:, : 2 * ballots.n_confusion_groups]


def as_codes(of_row: NDArray[np.integer], n_patterns: int) -> Codes:
    """Return the pattern of each row in the smallest type that holds it."""
    return of_row.astype(np.uint8) if code_type(n_patterns) is np.uint8 else of_row.astype(np.int32)


def code_type(n_patterns: int) -> type[np.uint8] | type[np.int32]:
    """Return the smallest type that holds codes of so many patterns."""
    return np.uint8 if n_patterns <= FEW_PATTERNS else np.int32


def with_gold(log_emission: FloatArray, n_gold: int) -> FloatArray:
    """Return the log-likelihoods of votes followed by those of gold votes, which always report the truth."""
    if not n_gold:
        return log_emission
    certain = np.where(np.eye(2, dtype=bool), 0.0, -_CERTAIN)
    return np.concatenate([log_emission, np.broadcast_to(certain, (n_gold, 2, 2))])


def _in_cluster(vote: Int32Array, cluster: NDArray[np.integer], n_clusters: int) -> IntArray:
    confusion_group: IntArray = (vote // 2).astype(np.int64) * n_clusters + cluster
    return confusion_group * 2 + vote % 2
