"""L-BFGS with the EM step as initial direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

    @property
    def curvature(self) -> float:
        """The curvature along the step."""
        return dot(self.step, self.gradient_drop)


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
        new = Secant(step, gradient_drop, em_drop)
        least = _LEAST_COSINE * np.sqrt(dot(step, step) * dot(gradient_drop, gradient_drop))
        if not (new.curvature > least and dot(gradient_drop, em_drop) > 0):
            return self
        return Secants((*self.kept, new)[-_MOST:])

    def lbfgs_direction(self, gradient: FloatArray, em_step: FloatArray) -> FloatArray:
        """Return the L-BFGS step for a gradient and its EM step."""
        shares = []
        for secant in reversed(self.kept):
            share = dot(secant.step, gradient) / secant.curvature
            gradient, em_step = gradient - share * secant.gradient_drop, em_step - share * secant.em_drop
            shares.append(share)
        for secant, share in zip(self.kept, reversed(shares), strict=True):
            em_step = em_step + (share - dot(secant.gradient_drop, em_step) / secant.curvature) * secant.step
        return em_step
