"""Votes as the families model uses them, and draws of its auxiliary variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.kernels import kernels
from jamrank.typing import FloatArray, IntArray

# Terms of the series of a Pólya-Gamma variable that are drawn: they have all but 0.02 % of its variance.
_POLES = (np.arange(5) + 0.5) ** 2
# Cells for each vote up to which an array of all cells is faster than sorting.
_CELLS_EACH = 10
# Annotators times the cube of the items up to which the posterior is sampled, and tastes are tested for.
MOST_SAMPLED = 500_000


@dataclass(frozen=True)
class FamilyVotes:
    """Decided votes over all questions: who preferred which item to which other, and how often; sorted by annotator.

    Arrays of chains have the chain first.
    """

    annotator: IntArray
    winner: IntArray
    loser: IntArray
    count: FloatArray
    n_annotators: int
    n_items: int

    @classmethod
    def of(cls, votes: Comparisons) -> FamilyVotes:
        """Count the votes."""
        decided = (votes.vote_result != TIE) & (votes.vote_weight > 0)
        kept = slice(None) if decided.all() else decided
        pair, who = votes.vote_pair[kept], votes.vote_annotator[kept].astype(np.int64)
        first, second = votes.pair_first[pair].astype(np.int64), votes.pair_second[pair].astype(np.int64)
        won, n = votes.vote_result[kept] == FIRST, votes.n_items
        winner, loser = np.where(won, first, second), np.where(won, second, first)
        at, weight, cells = (who * n + winner) * n + loser, votes.vote_weight[kept], votes.n_annotators * n * n
        if cells <= _CELLS_EACH * len(at):
            counts = np.bincount(at, weight, cells).astype(np.float64)
            cell = np.flatnonzero(counts)
            count = counts[cell]
        else:
            cell, place = np.unique(at, return_inverse=True)
            count = np.bincount(place, weight, len(cell)).astype(np.float64)
        return cls(cell // n**2, cell // n % n, cell % n, count, votes.n_annotators, n)

    @cached_property
    def by_annotator_count(self) -> FloatArray:
        """Votes of each annotator."""
        return np.bincount(self.annotator, self.count, self.n_annotators).astype(np.float64)

    def ordered(self, sort: bool = True) -> tuple[FamilyVotes, IntArray, IntArray]:
        """Return the same in an order that does not depend on names, and the items and annotators in that order.

        sort: Also sort the votes by annotator; otherwise only items and annotators are numbered anew.
        """
        n, count = self.n_items, self.count
        seen = np.maximum(np.bincount(self.winner, count, n) + np.bincount(self.loser, count, n), 1e-300)
        value = np.zeros(n)
        for _ in range(3):
            won, lost = count * (1 + value[self.loser]), count * (1 - value[self.winner])
            value = (np.bincount(self.winner, won, n) - np.bincount(self.loser, lost, n)) / seen
        agreed = count * (value[self.winner] - value[self.loser])
        total = self.by_annotator_count
        right = np.bincount(self.annotator, agreed, self.n_annotators) / np.maximum(total, 1e-300)
        items, annotators = np.argsort(np.round(value, 9), kind="stable"), np.lexsort((np.round(right, 9), total))
        place, place_of_annotator = np.argsort(items), np.argsort(annotators)
        who, winner, loser = place_of_annotator[self.annotator], place[self.winner], place[self.loser]
        if not sort:
            return FamilyVotes(who, winner, loser, count, self.n_annotators, n), items, annotators
        order = np.argsort((who * n + winner) * n + loser)
        votes = FamilyVotes(who[order], winner[order], loser[order], count[order], self.n_annotators, n)
        return votes, items, annotators

    def margins(self, own: FloatArray) -> FloatArray:
        """Return the margin of each winner over the loser in the scores of the annotator."""
        base, flat = self.annotator * self.n_items, own.reshape(len(own), -1)
        return np.asarray(np.take(flat, base + self.winner, axis=1) - np.take(flat, base + self.loser, axis=1))

    @cached_property
    def seen(self) -> FloatArray:
        """Votes of each annotator on each item."""
        cells, size = self.annotator * self.n_items, self.n_annotators * self.n_items
        counts = [np.bincount(cells + item, self.count, size) for item in (self.winner, self.loser)]
        return np.asarray((counts[0] + counts[1]).reshape(self.n_annotators, self.n_items), np.float64)

    def by_item(self, values: FloatArray) -> FloatArray:
        """Add up values of the votes, for the winner, less those for the loser, by chain, annotator and item."""
        chains, size = len(values), self.n_annotators * self.n_items
        row = (self.annotator * self.n_items + self.winner) + (size * np.arange(chains))[:, None]
        column = row + (self.loser - self.winner)
        found = np.bincount(row.ravel(), values.ravel(), chains * size)
        found = found - np.bincount(column.ravel(), values.ravel(), chains * size)
        return np.asarray(found.reshape(chains, self.n_annotators, self.n_items), np.float64)

    def log_likelihood(self, own: FloatArray, lapse: FloatArray) -> FloatArray:
        """Return the log-likelihood by chain and annotator: a lapse is a toss of a coin.

        own: The scores that each annotator has in mind, times -1 for adversaries.
        """
        return self._pass(own, lapse, np.empty(0), np.empty(0))

    def slopes(self, own: FloatArray, lapse: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log-likelihood by chain and annotator, its gradient in the scores, and that in the lapses."""
        on_own, on_lapse = np.empty(own.shape), np.empty(lapse.shape)
        return self._pass(own, lapse, on_own, on_lapse), on_own, on_lapse

    def _pass(self, own: FloatArray, lapse: FloatArray, on_own: FloatArray, on_lapse: FloatArray) -> FloatArray:
        value = np.empty(lapse.shape)
        kernels.lapse_likelihood(
            self.annotator,
            self.winner,
            self.loser,
            self.count,
            np.ascontiguousarray(own).ravel(),
            np.ascontiguousarray(lapse).ravel(),
            value.ravel(),
            on_own.ravel(),
            on_lapse.ravel(),
            self.n_annotators,
            self.n_items,
        )
        return value

    def draw_kept(self, margin: FloatArray, lapse: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw how many of the votes are not lapses."""
        rate = lapse[:, self.annotator]
        right = (1 - rate) * expit(margin)
        share = right / (0.5 * rate + right)
        whole = np.floor(self.count)
        rest = (self.count - whole) * (rng.random(share.shape) < share) if (whole < self.count).any() else 0.0
        if whole.max(initial=0) <= 1:
            return np.asarray(whole * (rng.random(share.shape) < share) + rest)
        return np.asarray(rng.binomial(whole.astype(np.int64), share) + rest)

    def likelihood(
        self, margin: FloatArray, kept: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the normal likelihood of which votes that are not lapses are a mixture.

        Returns
        -------
        precision : ndarray of shape (chains, annotators, items, items)
            A graph Laplacian each.
        shift : ndarray of shape (chains, annotators, items)
            Precision times mean.
        """
        weight = polya_gamma(kept, margin, rng)
        n, k, chains = self.n_items, self.n_annotators, len(margin)
        row = (self.annotator * n + self.winner) + (k * n * np.arange(chains))[:, None]
        off = np.bincount((row * n + self.loser).ravel(), weight.ravel(), chains * k * n * n).reshape(chains, k, n, n)
        precision = -(off + off.transpose(0, 1, 3, 2))
        at = np.arange(n)
        precision[:, :, at, at] = -precision.sum(axis=3)
        return np.asarray(precision), self.by_item(0.5 * kept)


def polya_gamma(shape: FloatArray, tilt: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Pólya-Gamma variables: Polson, Scott and Windle, *JASA* 108 (2013), equation 1.

    shape, tilt: First and second parameter of each.
    """
    squared = (tilt / (2 * np.pi)) ** 2
    half = np.maximum(np.abs(tilt) / 2, 1e-4)
    # The terms that are not drawn count by their mean.
    drawn = shape * np.tanh(half) / (4 * half)
    unit = bool((shape <= 1).all() and (shape == np.floor(shape)).all())
    for pole in _POLES:
        gamma = shape * rng.standard_exponential(shape.shape) if unit else rng.standard_gamma(shape)
        drawn += (gamma - shape) / ((pole + squared) * (2 * np.pi**2))
    return np.asarray(drawn)
