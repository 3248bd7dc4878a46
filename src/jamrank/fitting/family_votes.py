"""Votes by annotator and pair as the families model has them, and the draws of what they leave open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.typing import FloatArray, IntArray

__all__ = ["AnnotatorPairs", "polya_gamma"]

# Terms of the series of a Pólya-Gamma variable that are drawn.
_POLES = (np.arange(16) + 0.5) ** 2


@dataclass(frozen=True)
class AnnotatorPairs:
    """Decided votes of each annotator on each pair of items, over all questions.

    Attributes
    ----------
    annotator, first, second : ndarray of int
    wins, losses : ndarray
        Votes for the first item and for the second, by weight.
    n_annotators, n_items : int
    """

    annotator: IntArray
    first: IntArray
    second: IntArray
    wins: FloatArray
    losses: FloatArray
    n_annotators: int
    n_items: int

    @classmethod
    def of(cls, votes: Comparisons) -> AnnotatorPairs:
        """Count the votes."""
        kept = (votes.vote_result != TIE) & (votes.vote_weight > 0)
        pair, who = votes.vote_pair[kept], votes.vote_annotator[kept].astype(np.int64)
        first, second = votes.pair_first[pair].astype(np.int64), votes.pair_second[pair].astype(np.int64)
        n_items, weight = votes.n_items, votes.vote_weight[kept]
        won = votes.vote_result[kept] == FIRST
        cell, at = np.unique((who * n_items + first) * n_items + second, return_inverse=True)
        wins, losses = (np.asarray(np.bincount(at, weight * side, len(cell)), np.float64) for side in (won, ~won))
        who, first, second = cell // n_items**2, cell // n_items % n_items, cell % n_items
        return cls(who, first, second, wins, losses, votes.n_annotators, n_items)

    def margins(self, own: FloatArray) -> FloatArray:
        """Return the margin that each annotator sees between the items of each pair, for every chain."""
        return np.asarray(own[:, self.annotator, self.first] - own[:, self.annotator, self.second])

    def ordered(self) -> tuple[AnnotatorPairs, IntArray, IntArray]:
        """Return the same in an order that does not depend on names, and the items and annotators in that order."""
        n = self.n_items
        both = self.wins + self.losses
        weight = np.maximum(np.bincount(self.first, both, n) + np.bincount(self.second, both, n), 1e-300)
        value = np.zeros(n)
        for _ in range(3):
            won = self.wins * (1 + value[self.second]) - self.losses * (1 - value[self.second])
            lost = self.losses * (1 + value[self.first]) - self.wins * (1 - value[self.first])
            value = (np.bincount(self.first, won, n) + np.bincount(self.second, lost, n)) / weight
        agreed = (self.wins - self.losses) * (value[self.first] - value[self.second])
        total = np.bincount(self.annotator, self.wins + self.losses, self.n_annotators)
        right = np.bincount(self.annotator, agreed, self.n_annotators) / np.maximum(total, 1e-300)
        items, annotators = np.argsort(np.round(value, 9), kind="stable"), np.lexsort((np.round(right, 9), total))
        place, place_of_annotator = np.argsort(items), np.argsort(annotators)
        a, b, who = place[self.first], place[self.second], place_of_annotator[self.annotator]
        turned = a > b
        first, second = np.where(turned, b, a), np.where(turned, a, b)
        wins, losses = np.where(turned, self.losses, self.wins), np.where(turned, self.wins, self.losses)
        order = np.lexsort((second, first, who))
        votes = AnnotatorPairs(
            who[order], first[order], second[order], wins[order], losses[order], self.n_annotators, n
        )
        return votes, items, annotators

    def log_likelihood(self, own: FloatArray, flip: FloatArray) -> FloatArray:
        """Return the log-likelihood of every chain."""
        better, rate = expit(self.margins(own)), flip[:, self.annotator]
        says_first = (1 - rate) * better + rate * (1 - better)
        says_first = np.clip(says_first, 1e-300, 1 - 1e-16)
        return np.asarray(np.log(says_first) @ self.wins + np.log1p(-says_first) @ self.losses)

    def draw_flipped(self, margin: FloatArray, flip: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw how many of the votes for the first item and for the second were flips: chains × 2 × pairs."""
        better, rate = expit(margin), flip[:, self.annotator]
        right = np.stack([better, 1 - better], axis=1)
        flipped = rate[:, None] * (1 - right)
        share = flipped / np.maximum(flipped + (1 - rate[:, None]) * right, 1e-300)
        votes = np.stack([self.wins, self.losses])
        whole = np.floor(votes).astype(np.int64)
        return np.asarray(rng.binomial(whole, share) + (votes - whole) * (rng.random(share.shape) < share))

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Add up values of the pairs, by chain and annotator."""
        return np.stack([np.bincount(self.annotator, own, self.n_annotators) for own in values])

    def likelihood(
        self, margin: FloatArray, flipped: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the normal likelihood of which the votes are a mixture, given which of them were flips.

        Returns
        -------
        precision : ndarray of shape (chains, annotators, items, items)
            A graph Laplacian each.
        shift : ndarray of shape (chains, annotators, items)
            Precision times mean.
        """
        weight = polya_gamma(np.broadcast_to(self.wins + self.losses, margin.shape), margin, rng)
        surplus = 0.5 * (self.wins - self.losses) - flipped[:, 0] + flipped[:, 1]
        n, k, chains = self.n_items, self.n_annotators, len(margin)
        a = self.annotator * n + self.first + (k * n * np.arange(chains))[:, None]
        b = a + (self.second - self.first)
        size = chains * k * n
        shift = np.bincount(a.ravel(), surplus.ravel(), size) - np.bincount(b.ravel(), surplus.ravel(), size)
        off = np.bincount((a * n + self.second).ravel(), weight.ravel(), size * n).reshape(chains, k, n, n)
        precision = -(off + off.transpose(0, 1, 3, 2))
        at = np.arange(n)
        precision[:, :, at, at] = -precision.sum(axis=3)
        return np.asarray(precision, np.float64), np.asarray(shift.reshape(chains, k, n), np.float64)


def polya_gamma(shape: FloatArray, tilt: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Pólya-Gamma variables: Polson, Scott and Windle, *JASA* 108 (2013), equation 1.

    Parameters
    ----------
    shape, tilt : ndarray
        First and second parameter of each.
    rng : Generator
    """
    pole = _POLES + (tilt[..., None] / (2 * np.pi)) ** 2
    unit = bool((shape == 1).all())
    gammas = rng.standard_exponential(pole.shape) if unit else rng.standard_gamma(shape[..., None], pole.shape)
    half = np.maximum(np.abs(tilt) / 2, 1e-4)
    # The terms that are not drawn count by their mean.
    mean = shape * np.tanh(half) / (4 * half)
    return np.asarray(mean + ((gammas - shape[..., None]) / pole).sum(axis=-1) / (2 * np.pi**2))
