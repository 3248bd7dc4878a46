"""Free item scores whose prior variance is estimated from the votes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from jamrank.engines import MemoryEngine
from jamrank.models.em import Fit, Point, Problem, run
from jamrank.noise import Noise
from jamrank.ranking.marginals import score_variances
from jamrank.scorers import ObjectScorer

__all__ = ["FixedNoise", "estimate_variance", "free_scores", "observed_curvature"]

Doubles = NDArray[np.float64]

_ROUNDS = 20
_CLOSE = 0.05
# Beyond a standard deviation of 4 log-odds a larger variance tells nothing about the order.
_SMALLEST, _LARGEST = 1e-3, 16.0
# In units of the scores' own spread: far below any standard error.
_SCORE_TOL = 2e-3


class FixedNoise:
    """A noise whose parameters are known and stay as they are."""

    def __init__(self, noise: Noise, params: Doubles) -> None:
        self.params = params
        self.tables, self.log_prior, self.rates = noise.tables, noise.log_prior, noise.rates
        self.random, self.goodwill, self.mirrored = noise.random, noise.goodwill, noise.mirrored

    def update(self, by_pattern: Doubles) -> Doubles:
        """Return the known parameters."""
        return self.params


def observed_curvature(engine: MemoryEngine, point: Point) -> Doubles:
    """Return the curvature in each row's margin that the votes support: the M-step's, less what is hidden."""
    q = point.at.posterior
    hidden = q * (1 - q)
    if len(engine.rows.weight):
        hidden = hidden * engine.rows.weight
    return point.at.curvature - hidden


def estimate_variance(
    problem: Callable[[float], Problem], theta: Doubles, params: Doubles, variance: float = 1.0
) -> tuple[float, Fit]:
    """Estimate the variance of free scores by MacKay's fixed point.

    The variance is the sum of squares of the fitted scores over the number of scores that the votes determine.

    Parameters
    ----------
    problem : callable
        Gives the problem to fit at a variance.
    theta, params : ndarray
        Where to start.
    variance : float
        First guess.

    Returns
    -------
    variance : float
    fit : Fit
        The last fit, not run to convergence.
    """
    for _ in range(_ROUNDS):
        fit = run(problem(variance), theta, params, max_iter=6, tol=0.05 * np.sqrt(variance))
        theta, params = fit.point.theta, fit.point.params
        engine = problem(variance).engine
        curvature = observed_curvature(engine, fit.point)
        rows = engine.rows
        left_open = score_variances(rows.first, rows.second, curvature, 1.0 / variance, rows.n_items)
        determined = float((1.0 - left_open / variance).sum())
        squares = float((theta**2).sum())
        updated = float(np.clip(squares / max(determined, 1e-9), _SMALLEST, _LARGEST))
        close = abs(np.log(updated / variance)) < _CLOSE
        variance = updated
        if close:
            break
    return variance, fit


def free_scores(
    engine: MemoryEngine, noise: Noise, params: Doubles, centre: Doubles, variance: float | None
) -> tuple[float, Fit]:
    """Fit a free score for each item, drawn towards ``centre``, with the noise as it is known.

    Returns
    -------
    variance : float
        Of the scores around ``centre``; estimated unless given.
    fit : Fit
        Its ``point.scores`` are the scores.
    """
    fixed = FixedNoise(noise, params)

    def problem(variance: float) -> Problem:
        return Problem(engine, ObjectScorer(len(centre), variance, centre), fixed)

    theta = np.zeros(len(centre))
    if variance is None:
        variance, fit = estimate_variance(problem, theta, params)
        theta = fit.point.theta
    tol = _SCORE_TOL * float(np.sqrt(variance))
    return variance, run(problem(variance), theta, params, max_iter=200, tol=tol)
