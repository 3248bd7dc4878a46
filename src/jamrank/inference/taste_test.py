"""Whether annotators differ in what they like: a test of effects on items that are an annotator's own, or shared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from jamrank.fitting.family_votes import FamilyVotes
from jamrank.typing import FloatArray, IntArray

# Draws of the statistic under independence; most sets need only the first.
_DRAWS = 100, 500
# Beyond this probability the first draws settle it.
_CLEARLY = 0.1
# A flip of 0 would leave votes without any variance.
_LEAST_FLIP = 1e-3
_MOST_NUMBERS = 4_000_000


def taste_p_value(votes: FamilyVotes, scores: FloatArray, flips: FloatArray) -> float:
    """Return the p-value of the hypothesis that annotators have the same scores in mind and err independently.

    An effect on items in the mind of an annotator leaves a trace in the gradient of the likelihood in the scores of
    that annotator, of which the part that other common scores or flips would explain is removed. If annotators share
    the effect, the products of their gradients are larger than expected; if it is their own, the squares are. The
    statistic is the sum over all squared products, and that over all squares, each in standard deviations under
    independence. Its distribution is that of votes drawn from the scores and flips.

    votes: In an order that does not depend on names.
    scores, flips: Estimated, in that order.
    """
    cells = _Cells.of(votes, scores, flips)
    rng, p = np.random.default_rng(0), 1.0
    products = cells.products(cells.residuals[None])
    for draws in _DRAWS:
        several = max(1, _MOST_NUMBERS // (len(cells.count) + votes.n_annotators**2))
        while len(products) <= draws:
            drawn = cells.draw(min(several, draws + 1 - len(products)), rng)
            products = np.concatenate([products, cells.products(drawn)])
        found = _statistic(products)
        p = float((1 + np.count_nonzero(found[1:] >= found[0])) / len(found))
        if p > _CLEARLY:
            break
    return p


def _statistic(products: FloatArray) -> FloatArray:
    """Return the statistic of what was observed, the first, and of draws under independence."""

    def standardised(values: FloatArray) -> FloatArray:
        spread = values[1:].std(axis=0)
        return np.asarray((values - values[1:].mean(axis=0)) / np.where(spread > 0, spread, np.inf))

    z = standardised(products)
    own = np.trace(z, axis1=1, axis2=2)
    shared = (z**2).sum(axis=(1, 2)) - (np.diagonal(z, axis1=1, axis2=2) ** 2).sum(axis=1)
    return standardised(shared) + standardised(own)


@dataclass(frozen=True)
class _Cells:
    """Votes by annotator and pair of items: how many, how likely each is for the first, and slopes of that."""

    annotator: IntArray
    first: IntArray
    second: IntArray
    count: FloatArray
    residuals: FloatArray
    proba: FloatArray
    on_margin: FloatArray
    on_flip: FloatArray
    n_annotators: int
    n_items: int

    @classmethod
    def of(cls, votes: FamilyVotes, scores: FloatArray, flips: FloatArray) -> _Cells:
        n = votes.n_items
        first, second = np.minimum(votes.winner, votes.loser), np.maximum(votes.winner, votes.loser)
        cell, at = np.unique((votes.annotator * n + first) * n + second, return_inverse=True)
        count, won = (np.bincount(at, votes.count * part).astype(np.float64) for part in (1.0, votes.winner == first))
        who, a, b = cell // n**2, cell // n % n, cell % n
        flip, better = np.clip(flips, _LEAST_FLIP, 1 - _LEAST_FLIP)[who], expit(scores[a] - scores[b])
        proba = flip + (1 - 2 * flip) * better
        slopes = (1 - 2 * flip) * better * (1 - better), 1 - 2 * better
        return cls(who, a, b, count, won - count * proba, proba, *slopes, votes.n_annotators, n)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw residuals under independence. Parts of a soft vote go together."""
        whole = np.ceil(self.count)
        drawn = rng.binomial(whole.astype(np.int64), self.proba, (n, len(whole)))
        return np.asarray((drawn - whole * self.proba) * (self.count / whole))

    def products(self, residuals: FloatArray) -> FloatArray:
        """Return the products of the gradients of every two annotators, for rows of residuals."""
        gradient = self._by_item(residuals * (self.on_margin / self._variance))
        of_flip = self._by_annotator(residuals * (self.on_flip / self._variance))
        with_flip, informed, left = self._explained
        gradient -= (of_flip / informed)[..., None] * with_flip
        gradient -= (left @ gradient.sum(axis=1)[:, None, :, None])[..., 0]
        return np.asarray(gradient @ np.swapaxes(gradient, 1, 2))

    @property
    def _variance(self) -> FloatArray:
        return self.proba * (1 - self.proba)

    @cached_property
    def _explained(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return information on scores with flips, on flips, and each annotator's share of that on scores."""
        n, k, weight = self.n_items, self.n_annotators, self.count / self._variance
        informed = np.maximum(self._by_annotator((weight * self.on_flip**2)[None])[0], 1e-300)
        with_flip = self._by_item((weight * self.on_margin * self.on_flip)[None])[0]
        cell = (self.annotator * n + self.first) * n + self.second
        off = np.bincount(cell, weight * self.on_margin**2, k * n * n).reshape(k, n, n)
        information = -(off + off.transpose(0, 2, 1))
        at = np.arange(n)
        information[:, at, at] = -information.sum(axis=2)
        information -= with_flip[:, :, None] * (with_flip / informed[:, None])[:, None, :]
        total: FloatArray = np.asarray(np.linalg.pinv(information.sum(axis=0), hermitian=True), np.float64)
        return with_flip, informed, np.asarray(information @ total, np.float64)

    def _by_annotator(self, values: FloatArray) -> FloatArray:
        at = self.annotator + self.n_annotators * np.arange(len(values))[:, None]
        found = np.bincount(at.ravel(), values.ravel(), len(values) * self.n_annotators)
        return np.asarray(found.reshape(len(values), -1), np.float64)

    def _by_item(self, values: FloatArray) -> FloatArray:
        size = self.n_annotators * self.n_items
        row = self.annotator * self.n_items + size * np.arange(len(values))[:, None]
        found = np.bincount((row + self.first).ravel(), values.ravel(), len(values) * size)
        found = found - np.bincount((row + self.second).ravel(), values.ravel(), len(values) * size)
        return np.asarray(found.reshape(len(values), self.n_annotators, -1), np.float64)
