"""Decided votes between each two items, added up over annotators and questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.rows.rows import Rows
from jamrank.typing import FloatArray, Int32Array

__all__ = ["Duels"]


@dataclass(frozen=True)
class Duels:
    """How often each of two items was preferred; every two items with a decided vote once, sorted.

    Attributes
    ----------
    first, second : ndarray of int32
        Codes of the items.
    wins, losses : ndarray
        Votes for the first and for the second.
    n_items : int
        All items, also those without decided votes.
    """

    first: Int32Array
    second: Int32Array
    wins: FloatArray
    losses: FloatArray
    n_items: int

    @classmethod
    def of(cls, votes: Comparisons) -> Duels:
        """Count the decided votes, whoever cast them and under whatever question."""
        rows = Rows.per_pair(votes)
        wins, vote_counts = rows.vote_totals()
        first, second = rows.first, rows.second
        if votes.has_questions and len(first):
            begin = rows.edges
            first, second = first[begin], second[begin]
            wins, vote_counts = np.add.reduceat(wins, begin), np.add.reduceat(vote_counts, begin)
        return cls(first, second, wins, np.maximum(vote_counts - wins, 0.0), votes.n_items)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def margin(self) -> FloatArray:
        """Votes for the first item less those for the second."""
        return self.wins - self.losses

    def by_item(self, of_first: FloatArray, of_second: FloatArray) -> FloatArray:
        """Add up what each duel has for its first item and for its second, by item."""
        total = np.bincount(self.first, of_first, self.n_items)
        total += np.bincount(self.second, of_second, self.n_items)
        return np.asarray(total, dtype=np.float64)
