"""Fits of many rows over so many pairs of items that a step needs no products with the curvature.

Where each item meets many others at random, the curvature matrix of the scores is nearly its diagonal and a common
level, which can be inverted at once. Two more things save passes. The diagonal is that of the observed information:
the curvature of :class:`jamrank.engines.Expectation` leaves out rows that contradict the rest, which makes steps of
extreme scores several times too short. And the prior variance is updated with every step, without giving up what
earlier steps have shown of the curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from jamrank.engines import Engine
from jamrank.engines.base import ObservedExpectation
from jamrank.fitting.em import Fit, Image, Optimizer, Point, Problem, run
from jamrank.fitting.newton import LONGEST_STEP, gradient
from jamrank.fitting.prior_variances import Variances, VarianceSecant, mackay
from jamrank.linalg.marginals import is_dense
from jamrank.typing import FloatArray

Make = Callable[[Variances], Problem]

# With fewer rows a fit is quick anyway.
MANY_ROWS = 10_000
# Flips start at one in three: a start at smaller ones takes much longer, since scores and flips grow together.
_FIRST_LOGIT = float(np.log(0.5))
# A step leaves at most this much of what the one before has left, or else items mainly meet similar ones.
_MOST_LEFT = 0.4
# The diagonal keeps at least this share of the curvature that is never negative.
_LEAST_OBSERVED = 0.1
# With more votes on a pair, scores are far apart and known from few pairs, where the diagonal says little.
_MOST_A_LINK = 3.0
# Steps before the prior variance is updated, and most with updates; relative change at which it has settled.
_FIRST, _MOST, _SETTLED = 3, 40, 1e-3


@dataclass(frozen=True)
class DenseProblem(Problem):
    """A problem whose steps use only the diagonal of the observed information on the scores."""

    def evaluate(self, theta: FloatArray, params: FloatArray, image: Image | None = None) -> Point:
        """Run the E-step at the given parameters."""
        scores, rates = image or self.image(theta, params)
        at = self.engine.observed_expectation(scores, self.noise.log_emission(params))
        objective = at.value + self._log_prior(theta, params)
        return Point(theta, params, scores, rates, at, objective)

    def step(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Return the parameters after one M-step."""
        at = cast(ObservedExpectation, point.expectation)
        own = np.maximum(at.observed, _LEAST_OBSERVED * at.degree)
        step = self.scorer.preconditioner(own)(gradient(self.scorer, at, point.theta))
        params = self.noise.update(at.expected_counts, point.params)
        return point.theta + self.scorer.clip_step(step, LONGEST_STEP), params


def fit_dense(
    make: Make,
    variances: Variances,
    max_iter: int,
    tol: float,
    *,
    estimate: bool,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
) -> tuple[Variances, Fit] | None:
    """Fit scores and flips and, where wanted, the prior variance of the scores; None where the votes do not suit.

    make: Returns the problem at given variances.
    variances: The first guess, or what is given.
    max_iter, tol, progress: As in :func:`jamrank.fitting.em.run`.
    estimate: Whether to estimate them, as :func:`jamrank.fitting.prior_variances.estimate_variances` does.
    """
    problem = _dense(make(variances))
    point = _start(problem) if _suits(problem) else None
    if point is None:
        return None
    optimizer = Optimizer(problem, point)
    for _ in range(_FIRST):
        optimizer.aim()
        optimizer.move()
        # These steps are so long that the gradients at their ends say nothing of the curvature further on.
        optimizer.forget()
    if estimate:
        variances = _settle(optimizer, make, variances)
    ended = run(
        optimizer.problem, optimizer.point, max_iter=max_iter, tol=tol, progress=progress, optimizer=optimizer
    )
    return variances, ended


def _settle(optimizer: Optimizer, make: Make, variances: Variances) -> Variances:
    """Take steps, and update the prior variance after each, until it has settled."""
    secant = VarianceSecant()
    for _ in range(_MOST):
        optimizer.aim()
        moved = optimizer.move()
        before, variances = variances, mackay(optimizer.problem, optimizer.point, variances, [True])
        variances = secant.ahead(before, variances)
        optimizer.set_problem(_dense(make(variances)))
        (old,), (new,) = before, variances
        if not moved or (old and new and max(optimizer.length, abs(np.log(new / old))) <= _SETTLED):
            break
    return variances


def _dense(problem: Problem) -> DenseProblem:
    return DenseProblem(problem.engine, problem.scorer, problem.noise, problem.loss, problem.size)


def _suits(problem: Problem) -> bool:
    """Tell whether there are many rows over many pairs, each with few votes, and one flip for each annotator."""
    engine = problem.engine
    if not (problem.noise.integrable and problem.loss == "logistic" and engine.has_observed):
        return False
    few_a_link = float(engine.vote_counts.sum()) <= _MOST_A_LINK * engine.n_links
    return engine.n_rows >= MANY_ROWS and few_a_link and is_dense(engine.n_links, engine.n_items)


def _start(problem: DenseProblem) -> Point | None:
    """Return the point of equal scores and of equal flips; None where items mainly meet similar ones."""
    engine, theta = problem.engine, np.zeros(problem.scorer.n_params)
    point = problem.evaluate(theta, np.full(engine.n_confusion_groups, _FIRST_LOGIT))
    weight = np.maximum(cast(ObservedExpectation, point.expectation).observed, 0.0)
    return point if _left_over(engine, problem.step(point)[0], weight) <= _MOST_LEFT else None


def _left_over(engine: Engine, step: FloatArray, weight: FloatArray) -> float:
    """Return how much of what a step along the diagonal leaves to do is left by another one.

    Where items meet others at random, their mean hardly varies. Where they meet similar ones, it is their own.
    """
    sizes = []
    for _ in range(3):
        step = step - float((weight * step).sum()) / float(weight.sum())
        sizes.append(float((weight * step**2).sum()))
        step = engine.mean_of_others(step, weight) if len(sizes) < 3 else step
    return float(np.sqrt(sizes[2] / sizes[1])) if sizes[1] > 0 else 0.0
