"""How well each row's votes are predicted by all the others, without fitting anything again."""

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

__all__ = ["LooPrediction", "hidden_share", "leave_one_out"]


# The curvature of a row is at least this part of what it would be, were its truth known; as in the passes.
_LEAST_CURVATURE = 0.1
# However much a row says of its own margin, the others are left to say this part of what is known.
_LEAST_OTHERS = 0.05
# With few votes an item, scores may stand for the truth and yet not be known well enough to decide by their order.
_MOST_LOST = 0.01
_BLOCK = 1 << 17


@dataclass(frozen=True)
class LooPrediction:
    """Log-likelihood of every row's votes given all other rows, added up.

    Attributes
    ----------
    by_chance : float
        If the truth of a pair is drawn from the difference of its scores, as the models have it.
    by_order : float
        If the better score is truly better, without exception.
    lost : float
        In the latter case, the share of pairs on which the order of the fitted scores would be wrong and the
        posterior right, less those where it is the other way round.
    """

    by_chance: float
    by_order: float
    lost: float

    @property
    def recommended(self) -> str:
        """By what to decide a pair: the order of the scores, where it stands for the truth; or the posterior."""
        return "scores" if self.by_order > self.by_chance and self.lost < _MOST_LOST else "posterior"


def hidden_share(problem: Problem, point: Point) -> float:
    """Return how much of the variance of the truths is left once the votes on them are known.

    Where that is most of it, as with one noisy vote a pair, the curvature of a row is a small difference of large
    numbers, often negative, and what :func:`leave_one_out` makes of it is far too hopeful of large scores.
    """
    rows, posterior = problem.in_memory.rows, problem.posterior(point)
    chance = expit(point.scores[rows.first] - point.scores[rows.second])
    return float((posterior * (1.0 - posterior)).sum() / max(float((chance * (1.0 - chance)).sum()), 1e-300))


def leave_one_out(problem: Problem, point: Point) -> LooPrediction:
    """Predict the votes of each row from the rest.

    At the summit a row's pull ``q - σ(m)`` on its own margin and the others' hold on it are in balance. Without the
    row the margin would be smaller by pull times variance; that variance follows from the curvature.
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
    """Return the variance of each link's margin that comes from the effects, were the weights known."""
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
    """Return how much likelier votes are predicted than fitted, under either idea of the truth; what order loses."""
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
