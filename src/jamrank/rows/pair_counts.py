"""Votes between each two items, added up over annotators and questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import DenseVotes
from jamrank.kernels.in_threads import over_blocks
from jamrank.rows.ballots import Patterns
from jamrank.rows.layout import where_pairs_begin
from jamrank.rows.rows import Rows, decided_sides
from jamrank.typing import FloatArray, Int32Array, IntArray


def pair_wins(votes: Comparisons) -> FloatArray:
    """Return the votes for the first item of each pair; a tie counts half."""
    wins, decided = decided_sides(votes)
    total = decided if not votes.n_ties else votes.pair_weight
    wins += 0.5 * (total - decided)
    # Sums of fractional weights are rounded: no item wins more votes than there are.
    return np.clip(wins, 0.0, total, out=wins)


def rows_by_pattern(votes: Comparisons) -> tuple[Rows, Patterns] | None:
    """Return the rows of a jury with a pattern for each pair, which says all of its votes; None for other votes."""
    if not isinstance(votes.storage, DenseVotes) or votes.n_ties:
        return None
    rows = Rows.per_pair(votes)
    return (rows, rows.ballots) if isinstance(rows.ballots, Patterns) and rows.of_pair is None else None


def vote_shares(votes: Comparisons) -> FloatArray:
    """Return the share of the votes on each pair for its first item: a tie counts half, without votes it is 1/2."""
    known = rows_by_pattern(votes)
    if known is None:
        return shares(pair_wins(votes), votes.pair_weight)
    rows, patterns = known
    of_pattern, share = shares(*rows.list_totals()), np.empty(len(rows))
    over_blocks(len(share), lambda block: np.take(of_pattern, patterns.of_row[block], out=share[block]))
    return share


def shares(wins: FloatArray, total: FloatArray) -> FloatArray:
    """Return the shares that wins are of votes; 1/2 without votes."""
    return np.asarray(np.divide(wins, total, out=np.full(len(total), 0.5), where=total > 0))


@dataclass(frozen=True)
class PairCounts:
    """Wins and votes for each two items that have a vote.

    first, second: Codes of the items; each two of them once, sorted.
    wins: Votes for the first item; a tie, where ties are counted, is half a vote for each.
    votes: All votes, more than 0.
    n_items: All items, also those without votes.
    """

    first: Int32Array
    second: Int32Array
    wins: FloatArray
    votes: FloatArray
    n_items: int

    @classmethod
    def of(cls, votes: Comparisons) -> PairCounts:
        """Count all votes, ties included, over annotators and questions."""
        return cls._between(votes, pair_wins(votes), votes.pair_weight)

    @classmethod
    def decided(cls, votes: Comparisons) -> PairCounts:
        """Count the decided votes alone, over annotators and questions."""
        return cls._between(votes, *decided_sides(votes))

    @classmethod
    def _between(cls, votes: Comparisons, wins: FloatArray, total: FloatArray) -> PairCounts:
        first, second = votes.pair_first, votes.pair_second
        if votes.has_questions:
            begin = where_pairs_begin(first, second)
            first, second = first[begin], second[begin]
            wins, total = np.add.reduceat(wins, begin), np.add.reduceat(total, begin)
        if not (total > 0).all():
            voted = total > 0
            first, second, wins, total = first[voted], second[voted], wins[voted], total[voted]
        return cls(first, second, wins, total, votes.n_items)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def losses(self) -> FloatArray:
        """Votes for the second item."""
        # Sums of fractional weights are rounded.
        return np.maximum(self.votes - self.wins, 0.0)

    @property
    def margin(self) -> FloatArray:
        """Votes for the first item less those for the second."""
        return self.wins - self.losses

    def by_item(self, of_first: FloatArray, of_second: FloatArray) -> FloatArray:
        """Add up, by item, a value that each pair has for its first item and one for its second."""
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
        """The connected component of each item, numbered in the order of their first items."""
        graph = coo_array((np.ones(len(self.first), np.int8), (self.first, self.second)), (self.n_items,) * 2)
        labels = connected_components(graph, directed=False)[1]
        _, begin, group = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(begin)).astype(np.int32)[group]

    @cached_property
    def representatives(self) -> IntArray:
        """The first item of each component."""
        return np.unique(self.component, return_index=True)[1]

    def centred(self, scores: FloatArray) -> FloatArray:
        """Return the scores with mean 0 within each component: only differences within a component have a meaning."""
        group = self.component
        return np.asarray(scores - (np.bincount(group, scores) / np.bincount(group))[group])
