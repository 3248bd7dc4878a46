"""M-step of the scores: Newton steps for the logistic loss, scipy's L-BFGS for the hinge."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from jamrank.engines import Engine, Maximisation, MemoryEngine
from jamrank.fitting.lbfgs import dot
from jamrank.scorers import ObjectScorer, Scorer
from jamrank.typing import FloatArray

# Scores are log-odds: longer steps arise only from nearly separated votes, and could overflow.
LONGEST_STEP = 5.0
# Relative tolerance of a step (the next one corrects the rest); where steps converge quadratically, closer ones save
# passes. Most conjugate-gradient iterations.
STEP_TOLERANCE, CLOSE_STEP_TOLERANCE, _MOST_STEPS = 0.1, 0.03, 100


def gradient(scorer: Scorer, at: Maximisation, theta: FloatArray) -> FloatArray:
    """Return the gradient of the M-step's objective, prior included, in the parameters."""
    return scorer.adjoint(at.gradient) - scorer.precision * theta


def newton_step(engine: Engine, scorer: Scorer, at: Maximisation, theta: FloatArray) -> FloatArray:
    """Return the Newton step from ``theta`` without forming the curvature matrix."""
    return start_newton_step(engine, scorer, at, theta)()


def start_newton_step(
    engine: Engine, scorer: Scorer, at: Maximisation, theta: FloatArray, tolerance: float = STEP_TOLERANCE
) -> Callable[[], FloatArray]:
    """Start solving for a Newton step where the engine does that by itself; return what waits for the step."""

    def curvature_times(vector: FloatArray) -> FloatArray:
        pushed = engine.curvature_times(at.curvature, scorer.forward(vector))
        return scorer.adjoint(pushed) + scorer.precision * vector

    slope = gradient(scorer, at, theta)
    solution = None
    if scorer.free and engine.in_memory:
        solution = engine.start_solving(
            at.curvature,
            slope,
            scorer.precision,
            cast(ObjectScorer, scorer).evened(at.degree),
            tolerance,
            _MOST_STEPS,
        )

    def finish() -> FloatArray:
        if solution is not None:
            step = solution()
        else:
            step = conjugate_gradients(curvature_times, slope, scorer.preconditioner(at.degree), tolerance)
        return scorer.clip_step(step, LONGEST_STEP)

    return finish


def conjugate_gradients(
    times: Callable[[FloatArray], FloatArray],
    target: FloatArray,
    precondition: Callable[[FloatArray], FloatArray],
    tolerance: float,
    max_iter: int = _MOST_STEPS,
) -> FloatArray:
    """Solve ``A x = target`` for a positive semi-definite ``A`` given by its products.

    scipy's version uses BLAS, whose dot products may change in the last bit with the number of threads.
    """
    x, residual = np.zeros_like(target), target.copy()
    z = precondition(residual)
    direction, rho = z, dot(residual, z)
    enough = tolerance**2 * rho
    for _ in range(max_iter):
        if rho <= enough:
            break
        product = times(direction)
        curvature = dot(direction, product)
        if curvature <= 0:
            break
        alpha = rho / curvature
        x = x + alpha * direction
        residual = residual - alpha * product
        z = precondition(residual)
        rho, previous = dot(residual, z), rho
        direction = z + (rho / previous) * direction
    return x


def maximise_hinge(
    engine: MemoryEngine, scorer: Scorer, posterior: FloatArray, theta: FloatArray, max_iter: int = 50
) -> FloatArray:
    """Maximise the M-step under Rennie's smooth hinge, whose curvature jumps, by scipy's L-BFGS."""
    from scipy.optimize import minimize

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        at = engine.maximisation(scorer.scores(point), posterior, "hinge")
        penalty = 0.5 * float((scorer.precision * point**2).sum())
        return penalty - at.value, -gradient(scorer, at, point)

    found = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return np.asarray(found.x, dtype=np.float64)
