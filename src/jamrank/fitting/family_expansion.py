"""The votes of annotators as normal likelihoods of the scores they vote by and of how often they lapse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from jamrank.fitting.family_search import Below
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.linalg.normal_effects import Normal, absorb_columns
from jamrank.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Cells:
    """Votes by annotator and pair of items: how many for the first, and for the second."""

    annotator: IntArray
    first: IntArray
    second: IntArray
    won: FloatArray
    lost: FloatArray
    n_annotators: int
    n_items: int

    @cached_property
    def count(self) -> FloatArray:
        """Votes of each cell."""
        return self.won + self.lost

    @cached_property
    def places(self) -> tuple[IntArray, IntArray, IntArray]:
        """Places of the first and the second item among those of all annotators, and of the pair."""
        base = self.annotator * self.n_items
        return base + self.first, base + self.second, (base + self.first) * self.n_items + self.second

    @classmethod
    def of(cls, votes: FamilyVotes) -> Cells:
        """Count the votes."""
        n, k = votes.n_items, votes.n_annotators
        at = (votes.annotator * n + votes.winner) * n + votes.loser
        wins = np.bincount(at, votes.count, k * n * n).reshape(k, n, n)
        first, second = np.triu_indices(n, 1)
        won, lost = wins[:, first, second].astype(np.float64), wins[:, second, first].astype(np.float64)
        who, pair = np.nonzero(won + lost)
        return cls(who, first[pair], second[pair], won[who, pair], lost[who, pair], k, n)

    def together(self, sign: FloatArray) -> Cells:
        """Return the votes as if one annotator had cast all, those of adversaries turned."""
        n, straight = self.n_items, sign[self.annotator] > 0
        at = self.first * n + self.second
        won, lost = np.where(straight, self.won, self.lost), np.where(straight, self.lost, self.won)
        pair = np.flatnonzero(np.bincount(at, minlength=n * n))
        of_pair = [np.bincount(at, values, n * n)[pair].astype(np.float64) for values in (won, lost)]
        return Cells(np.zeros(len(pair), dtype=np.int64), pair // n, pair % n, of_pair[0], of_pair[1], 1, n)


@dataclass(frozen=True)
class Expansion:
    """The votes of each annotator as a normal likelihood of the scores they vote by and the logit of their lapses.

    precision, shift: Of the scores; the shift is precision times mean, lapses included.
    slope: Precision between scores and logit.
    information, pull: Precision and shift of the logit.
    """

    precision: FloatArray
    shift: FloatArray
    slope: FloatArray
    information: FloatArray
    pull: FloatArray

    def below(self, lapse_mean: float, lapse_sd: float, own_sd: float) -> tuple[Normal, Below]:
        """Integrate lapses out, and also own effects. The prior of the logits of lapses is normal."""
        prior = 1 / lapse_sd**2
        total = self.information + prior
        means = lapse_mean + np.array([-1.0, 0.0, 1.0])
        pull = self.pull[:, None] + prior * means
        shift = self.shift[..., None] - self.slope[..., None] * (pull / total[:, None])[:, None, :]
        share = self.slope / total[:, None]
        factor = 0.5 * (pull**2 / total[:, None] - prior * means**2 - np.log(total / prior)[:, None])
        said = Normal(self.precision - share[:, :, None] * self.slope[:, None, :], shift, factor)
        return said, Below(absorb_columns(said, np.asarray(own_sd)) if own_sd > 0 else said, lapse_mean)

    def log_odds(
        self, scores: FloatArray, lapse_mean: FloatArray | float, lapse_sd: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and precision of the logits of lapses given scores."""
        total = self.information + 1 / lapse_sd**2
        pull = self.pull - (self.slope * scores).sum(axis=-1) + np.asarray(lapse_mean)[..., None] / lapse_sd**2
        return np.asarray(pull / total), total


@dataclass(frozen=True)
class Spread:
    """Posterior covariances: of the scores each annotator votes by, with the logit of their lapses, and of that."""

    scores: FloatArray
    both: FloatArray
    log_odds: FloatArray

    def points(self, cells: Cells) -> list[tuple[FloatArray, FloatArray]]:
        """Return by how much margins and logits differ from their means at points of equal weight.

        Means over the points are those over the posterior of each cell up to third order.
        """
        who, a, b = cells.annotator, cells.first, cells.second
        own = np.diagonal(self.scores, axis1=1, axis2=2)
        margin = np.sqrt(np.maximum(own[who, a] + own[who, b] - 2 * self.scores[who, a, b], 1e-12))
        along = (self.both[who, a] - self.both[who, b]) / margin
        rest = np.sqrt(np.maximum(self.log_odds[who] - along**2, 0.0))
        root, nothing = np.sqrt(2.0), np.zeros_like(margin)
        return [(by * root * x, by * root * y) for x, y in ((margin, along), (nothing, rest)) for by in (1.0, -1.0)]


def expand(cells: Cells, scores: FloatArray, log_odds: FloatArray, spread: Spread | None = None) -> Expansion:
    """Expand the likelihood about the scores each annotator votes by and the logits of lapses.

    spread: Slopes and curvatures are their means over this posterior, not those at its centre: a normal distribution
        near to the posterior (Opper and Archambeau, *Neural Computation* 21, 2009), where the expansion at the mode
        understates scores if annotators have many tastes.
    """
    who, k, n, count = cells.annotator, cells.n_annotators, cells.n_items, cells.count
    first, second, cell = cells.places
    flat = scores.ravel()
    margin = np.take(flat, first) - np.take(flat, second)
    points = [(0.0, 0.0)] if spread is None else spread.points(cells)
    on_scores, on_odds, of_scores, of_both, of_odds = np.zeros((5, len(who)))
    for apart, more in points:
        better, lapse = (
            expit(margin + apart),
            (expit(log_odds)[who] if spread is None else expit(log_odds[who] + more)),
        )
        proba = lapse * (0.5 - better)
        by_odds = proba * (1 - lapse)
        proba += better
        by_margin = (1 - lapse) * better
        by_margin *= 1 - better
        weight = 1.0 / np.maximum(proba * (1 - proba), 1e-9)
        residual = (cells.won - count * proba) * weight
        weight *= count
        on_scores += residual * by_margin
        on_odds += residual * by_odds
        by_both = weight * by_odds
        of_both += by_both * by_margin
        of_odds += by_both * by_odds
        weight *= by_margin
        of_scores += weight * by_margin
    on_scores, on_odds, of_scores, of_both, of_odds = (
        values / len(points) for values in (on_scores, on_odds, of_scores, of_both, of_odds)
    )

    def by_item(values: FloatArray) -> FloatArray:
        found = np.bincount(first, values, k * n) - np.bincount(second, values, k * n)
        return np.asarray(found.reshape(k, n), np.float64)

    precision = np.zeros((k, n, n))
    precision.ravel()[cell] = -of_scores
    precision += precision.transpose(0, 2, 1)
    at = np.arange(n)
    precision[:, at, at] = -precision.sum(axis=2)
    slope, own = by_item(of_both), np.bincount(who, of_odds, k).astype(np.float64)
    shift = by_item(on_scores) + (precision @ scores[..., None])[..., 0] + slope * log_odds[:, None]
    pull = np.bincount(who, on_odds, k) + own * log_odds + (slope * scores).sum(axis=1)
    return Expansion(precision, shift, slope, own, pull)
