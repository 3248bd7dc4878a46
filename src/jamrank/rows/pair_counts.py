"""Votes between each two items, added up over annotators and questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.data.comparisons import Comparisons
from jamrank.rows.rows import Rows
from jamrank.typing import FloatArray, Int32Array, IntArray

__all__ = ["PairCounts", "pair_wins"]


def pair_wins(votes: Comparisons) -> FloatArray:
    """Return the votes for the first item of each pair; a tie counts half."""
    rows, total = Rows.per_pair(votes), votes.pair_weight
    won_by_first, decided = rows.vote_totals()
    wins = 0.5 * total  # of ties; decided votes follow
    wins[rows.pair] += won_by_first - 0.5 * decided
    # Sums of fractional weights are rounded: no item wins more votes than there are.
    return np.clip(wins, 0.0, total, out=wins)


@dataclass(frozen=True)
class PairCounts:
    """Wins and votes for each two items that have a vote.

    Attributes
    ----------
    first, second : ndarray of int32
        Codes of the items; each two of them once.
    wins : ndarray
        Votes for the first item; a tie counts half.
    votes : ndarray
        All votes, more than 0.
    n_items : int
        All items, also those without votes.
    """

    first: Int32Array
    second: Int32Array
    wins: FloatArray
    votes: FloatArray
    n_items: int

    @classmethod
    def of(cls, votes: Comparisons) -> PairCounts:
        """Count all votes, whoever cast them and under whatever question."""
        first, second, wins, total = votes.pair_first, votes.pair_second, pair_wins(votes), votes.pair_weight
        if votes.has_questions:
            begin = np.flatnonzero((np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0))
            first, second = first[begin], second[begin]
            wins, total = np.add.reduceat(wins, begin), np.add.reduceat(total, begin)
        if not (total > 0).all():
            there = total > 0
            first, second, wins, total = first[there], second[there], wins[there], total[there]
        return cls(first, second, wins, total, votes.n_items)

    @property
    def losses(self) -> FloatArray:
        """Votes for the second item."""
        return self.votes - self.wins

    def by_item(self, of_first: FloatArray, of_second: FloatArray) -> FloatArray:
        """Add up what each pair has for its first item and for its second, by item."""
        total = np.bincount(self.first, of_first, self.n_items)
        total += np.bincount(self.second, of_second, self.n_items)
        return np.asarray(total, dtype=np.float64)

    @cached_property
    def opponents(self) -> FloatArray:
        """Number of other items with which each item was compared."""
        ones = np.ones(len(self.first))
        return self.by_item(ones, ones)

    @cached_property
    def component(self) -> Int32Array:
        """For each item the group of items that votes link, numbered by their first items."""
        graph = coo_array((np.ones(len(self.first), np.int8), (self.first, self.second)), (self.n_items,) * 2)
        labels = connected_components(graph, directed=False)[1]
        _, begin, group = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(begin)).astype(np.int32)[group]

    @cached_property
    def representatives(self) -> IntArray:
        """The first item of each component."""
        return np.unique(self.component, return_index=True)[1]

    def centred(self, scores: FloatArray) -> FloatArray:
        """Return the scores with mean 0 within each component, for only differences within one mean anything."""
        group = self.component
        return np.asarray(scores - (np.bincount(group, scores) / np.bincount(group))[group])
