"""The outcome probabilities of one vote given the margin, and its information.

A vote on two items is a noisy channel. Its input is the margin, the difference of their scores; with probability
``sigmoid(margin)`` the left item is better. The annotator reports that, or the opposite. If ties are votes, a tie is
more probable the closer the items are (Davidson).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from jamrank.typing import FloatArray

RIGHT, LEFT, TIE = 0, 1, 2
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(11)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_FINE_NODES, _FINE_WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_FINE_WEIGHTS = _FINE_WEIGHTS / _FINE_WEIGHTS.sum()


def outcomes(
    margin: FloatArray, says_left: tuple[FloatArray, FloatArray], tie: FloatArray | float = 0.0
) -> FloatArray:
    """Return the probability of each outcome, along a new first axis: right, left, tie.

    margin: Score of the left item minus that of the right one.
    says_left: P(left is voted for) where right is better, and where left is better.
    tie: Threshold for ties: the odds of a tie between equal items.
    """
    wrong, right = says_left
    left = wrong + (right - wrong) * expit(margin)
    if not np.any(tie):
        return np.stack([1.0 - left, left, np.zeros_like(left)])
    tied = tie / (np.cosh(np.minimum(np.abs(margin), 60.0) / 2) + tie)
    return np.stack([(1 - tied) * (1 - left), (1 - tied) * left, np.broadcast_to(tied, left.shape)])


def expected_truth(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return P(left is better) where the margin is normal: MacKay's approximation."""
    return np.asarray(expit(mean / np.sqrt(1.0 + np.pi / 8.0 * variance)))


def vote_information(
    mean: FloatArray, variance: FloatArray, flip: FloatArray | float, tie: FloatArray | float = 0.0
) -> FloatArray:
    """Return the mutual information of a vote with a normal margin, in nats.

    The entropy of the outcome minus its mean entropy given the margin, by Gauss–Hermite quadrature. Of the annotator
    only the mean flip matters, since the probability of an outcome is linear in the flip.

    mean, variance: Of the margins.
    flip, tie: Of the annotators, broadcast against the margins.
    """
    spread = np.sqrt(np.asarray(variance, dtype=np.float64))[..., None]
    margin = np.asarray(mean, dtype=np.float64)[..., None] + spread * _NODES
    flip = np.asarray(flip, dtype=np.float64)[..., None]
    if not np.any(tie):
        left = flip + (1.0 - 2.0 * flip) * expit(margin)
        return np.asarray(np.maximum(_binary_entropy(left @ _WEIGHTS) - _binary_entropy(left) @ _WEIGHTS, 0.0))
    each = outcomes(margin, (flip, 1.0 - flip), np.asarray(tie, dtype=np.float64)[..., None])
    expected = each @ _WEIGHTS
    entropy, noise = -xlogy(expected, expected).sum(axis=0), -xlogy(each, each).sum(axis=0) @ _WEIGHTS
    return np.asarray(np.maximum(entropy - noise, 0.0))


def _binary_entropy(p: FloatArray) -> FloatArray:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-p * np.log(p) - (1 - p) * np.log1p(-p))


def fisher_information(margin: FloatArray, flip: FloatArray, tie: FloatArray | float = 0.0) -> FloatArray:
    """Return the expected information of a vote on its margin."""
    truth = expit(margin)
    left = flip + (1 - 2 * flip) * truth
    slope = (1 - 2 * flip) * truth * (1 - truth)
    decided = slope**2 / np.maximum(left * (1 - left), 1e-12)
    if not np.any(tie):
        return np.asarray(decided)
    half = np.clip(margin, -60.0, 60.0) / 2
    tied = tie / (np.cosh(half) + tie)
    return np.asarray((1 - tied) * decided + tied * (1 - tied) * np.tanh(half) ** 2 / 4)


def moments(
    mean: float, variance: float, outcome: int, says_left: tuple[float, float], tie: float = 0.0
) -> tuple[float, float, float]:
    """Return the probability of an outcome, and mean and variance of the margin after it."""
    margin = mean + np.sqrt(variance) * _FINE_NODES
    likely = outcomes(margin, (np.asarray(says_left[0]), np.asarray(says_left[1])), tie)[outcome] * _FINE_WEIGHTS
    total = float(likely.sum())
    if not total > 1e-300:
        return total, mean, variance
    after = float(likely @ margin) / total
    return total, after, float(likely @ (margin - after) ** 2) / total
