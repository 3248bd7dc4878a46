"""Rows of a fit: pairs of items, each with the list of votes that share one truth.

Lists that occur often are stored once, as a *pattern*. A jury of six has at most 3⁶ of them however many pairs
it judges; in a crowd nearly every pair has its own. Both are the same to the rest of the code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import FIRST, TIE, Comparisons
from jamrank.kernels import default_threads, kernels

__all__ = ["Patterns", "Rows"]

Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Patterns:
    """The distinct lists of votes; the votes of pattern ``u`` are ``start[u]:start[u + 1]``.

    A *coin* is what decides whether a vote tells the truth: an annotator, or an annotator within a cluster.
    """

    start: NDArray[np.int64]
    coin: NDArray[np.int64]
    first_won: NDArray[np.bool_]
    weight: Doubles
    n_coins: int

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def vote_pattern(self) -> NDArray[np.int64]:
        """The pattern of each vote."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def per_pattern(self, values: Doubles) -> Doubles:
        """Add up one value for each vote within each pattern."""
        return np.asarray(np.bincount(self.vote_pattern, values, len(self)), dtype=np.float64)

    def per_coin(self, values: Doubles) -> Doubles:
        """Add up one value for each vote within each coin."""
        return np.asarray(np.bincount(self.coin, values, self.n_coins), dtype=np.float64)


@dataclass(frozen=True)
class Rows:
    """Rows of a fit, sorted by their first and second item.

    Attributes
    ----------
    first, second : ndarray of int32
        Codes of the two items.
    pattern : ndarray of int32
        Which of ``patterns`` the row's votes are.
    weight : ndarray of float64
        How often the row counts; empty where all count once.
    pair : ndarray of int64
        The pair of the votes' table to which each row belongs.
    share : ndarray of float64
        (wins of the first item + 1) / (votes + 2) on the row's pair: where a fit starts.
    """

    first: Ints
    second: Ints
    pattern: Ints
    weight: Doubles
    patterns: Patterns
    pair: NDArray[np.int64]
    share: Doubles
    n_items: int

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def pattern_weight(self) -> Doubles:
        """How many rows have each pattern, by weight."""
        weight = self.weight if len(self.weight) else None
        return np.bincount(self.pattern, weight, len(self.patterns)).astype(np.float64)

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """Where each distinct pair of items begins."""
        new = np.diff(self.first, prepend=-1) != 0
        new |= np.diff(self.second, prepend=-1) != 0
        return np.flatnonzero(new)

    def by_pattern(self, values: Doubles) -> Doubles:
        """Add up one value for each row within each pattern, by weight."""
        weighted = values * self.weight if len(self.weight) else values
        return np.asarray(np.bincount(self.pattern, weighted, len(self.patterns)), dtype=np.float64)

    @classmethod
    def per_pair(cls, votes: Comparisons, threads: int | None = None) -> Rows:
        """One row for each pair with a decided vote: all its votes report on one truth.

        Votes are frozen, so their rows are found once and kept for the next fit.
        """
        if votes not in _ROWS_OF:
            _ROWS_OF[votes] = cls._find_per_pair(votes, threads)
        return _ROWS_OF[votes]

    @classmethod
    def _find_per_pair(cls, votes: Comparisons, threads: int | None) -> Rows:
        pattern, example = np.empty(votes.n_pairs, dtype=np.int32), np.empty(votes.n_pairs, dtype=np.int64)
        share = np.empty(votes.n_pairs)
        n_patterns = kernels.patterns(
            votes.vote_start,
            votes.vote_annotator,
            votes.vote_result,
            votes.vote_weight,
            pattern,
            example,
            share,
            threads or default_threads(),
        )
        patterns = _votes_of(votes, example[:n_patterns])
        empty = np.flatnonzero(np.diff(patterns.start) == 0)
        if not len(empty):
            return cls._over(votes, np.arange(votes.n_pairs), pattern, np.empty(0), patterns, share)
        pair = np.flatnonzero(pattern != empty[0])
        return cls._over(votes, pair, pattern[pair], np.empty(0), patterns, share[pair])

    @classmethod
    def per_vote(cls, votes: Comparisons, annotator: int | None = None) -> Rows:
        """One row for each decided vote, which reports on a truth of its own.

        With ``annotator``, only that annotator's votes.
        """
        keep = (votes.vote_result != TIE) & (votes.vote_weight > 0)
        if annotator is not None:
            keep &= votes.vote_annotator == annotator
        pair, who, first_won, weight = _fold_sides(votes, keep)
        wins = np.bincount(pair, weight * first_won, votes.n_pairs)
        share = (wins + 1) / (np.bincount(pair, weight, votes.n_pairs) + 2)
        n_coins = votes.n_annotators
        patterns = Patterns(
            start=np.arange(2 * n_coins + 1),
            coin=np.repeat(np.arange(n_coins), 2),
            first_won=np.tile([False, True], n_coins),
            weight=np.ones(2 * n_coins),
            n_coins=n_coins,
        )
        pattern = who * np.int32(2) + first_won
        return cls._over(votes, pair, pattern, weight if (weight != 1).any() else np.empty(0), patterns, share[pair])

    @classmethod
    def _over(
        cls,
        votes: Comparisons,
        pair: NDArray[np.int64],
        pattern: Ints,
        weight: Doubles,
        patterns: Patterns,
        share: Doubles,
    ) -> Rows:
        first, second = votes.pair_first, votes.pair_second
        if not np.array_equal(pair, np.arange(len(first))):
            first, second = first[pair], second[pair]
        return cls(first, second, pattern, weight, patterns, pair, share, votes.n_items)

    def clustered(self, cluster: Ints, n_clusters: int) -> Rows:
        """Return the same rows with a coin for each annotator and cluster of rows."""
        key = self.pattern.astype(np.int64) * n_clusters + cluster
        used, pattern = np.unique(key, return_inverse=True)
        old, in_cluster = used // n_clusters, used % n_clusters
        source = self.patterns
        lengths = np.diff(source.start)[old]
        start = np.concatenate([[0], np.cumsum(lengths)])
        vote = np.arange(start[-1]) + np.repeat(source.start[old] - start[:-1], lengths)
        patterns = Patterns(
            start=start,
            coin=source.coin[vote] * n_clusters + np.repeat(in_cluster, lengths),
            first_won=source.first_won[vote],
            weight=source.weight[vote],
            n_coins=source.n_coins * n_clusters,
        )
        return replace(self, pattern=pattern.astype(np.int32), patterns=patterns)


_ROWS_OF: WeakKeyDictionary[Comparisons, Rows] = WeakKeyDictionary()


def _fold_sides(
    votes: Comparisons, keep: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Ints, NDArray[np.bool_], Doubles]:
    """Return pair, annotator, result and weight of the votes, those that differ in the side shown made one."""
    pair, who = votes.vote_pair[keep], votes.vote_annotator[keep]
    new = (np.diff(pair, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)
    cell = np.cumsum(new) - 1
    by_result = 2 * cell + (votes.vote_result[keep] == FIRST)
    weight = np.bincount(by_result, votes.vote_weight[keep], 2 * int(new.sum())).astype(np.float64)
    there = np.flatnonzero(weight)
    at = np.flatnonzero(new)[there // 2]
    return pair[at], who[at], there % 2 == 1, weight[there]


def _votes_of(votes: Comparisons, pair: NDArray[np.int64]) -> Patterns:
    """Return the decided votes on some pairs as patterns."""
    lengths = votes.vote_start[pair + 1] - votes.vote_start[pair]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    vote = np.arange(begin[-1]) + np.repeat(votes.vote_start[pair] - begin[:-1], lengths)
    decided = (votes.vote_result[vote] != TIE) & (votes.vote_weight[vote] > 0)
    counts = np.bincount(np.repeat(np.arange(len(pair)), lengths)[decided], minlength=len(pair))
    vote = vote[decided]
    return Patterns(
        start=np.concatenate([[0], np.cumsum(counts)]),
        coin=votes.vote_annotator[vote].astype(np.int64),
        first_won=votes.vote_result[vote] == FIRST,
        weight=votes.vote_weight[vote],
        n_coins=votes.n_annotators,
    )
