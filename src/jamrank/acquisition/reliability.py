"""A discrete posterior over flip and position bias of each annotator.

Every annotator has a weight for each node of a grid, flips by biases. A vote multiplies the weights by the
probability of its outcome, which is exact given how likely the left item is better.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, xlogy

from jamrank.fitting.prior import Prior
from jamrank.typing import BoolArray, FloatArray, IntArray

_LOGITS = np.linspace(-4.0, 4.0, 17)
_BIASES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
_FLIP, _BIAS = (grid.ravel() for grid in np.meshgrid(_LOGITS, _BIASES, indexing="ij"))
# P(votes left) if right is better, and if left is better: a bias moves both.
_WRONG, _RIGHT = expit(_FLIP + _BIAS), expit(-_FLIP + _BIAS)
_SHARPNESS = (_RIGHT - _WRONG) ** 2
# Standard deviation of the bias of a new annotator, in log-odds.
_USUAL_BIAS = 0.6
# Weight of the weak prior against the crowd's annotators, in annotators.
_PSEUDO_ANNOTATORS = 4.0
# P(votes left) at each node where the left item is better with probability 0, 0.05 ... 1, and its entropy.
_ASKED = np.linspace(0.0, 1.0, 21)
_LEFT = _WRONG + (_RIGHT - _WRONG) * _ASKED[:, None]
_NOISE = -(xlogy(_LEFT, _LEFT) + xlogy(1 - _LEFT, 1 - _LEFT))
_CHUNK = 20_000
_ROUNDS, _TRIES = 3, 20


def _normalised(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _weak_prior() -> FloatArray:
    wrong, right = Prior().flip_votes
    log = (1 + wrong) * -np.logaddexp(0, -_FLIP) + (1 + right) * -np.logaddexp(0, _FLIP)
    weight = np.exp(log - 0.5 * (_BIAS / _USUAL_BIAS) ** 2)
    return np.asarray(weight / weight.sum())


class Reliability:
    """The posterior of each annotator, one row of weights each.

    count: Number of annotators.
    """

    def __init__(self, count: int) -> None:
        self.prior = _weak_prior()
        self.weights = np.tile(self.prior, (count, 1))

    def add(self, count: int) -> None:
        """Add new annotators, with the distribution of the crowd as prior."""
        self.weights = np.concatenate([self.weights, np.tile(self.prior, (count, 1))])

    def observe(self, who: int, says_left: bool, left_better: float) -> None:
        """Update an annotator by a decided vote."""
        left = _WRONG + (_RIGHT - _WRONG) * left_better
        weight = self.weights[who] * (left if says_left else 1 - left)
        self.weights[who] = weight / weight.sum()

    def refit(
        self, who: IntArray, says_left: BoolArray, left_better: FloatArray, weight: FloatArray, kind: IntArray
    ) -> None:
        """Recompute all weights from all decided votes, with a prior that annotators of a kind share.

        who, says_left, left_better, weight: For each vote: the annotator, the outcome, the probability by the other
            votes that it is true, and its weight.
        kind: Kind of each annotator, such as those of equal cost.
        """
        log = np.zeros_like(self.weights)
        for start in range(0, len(who), _CHUNK):
            part = slice(start, start + _CHUNK)
            left = _WRONG + (_RIGHT - _WRONG) * left_better[part, None]
            likely = np.log(np.where(says_left[part, None], left, 1 - left)) * weight[part, None]
            np.add.at(log, who[part], likely)
        likelihood = np.exp(log - log.max(axis=1, keepdims=True))
        voted = np.bincount(who, minlength=len(log)) > 0
        members = np.zeros((int(kind.max(initial=0)) + 1, len(log)))
        members[kind[voted], np.flatnonzero(voted)] = 1.0
        base = _weak_prior()
        self.weights = _normalised(likelihood * base)
        for _ in range(_ROUNDS):
            total = _PSEUDO_ANNOTATORS + members.sum(axis=1, keepdims=True)
            priors = (_PSEUDO_ANNOTATORS * base + members @ self.weights) / total
            self.weights = _normalised(likelihood * priors[kind])
        self.prior = priors.mean(axis=0)

    def trust(self) -> None:
        """Take all annotators to err as rarely as the grid allows, without a bias."""
        self.weights = np.zeros_like(self.weights)
        self.weights[:, int(np.argmin(_FLIP + np.abs(_BIAS)))] = 1.0

    @property
    def flip(self) -> FloatArray:
        """Mean flip of each annotator, sides averaged."""
        return np.asarray(self.weights @ ((_WRONG + 1 - _RIGHT) / 2))

    @property
    def sharpness_deviation(self) -> FloatArray:
        """Standard deviation of ``(1 - 2 flip)²``, the information in a vote, of each annotator."""
        mean, square = self.weights @ _SHARPNESS, self.weights @ _SHARPNESS**2
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))

    @property
    def contrast_variance(self) -> FloatArray:
        """Variance of ``1 - 2 flip`` of each annotator."""
        mean, square = self.weights @ (_RIGHT - _WRONG), self.weights @ _SHARPNESS
        return np.asarray(np.maximum(square - mean**2, 0.0))

    def says_left(self, who: int) -> tuple[float, float]:
        """Return P(left is voted for) by an annotator where right is better, and where left is."""
        return float(self.weights[who] @ _WRONG), float(self.weights[who] @ _RIGHT)

    def logit_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the logit of each flip."""
        mean = self.weights @ _FLIP
        return mean, np.asarray(self.weights @ _FLIP**2 - mean**2)

    def between(self, low: float, high: float) -> FloatArray:
        """Return the probability that each flip is between two values."""
        edges = logit(np.clip([low, high], 1e-9, 1 - 1e-9))
        return np.asarray(self.weights @ ((edges[0] < _FLIP) & (edges[1] >= _FLIP)))

    def information(self, left_better: FloatArray, who: IntArray) -> FloatArray:
        """Return the information of a decided vote on its annotator: annotators by pairs, in nats.

        left_better: How likely the left item of each pair is better.
        who: Annotators.
        """
        noise, mean = _NOISE @ self.weights[who].T, _LEFT @ self.weights[who].T
        table = np.maximum(-(xlogy(mean, mean) + xlogy(1 - mean, 1 - mean)) - noise, 0.0)
        return np.stack([np.interp(left_better, _ASKED, column) for column in table.T]).reshape(len(who), -1)

    def draw(self, rng: np.random.Generator, votes: FloatArray) -> FloatArray:
        """Return a flip for each annotator, drawn from the posterior.

        Draws of negative orientation are repeated, a few times.
        """
        for _ in range(_TRIES):
            at = [rng.choice(len(_FLIP), p=row / row.sum()) for row in self.weights]
            flips = np.asarray(expit(_FLIP[at]))
            if (votes + 1) @ (1 - 2 * flips) > 0:
                return flips
        return np.asarray(np.minimum(flips, 1 - flips))

    def copy(self) -> Reliability:
        """Return a copy that can be changed."""
        twin = Reliability(0)
        twin.prior, twin.weights = self.prior, self.weights.copy()
        return twin
