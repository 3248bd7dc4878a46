"""Steps of the M-step for the scores: Newton's for the logistic loss, L-BFGS for the hinge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from jamrank.engines import Maximisation, MemoryEngine
from jamrank.scorers import Scorer

__all__ = ["conjugate_gradients", "gradient", "maximise_hinge", "maximise_logistic", "newton_step"]

Doubles = NDArray[np.float64]

# Scores are log-odds: no honest step moves one further, and near-separated votes must not overflow.
_LONGEST_STEP = 20.0


def gradient(scorer: Scorer, at: Maximisation, theta: Doubles) -> Doubles:
    """Return the gradient of the M-step's objective, prior included, in the parameters."""
    return scorer.gather(at.gradient) - scorer.precision * theta


def newton_step(engine: MemoryEngine, scorer: Scorer, at: Maximisation, theta: Doubles) -> Doubles:
    """Return Newton's step from ``theta``, without ever forming the curvature matrix."""

    def curvature_times(vector: Doubles) -> Doubles:
        pushed = engine.curvature_times(at.curvature, scorer.spread(vector))
        return scorer.gather(pushed) + scorer.precision * vector

    slope = gradient(scorer, at, theta)
    step = conjugate_gradients(curvature_times, slope, scorer.preconditioner(at.degree))
    longest = float(np.abs(scorer.spread(step)).max(initial=0.0))
    return step if longest <= _LONGEST_STEP else step * (_LONGEST_STEP / longest)


def conjugate_gradients(
    times: Callable[[Doubles], Doubles],
    target: Doubles,
    precondition: Callable[[Doubles], Doubles],
    tolerance: float = 1e-2,
    max_iter: int = 100,
) -> Doubles:
    """Solve ``A x = target`` for a positive semi-definite ``A`` given by its products.

    scipy's would do, were it not for BLAS: its dot products may change in the last bit with the number of
    threads, and results must not.
    """
    x, residual = np.zeros_like(target), target.copy()
    z = precondition(residual)
    direction, rho = z, float((residual * z).sum())
    enough = tolerance**2 * rho
    for _ in range(max_iter):
        if rho <= enough:
            break
        product = times(direction)
        bend = float((direction * product).sum())
        if bend <= 0:
            break
        alpha = rho / bend
        x = x + alpha * direction
        residual = residual - alpha * product
        z = precondition(residual)
        rho, previous = float((residual * z).sum()), rho
        direction = z + (rho / previous) * direction
    return x


def _objective(scorer: Scorer, at: Maximisation, theta: Doubles) -> float:
    return at.value - 0.5 * float((scorer.precision * theta**2).sum())


def maximise_logistic(
    engine: MemoryEngine,
    scorer: Scorer,
    posterior: Doubles,
    theta: Doubles,
    tolerance: float = 1e-3,
    max_iter: int = 30,
) -> tuple[Doubles, Maximisation]:
    """Maximise the logistic M-step by Newton's method, with steps halved where they would not rise.

    Returns
    -------
    theta : ndarray
        Where no score moved by more than ``tolerance`` in the last step.
    at : Maximisation
        The pass there.
    """
    at = engine.maximisation(scorer.scores(theta), posterior)
    value = _objective(scorer, at, theta)
    for _ in range(max_iter):
        step = newton_step(engine, scorer, at, theta)
        moved = float(np.abs(scorer.spread(step)).max(initial=0.0))
        for _ in range(30):
            there = engine.maximisation(scorer.scores(theta + step), posterior)
            risen = _objective(scorer, there, theta + step)
            if risen >= value - 1e-12 * abs(value):
                break
            step = step / 2
        else:
            break
        theta, at, value = theta + step, there, risen
        if moved <= tolerance:
            break
    return theta, at


def maximise_hinge(
    engine: MemoryEngine, scorer: Scorer, posterior: Doubles, theta: Doubles, max_iter: int = 50
) -> Doubles:
    """Maximise the M-step under Rennie's smooth hinge, whose curvature jumps, by scipy's L-BFGS."""

    def loss(point: Doubles) -> tuple[float, Doubles]:
        at = engine.maximisation(scorer.scores(point), posterior, "hinge")
        return -_objective(scorer, at, point), -gradient(scorer, at, point)

    found = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return np.asarray(found.x, dtype=np.float64)
