"""Fits of many rows over so many pairs of items that a step needs no products with the curvature.

Where each item meets many others at random, the curvature matrix of the scores is nearly its diagonal and a common
level, which can be inverted at once. Two more things save passes. The diagonal is that of the observed information: the
curvature of :class:`jamrank.engines.Expectation` leaves out rows that contradict the rest, which makes steps of extreme
scores several times too short. And the prior variance is updated with every step, without giving up what earlier
steps have shown of the curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from jamrank.engines.base import ObservedExpectation
from jamrank.fitting.em import Fit, Optimizer, Point, Problem, run
from jamrank.fitting.newton import LONGEST_STEP, gradient
from jamrank.fitting.prior_variances import Variances, mackay
from jamrank.linalg.marginals import is_dense
from jamrank.typing import FloatArray

# With fewer rows a fit is quick anyway.
MANY_ROWS = 1_000_000
# Flips start at one in three: a start at smaller ones takes much longer, since scores and flips grow together.
_FIRST_LOGIT = float(np.log(0.5))
# Differences of scores within links vary at least so much as random ones: items do not only meet similar ones.
_WELL_MIXED = 0.8
# The diagonal keeps at least this share of the curvature that is never negative.
_LEAST_OBSERVED = 0.1
# Steps before the prior variance is updated, and at most; relative change at which it has settled.
_FIRST, _MOST, _SETTLED = 2, 40, 1e-5


@dataclass(frozen=True)
class DenseProblem(Problem):
    """A problem whose steps use only the diagonal of the observed information on the scores."""

    def evaluate(self, theta: FloatArray, params: FloatArray) -> Point:
        """Run the E-step at the given parameters."""
        scores = self.scorer.scores(theta)
        at = self.engine.observed_expectation(scores, self.noise.log_emission(params))
        objective = at.value + self._log_prior(theta, params)
        return Point(theta, params, scores, self.noise.rates(params), at, objective)

    def step(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Return the parameters after one M-step."""
        at = cast(ObservedExpectation, point.expectation)
        own = np.maximum(at.observed, _LEAST_OBSERVED * at.degree)
        step = self.scorer.preconditioner(own)(gradient(self.scorer, at, point.theta))
        params = self.noise.update(at.expected_counts, point.params)
        return point.theta + self.scorer.clip_step(step, LONGEST_STEP), params


Make = Callable[[Variances], Problem]


def fit_dense(
    make: Make,
    variances: Variances,
    *,
    estimate: bool,
    max_iter: int,
    tol: float,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
) -> tuple[Variances, Fit] | None:
    """Fit scores and flips and, where wanted, the prior variance of the scores; None where the votes do not suit.

    make: Returns the problem at given variances.
    variances: The first guess, or what is given.
    estimate: Whether to estimate them, as in :func:`jamrank.fitting.prior_variances.estimate_variances`.
    max_iter, tol, progress: As in :func:`jamrank.fitting.em.run`.
    """
    problem = _dense(make(variances))
    point = _start(problem)
    if point is None:
        return None
    optimizer = Optimizer(problem, point)
    for step in range(_MOST):
        optimizer.aim()
        moved = optimizer.move()
        if step < _FIRST:
            # The first steps are so long that the gradients at their ends say nothing of the curvature further on.
            optimizer.forget()
            continue
        updated = mackay(optimizer.problem, optimizer.point, variances, [True]) if estimate else variances
        (old,), (new,) = variances, updated
        settled = old == new or (old and new and abs(np.log(new / old)) <= _SETTLED)
        variances = updated
        optimizer.set_problem(_dense(make(variances)))
        if settled or not moved:
            break
    begun = optimizer.point
    return variances, run(
        optimizer.problem, begun, max_iter=max_iter, tol=tol, progress=progress, optimizer=optimizer
    )


def _dense(problem: Problem) -> DenseProblem:
    return DenseProblem(problem.engine, problem.scorer, problem.noise, problem.loss, problem.size)


def _start(problem: DenseProblem) -> Point | None:
    """Return the point of equal scores and of equal flips; None where steps need more than a diagonal."""
    engine, noise = problem.engine, problem.noise
    if not (noise.integrable and engine.has_observed and engine.n_rows >= MANY_ROWS):
        return None
    if problem.loss != "logistic" or not is_dense(engine.n_links, engine.n_items):
        return None
    theta = np.zeros(problem.scorer.n_params)
    point = problem.evaluate(theta, np.full(engine.n_confusion_groups, _FIRST_LOGIT))
    at = cast(ObservedExpectation, point.expectation)
    return point if engine.mixing(problem.step(point)[0], at.observed) >= _WELL_MIXED else None
