"""Goals of a collection: how much each difference of scores matters, and the remaining error.

A goal is a set of binary questions about normal quantities: is the difference of two scores above 0, is a score above
the threshold. With ``z`` the mean over the standard deviation of such a quantity and ``v`` its variance, a small
reduction ``δ`` of the variance lowers the expected entropy of the answer by ``δ φ(z)² / (2 v Φ(z) Φ(-z))``: the
weight of the question. The sum over all questions is a quadratic form in what a vote moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from jamrank.acquisition.scores import GaussianScores
from jamrank.typing import BoolArray, FloatArray, IntArray

_ROOT_TWO_PI = np.sqrt(2 * np.pi)
# With very many items, each is compared with this many others.
_OTHERS = 256


@dataclass(frozen=True)
class Goal:
    """A goal and its numbers.

    k: Size of the top.
    threshold: A score.
    anchor: An item: the threshold is its score.
    group: The question of each item, where only items of the same one can be compared.
    """

    name: str
    k: int = 1
    threshold: float = 0.0
    anchor: int | None = None
    group: IntArray | None = field(default=None, compare=False)


def question_weight(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return how fast the entropy of ``quantity > 0`` falls with its variance."""
    z = np.minimum(np.abs(mean) / np.sqrt(variance), 8.0)
    density = np.exp(-0.5 * z * z) / _ROOT_TWO_PI
    above = ndtr(z)
    return np.asarray(density**2 / (above * (1 - above) * 2 * variance))


def _margins(scores: GaussianScores, others: IntArray | None) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the differences to all items, or to some of them."""
    at = np.arange(len(scores.mean)) if others is None else others
    mean = scores.mean[:, None] - scores.mean[at]
    variance = scores.variance[:, None] + scores.variance[at]
    if scores.dense:
        variance = variance - 2 * (scores.covariance if others is None else scores.covariance[:, at])
    return mean, np.maximum(variance, 1e-9)


def _same(n: int, others: IntArray | None) -> BoolArray:
    return np.equal(np.arange(n)[:, None], np.arange(n) if others is None else others)


def _ranking(scores: GaussianScores, goal: Goal, others: IntArray | None) -> tuple[FloatArray, FloatArray]:
    weight = question_weight(*_margins(scores, others))
    weight[_same(len(weight), others)] = 0.0
    if goal.group is not None:
        weight[goal.group[:, None] != (goal.group if others is None else goal.group[others])] = 0.0
    return weight, np.zeros(len(weight))


def top_bar(scores: GaussianScores, k: int) -> float:
    """Return the threshold above which k items are expected."""
    mean, deviation = scores.mean, np.sqrt(scores.centred_variance)
    if k >= len(mean):
        return float(mean.min() - 10 * deviation.max())
    low, high = mean.min() - 6 * deviation.max(), mean.max() + 6 * deviation.max()
    for _ in range(40):
        bar = (low + high) / 2
        low, high = (bar, high) if ndtr((mean - bar) / deviation).sum() > k else (low, bar)
    return float(bar)


def top_probability(scores: GaussianScores, k: int) -> FloatArray:
    """Return the approximate probability that each item is among the best k."""
    return np.asarray(ndtr((scores.mean - top_bar(scores, k)) / np.sqrt(scores.centred_variance)))


def _top(scores: GaussianScores, goal: Goal, others: IntArray | None) -> tuple[FloatArray, FloatArray]:
    weight, own = _ranking(scores, goal, others)
    top = top_probability(scores, goal.k)
    other = top if others is None else top[others]
    return weight * (top[:, None] * (1 - other) + (1 - top[:, None]) * other), own


def _threshold(scores: GaussianScores, goal: Goal, others: IntArray | None) -> tuple[FloatArray, FloatArray]:
    n = len(scores.mean)
    weight = np.zeros((n, n if others is None else len(others)))
    if goal.anchor is None:
        return weight, question_weight(scores.mean - goal.threshold, scores.centred_variance)
    mean, variance = scores.margin(np.arange(n), np.full(n, goal.anchor))
    one = question_weight(mean, variance)
    one[goal.anchor] = 0.0
    if others is None:
        weight[:, goal.anchor] = weight[goal.anchor] = one
        return weight, np.zeros(n)
    return weight, one


# The weight of each difference of two scores, and of each score.
GOALS: dict[str, Callable[[GaussianScores, Goal, IntArray | None], tuple[FloatArray, FloatArray]]] = {
    "ranking": _ranking,
    "top-k": _top,
    "threshold": _threshold,
    "verdicts": _ranking,
}


def relevance(
    scores: GaussianScores, goal: Goal, first: IntArray, second: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Return the value of knowing the margin of each pair: the entropy of all answers, in nats.

    first, second: The pairs.
    rng: With very many items, the others that are used.
    """
    n = len(scores.mean)
    if scores.dense:
        weight, own = GOALS[goal.name](scores, goal, None)
        laplacian = -weight
        laplacian[np.diag_indices(n)] += weight.sum(axis=1) + own
        moved = scores.covariance @ laplacian @ scores.covariance
        diagonal = np.diagonal(moved)
        total = diagonal[first] + diagonal[second] - 2 * moved[first, second]
    else:
        others = rng.choice(n, min(_OTHERS, n), replace=False)
        weight, own = GOALS[goal.name](scores, goal, others)
        degree = (weight.sum(axis=1) * n / len(others) + own) * scores.variance**2
        total = degree[first] + degree[second]
    return np.maximum(total / scores.margin(first, second)[1], 0.0)
