"""L-BFGS with the EM step as initial direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.kernels import kernels
from jamrank.typing import FloatArray

_MOST = 10
# A step along which the gradient hardly changes has no information on the curvature.
_LEAST_COSINE = 1e-8


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the scalar product without BLAS, whose last bit may depend on the number of threads."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Secant:
    """A step, and by how much the gradient and the EM step fell along it."""

    step: FloatArray
    gradient_drop: FloatArray
    em_drop: FloatArray


@dataclass(frozen=True)
class Secants:
    """The latest steps, oldest first.

    The EM step is the gradient times a positive definite matrix, about the inverse of the complete-data information.
    It replaces the scaled identity of plain L-BFGS. Its product with other vectors follows from the EM steps at both
    ends of past steps.
    """

    kept: tuple[Secant, ...] = ()

    def with_step(self, step: FloatArray, gradient_drop: FloatArray, em_drop: FloatArray) -> Secants:
        """Return these and one more; the oldest is dropped."""
        least = _LEAST_COSINE * np.sqrt(dot(step, step) * dot(gradient_drop, gradient_drop))
        if not (dot(step, gradient_drop) > least and dot(gradient_drop, em_drop) > 0):
            return self
        return Secants((*self.kept, Secant(step, gradient_drop, em_drop))[-_MOST:])

    def lbfgs_direction(self, gradient: FloatArray, em_step: FloatArray) -> FloatArray:
        """Return the L-BFGS step for a gradient and its EM step."""
        if not self.kept:
            return em_step
        direction = em_step.copy()
        steps, drops, em_drops = zip(*((own.step, own.gradient_drop, own.em_drop) for own in self.kept), strict=True)
        kernels.lbfgs_direction(list(steps), list(drops), list(em_drops), gradient, direction)
        return direction
