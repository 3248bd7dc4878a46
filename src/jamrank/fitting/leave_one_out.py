"""Approximate leave-one-out prediction of each row's votes, without refitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from jamrank.engines import Links
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Point, Problem
from jamrank.linalg.marginals import is_dense, margin_variances
from jamrank.scorers import Scorer
from jamrank.typing import FloatArray, Int32Array

# The curvature of a row is at least this share of its complete-data curvature, as in the passes.
_LEAST_CURVATURE = 0.1
# The other rows keep at least this share of the information on a row's margin.
_LEAST_OTHERS = 0.05
# With few votes per item, scores may be too uncertain to decide pairs by their order.
_MOST_LOST = 0.01
_BLOCK = 1 << 17


@dataclass(frozen=True)
class LooPrediction:
    """Log-likelihood of every row's votes given all other rows, added up.

    by_chance: If the truth of a pair is random given its margin, as the models assume.
    by_order: If the item with the higher score is always better.
    lost: In the latter case, the share of pairs that the posterior gets right and the order of the scores wrong,
        minus the reverse.
    """

    by_chance: float
    by_order: float
    lost: float

    @property
    def recommended(self) -> str:
        """What decides a pair better: the order of the scores, or the posterior."""
        return "scores" if self.by_order > self.by_chance and self.lost < _MOST_LOST else "posterior"


def remaining_truth_variance(problem: Problem, point: Point) -> float:
    """Return the share of the variance of the truths that remains given the votes.

    If most of it remains, as with one noisy vote per pair, the curvature of a row is a small difference of large
    numbers, often negative, and :func:`leave_one_out` overrates large scores.
    """
    rows, posterior = problem.in_memory.rows, problem.posterior(point)
    chance = expit(point.scores[rows.first] - point.scores[rows.second])
    return float((posterior * (1.0 - posterior)).sum() / max(float((chance * (1.0 - chance)).sum()), 1e-300))


def leave_one_out(problem: Problem, point: Point) -> LooPrediction:
    """Predict the votes of each row from the rest.

    At the maximum the gradient ``q - σ(m)`` of a row in its own margin balances that of the others. Without the row
    the margin changes by this gradient times a variance that follows from the curvature.
    """
    engine, scorer = problem.in_memory, problem.scorer
    rows = engine.rows
    links = engine.links(point.expectation.curvature)
    alone = _alone(scorer, point, links, is_dense(engine.n_links, engine.n_items))
    loose = effective_dof(engine, scorer, point.expectation).loose
    posterior = problem.posterior(point)
    link_of = None if len(rows.edges) == len(rows) else np.searchsorted(rows.edges, np.arange(len(rows)), "right") - 1
    totals = np.array([point.expectation.value, point.expectation.value, 0.0])
    for begin in range(0, len(rows), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        first, second, weight = rows.first[block], rows.second[block], rows.weight[block] if len(rows.weight) else 1.0
        variance = (alone[block] if link_of is None else alone[link_of[block]]) + _distance(loose, first, second)
        predicted = _loo_predict(point.scores[first] - point.scores[second], posterior[block], variance)
        totals += [float((weight * value).sum()) for value in predicted]
    by_chance, by_order, lost = totals.tolist()
    return LooPrediction(by_chance, by_order, lost / len(rows))


def _alone(scorer: Scorer, point: Point, links: Links, dense: bool) -> FloatArray:
    """Return the variance of each link's margin due to the effects, given the weights."""
    if scorer.effects() is None:
        return np.zeros(len(links.first))
    precision = float(scorer.precision[-1])
    cut = margin_variances(point.expectation.degree, precision, links, dense)
    known: FloatArray = cut / (1.0 + cut * np.maximum(links.curvature, 0.0))
    return known


def _distance(loose: FloatArray, first: Int32Array, second: Int32Array) -> FloatArray:
    total = np.zeros(len(first))
    for column in loose.T:
        total += (column[first] - column[second]) ** 2
    return total


def _loo_predict(
    margin: FloatArray, posterior: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log ratios of predicted to fitted likelihood under both assumptions, and the loss by order."""
    fitted, opposite = expit(margin), expit(-margin)
    certain = fitted * opposite
    curvature = np.maximum(certain - posterior * (1.0 - posterior), _LEAST_CURVATURE * certain)
    without = variance / np.maximum(1.0 - curvature * variance, _LEAST_OTHERS)
    predicted = margin - (posterior - fitted) * without
    doubt = np.pi / 8.0 * without

    def ratios(size: FloatArray) -> tuple[FloatArray, FloatArray]:
        first = posterior * (expit(size) / np.maximum(fitted, 1e-300))
        second = (1.0 - posterior) * (expit(-size) / np.maximum(opposite, 1e-300))
        return first, first + second

    _, by_chance = ratios(predicted / np.sqrt(1.0 + doubt))
    first, by_order = ratios(predicted / np.sqrt(np.maximum(doubt, 1e-12)))
    lean = 2.0 * first / by_order - 1.0
    lost = lean * (np.sign(posterior - 0.5) - np.sign(margin)) / 2.0
    return np.log(by_chance), np.log(by_order), lost
