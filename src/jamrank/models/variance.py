"""Free item scores whose prior variance is estimated from the votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jamrank.engines import Engine
from jamrank.models.em import Ascent, Fit, Point, Problem, run, typical
from jamrank.models.secants import Secants
from jamrank.noise import Noise
from jamrank.ranking.marginals import is_dense, score_variances
from jamrank.scorers import ObjectScorer

__all__ = ["FixedNoise", "estimate_variance", "free_scores"]

Doubles = NDArray[np.float64]

_ROUNDS = 30
_STEPS = 2
# Good enough: a variance within 2 %, and scores that move by as much of their spread.
_CLOSE, _SETTLED = 0.02, 0.02
# Beyond a standard deviation of 3 log-odds a larger variance tells nothing about the order.
_SMALLEST, _LARGEST = 1e-3, 9.0
# Two imagined items of variance 1: with a handful of votes the estimate would collapse to nothing.
_IMAGINED_ITEMS = 2.0
# How far scores may be from their limit, on average and in units of the smallest standard error of any.
_SCORE_TOL = 0.05


class FixedNoise:
    """A noise that is known: it has no parameters."""

    def __init__(self, noise: Noise, params: Doubles) -> None:
        self._tables, self._rates = noise.tables(params), noise.rates(params)

    def tables(self, params: Doubles) -> Doubles:
        """Return the known likelihoods."""
        return self._tables

    def update(self, truly_first: Doubles, params: Doubles | None = None) -> Doubles:
        """Return no parameters."""
        return np.empty(0)

    def slope(self, params: Doubles, truly_first: Doubles) -> Doubles:
        """Return no parameters."""
        return params

    def missing(self, params: Doubles, hidden: Doubles) -> Doubles:
        """Return no parameters."""
        return params

    def log_prior(self, params: Doubles) -> float:
        """Return zero."""
        return 0.0

    def rates(self, params: Doubles) -> Doubles:
        """Return the known rates."""
        return self._rates

    def random(self, rng: np.random.Generator) -> Doubles:
        """Return no parameters."""
        return np.empty(0)

    def goodwill(self, params: Doubles) -> float:
        """Return good will: what is known is not in question."""
        return 1.0

    def mirrored(self, params: Doubles) -> Doubles:
        """Return no parameters."""
        return params


def estimate_variance(
    problem: Callable[[float], Problem], point: Point, variance: float = 3.0
) -> tuple[float, Point]:
    """Estimate the variance of free scores by MacKay's fixed point.

    The variance is the sum of squares of the fitted scores over the number of scores that the votes determine, with
    two imagined items of variance 1, which keep it from collapsing where votes are very few. It is updated as the
    fit goes along, every few steps.

    Parameters
    ----------
    problem : callable
        Gives the problem to fit at a variance.
    point : Point
        Where to start.
    variance : float
        First guess.

    Returns
    -------
    variance : float
    point : Point
        Near the fit at that variance.
    """
    ascent = Ascent(problem(variance), point)
    for _ in range(_ROUNDS):
        began = ascent.point
        for _ in range(_STEPS):
            ascent.aim()
            if not ascent.move():
                break
        point = ascent.point
        settled = ascent.problem.distance(began, point.theta, point.params) <= _SETTLED * np.sqrt(variance)
        updated = _mackay(ascent.problem, point, variance)
        close = abs(np.log(updated / variance)) < _CLOSE
        variance = updated
        if close and (settled or variance == _LARGEST):
            break
        ascent.turn_to(problem(variance))
    return variance, point


def _mackay(problem: Problem, point: Point, variance: float) -> float:
    engine, at = problem.engine, point.at
    links = None if is_dense(engine.n_links, engine.n_items) else engine.links(at.curvature)
    left_open = score_variances(at.degree, 1.0 / variance, links)
    determined = float((1.0 - left_open / variance).sum())
    squares = float((point.theta**2).sum())
    updated = (squares + _IMAGINED_ITEMS) / (max(determined, 0.0) + _IMAGINED_ITEMS)
    return float(np.clip(updated, _SMALLEST, _LARGEST))


def free_scores(engine: Engine, noise: Noise, near: Point, variance: float | None) -> tuple[float, Fit]:
    """Fit a free score for each item, drawn towards the scores of a fit, with the noise as it found it.

    Parameters
    ----------
    near : Point
        Where that fit ended.
    variance : float, optional
        Of the scores around those of the fit; estimated unless given.

    Returns
    -------
    variance : float
    fit : Fit
        Its ``point.scores`` are the scores.
    """
    centre, fixed = near.scores, FixedNoise(noise, near.params)

    def problem(variance: float) -> Problem:
        return Problem(engine, ObjectScorer(len(centre), variance, centre), fixed, size=typical)

    point = replace(near, theta=np.zeros(len(centre)), params=np.empty(0), secants=Secants())
    if variance is None:
        variance, point = estimate_variance(problem, point)
    standard_errors = 1.0 / np.sqrt(point.at.degree + 1.0 / variance)
    tol = _SCORE_TOL * float(standard_errors.min())
    final = problem(variance)
    fit = run(final, final.reassess(point), max_iter=200, tol=tol)
    return variance, replace(fit, point=replace(fit.point, params=near.params))
