"""Suggested pairs from scores and their covariance, for the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtr, ndtri

from jamrank.acquisition.channel import fisher_information, vote_information
from jamrank.acquisition.goals import Goal, relevance
from jamrank.acquisition.scores import GaussianScores
from jamrank.acquisition.view import candidate_pairs
from jamrank.linalg.blas import blas_threads
from jamrank.typing import FloatArray, IntArray

# Maps upper and lower items to the probabilities of these orders.
OrderOf = Callable[[IntArray, IntArray], FloatArray]
# The order of two items is certain from this probability on: the interval of their difference excludes 0.
_SETTLED = 0.975
# Numbers of votes on one truth, beyond which its majority is as good as certain.
_MAJORITIES = (1, 3, 5, 7, 9, 11, 15, 21, 31)


@dataclass(frozen=True)
class Suggestions:
    """Pairs to compare next, the most valuable first.

    upper, lower: The items, that of the higher score first.
    above: How likely the upper one is truly above.
    gain: Expected information on the order of all items, in nats.
    to_settle: Votes until the order is certain, if the estimated difference is right; infinite for equal scores.
    """

    upper: IntArray
    lower: IntArray
    above: FloatArray
    gain: FloatArray
    to_settle: FloatArray


def votes_to_settle(margin: FloatArray, variance: FloatArray, flip: float, *, one_truth: bool = False) -> FloatArray:
    """Return how many votes on a pair make its order certain, if the estimated margin is right.

    With ``n`` votes of information ``λ`` each the variance falls to ``1 / (1 / v + n λ)``; the order is certain if
    the margin is 1.96 standard deviations from 0. Where all votes on a pair share one truth, they say together at
    most what that truth says, once: if that is not enough, no number of votes on this pair is.

    margin, variance: Of the differences of scores; NaN where unknown.
    flip: Of the annotators who are to vote.
    one_truth: Whether all votes on a pair share one truth.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = (ndtri(_SETTLED) / margin) ** 2 - 1.0 / variance
    if one_truth:
        enough = np.array(
            [fisher_information(margin, np.full(len(margin), wrong)) for wrong in _majority_wrong(flip)]
        )
        n_votes = np.array([0, *_MAJORITIES])[(enough < wanted).sum(axis=0).clip(max=len(_MAJORITIES) - 1) + 1]
        return np.where(wanted <= 0, 0.0, np.where(wanted <= enough[-1], n_votes, np.inf))
    votes = np.maximum(wanted, 0.0) / np.maximum(fisher_information(margin, np.full(len(margin), flip)), 1e-300)
    return np.where(np.isfinite(wanted), np.ceil(np.minimum(votes, 1e9)), np.inf)


def _majority_wrong(flip: float) -> FloatArray:
    """Return how often a majority of annotators misses the truth of a pair, for growing numbers of them."""
    n = np.array(_MAJORITIES)
    return np.asarray(bdtr((n - 1) // 2, n, 1.0 - flip))


def suggest_pairs(
    scores: FloatArray,
    covariance: FloatArray,
    flip: float,
    goal: Goal | None = None,
    most: int = 15,
    *,
    one_truth: bool = False,
    order: OrderOf | None = None,
) -> Suggestions:
    """Return the pairs with the most information on the goal, each given those before it.

    scores, covariance: Of the items; a vector of variances where scores are independent.
    flip: Mean flip of the annotators.
    goal: The order of all items unless given.
    most: How many pairs.
    one_truth: Whether all votes on a pair share one truth; see :func:`votes_to_settle`.
    order: Returns how likely each item of the first array is truly above that of the second, NaN where votes do not
        compare them; by default from the covariance.
    """
    with blas_threads(len(scores)):
        belief = GaussianScores(np.array(scores, dtype=np.float64), np.array(covariance, dtype=np.float64))
        upper, lower, gain = _most_informative(belief, flip, goal or Goal("ranking"), most)
    margin = np.asarray(scores)[upper] - np.asarray(scores)[lower]
    above = _by_covariance(np.asarray(scores), covariance, upper, lower) if order is None else order(upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (margin / ndtri(np.maximum(above, 0.5))) ** 2  # so that votes needed and probability agree
    return Suggestions(upper, lower, above, gain, votes_to_settle(margin, variance, flip, one_truth=one_truth))


def _by_covariance(scores: FloatArray, covariance: FloatArray, upper: IntArray, lower: IntArray) -> FloatArray:
    margin, variance = GaussianScores(scores, np.asarray(covariance)).margin(upper, lower)
    return np.asarray(ndtr(margin / np.sqrt(variance)))


def _most_informative(
    belief: GaussianScores, flip: float, goal: Goal, most: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs, the item of the higher score first, with the information of a vote on each."""
    rng = np.random.default_rng(0)
    first, second = candidate_pairs(belief.mean, rng, goal.group)
    mean, _ = belief.margin(first, second)
    chosen, gains = [], []
    free = np.ones(len(first), np.bool_)
    for _ in range(min(most, len(first))):
        now, left = belief.margin(first, second)
        known = -np.expm1(-2 * vote_information(np.abs(now), left, flip))
        gain = np.where(free, known * relevance(belief, goal, first, second, rng), -np.inf)
        at = int(gain.argmax())
        belief.condition(int(first[at]), int(second[at]), float(now[at]), float(left[at] * (1 - known[at])))
        free[at] = False
        chosen.append(at)
        gains.append(float(gain[at]))
    picked = np.array(chosen, dtype=np.int64)
    turned = mean[picked] < 0
    upper, lower = (
        np.where(turned, *ends) for ends in ((second[picked], first[picked]), (first[picked], second[picked]))
    )
    return upper, lower, np.array(gains)
