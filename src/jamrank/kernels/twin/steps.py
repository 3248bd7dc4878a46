"""Numpy twins of what finds the direction of a step."""

from __future__ import annotations

import numpy as np

from jamrank.kernels.twin.passes import laplacian
from jamrank.typing import Float32Array, FloatArray, Int32Array, IntArray


def lbfgs_direction(
    steps: list[FloatArray],
    gradient_drops: list[FloatArray],
    em_drops: list[FloatArray],
    gradient: FloatArray,
    direction: FloatArray,
) -> None:
    """Turn the EM step, which ``direction`` is at first, into the L-BFGS step.

    steps, gradient_drops, em_drops: The latest steps, oldest first, and how far gradient and EM step fell in each.
    """
    shares, curvatures = [], [float(np.einsum("i,i->", *pair)) for pair in zip(steps, gradient_drops, strict=True)]
    for step, drop, em_drop, curvature in reversed(
        list(zip(steps, gradient_drops, em_drops, curvatures, strict=True))
    ):
        share = float(np.einsum("i,i->", step, gradient)) / curvature
        gradient = gradient - share * drop
        direction -= share * em_drop
        shares.append(share)
    for step, drop, share, curvature in zip(steps, gradient_drops, reversed(shares), curvatures, strict=True):
        direction += (share - float(np.einsum("i,i->", drop, direction)) / curvature) * step


def solve_laplacian(
    start: IntArray,
    second: Int32Array,
    curvature: Float32Array,
    target: FloatArray,
    diagonal: FloatArray,
    inverse: FloatArray,
    share: FloatArray,
    held: float,
    tolerance: float,
    max_iter: int,
    solution: FloatArray,
    threads: int,
) -> None:
    """Solve for a step by conjugate gradients: the curvature matrix plus a diagonal, times the step, is the target.

    inverse, share, held: The preconditioner is a diagonal and an outer product, divided by a number.
    tolerance: By how much the residual must fall.
    """

    def precondition(vector: FloatArray) -> FloatArray:
        return np.asarray(inverse * vector + share * (float((share * vector).sum()) / held))

    residual = target.copy()
    direction = precondition(residual)
    rho = float((residual * direction).sum())
    enough, product = tolerance**2 * rho, np.empty(len(target))
    solution[:] = 0.0
    for _ in range(max_iter):
        if rho <= enough:
            return
        laplacian(start, second, curvature, direction, product, threads)
        product += diagonal * direction
        bend = float((direction * product).sum())
        if bend <= 0:
            return
        solution += rho / bend * direction
        residual -= rho / bend * product
        z = precondition(residual)
        rho, before = float((residual * z).sum()), rho
        direction = z + rho / before * direction
