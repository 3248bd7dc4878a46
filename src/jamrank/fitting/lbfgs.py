"""What past steps have taught of the curvature: L-BFGS whose first guess is the step of EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.typing import FloatArray

__all__ = ["Secants", "dot"]


_MOST = 10
# A step along which the slope hardly falls says nothing of the curvature.
_LEAST_COSINE = 1e-8


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the scalar product, by no BLAS: its last bit may depend on the number of threads."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Secant:
    """A step, how far the slope fell along it, and how far the plain step shrank: what that makes of the fall."""

    step: FloatArray
    fall: FloatArray
    shrunk: FloatArray

    @property
    def bend(self) -> float:
        """The curvature along the step."""
        return dot(self.step, self.fall)


@dataclass(frozen=True)
class Secants:
    """The latest steps, oldest first.

    The plain step of EM is the slope times a positive definite matrix: about the inverse of the information that
    there would be if the truths were known. It takes the place of the scaled identity with which L-BFGS begins. What
    it makes of another vector than the slope follows from the plain steps at both ends of past ones.
    """

    kept: tuple[Secant, ...] = ()

    def with_step(self, step: FloatArray, fall: FloatArray, shrunk: FloatArray) -> Secants:
        """Return these and one more; the oldest is forgotten."""
        new = Secant(step, fall, shrunk)
        least = _LEAST_COSINE * np.sqrt(dot(step, step) * dot(fall, fall))
        if not (new.bend > least and dot(fall, shrunk) > 0):
            return self
        return Secants((*self.kept, new)[-_MOST:])

    def lbfgs_direction(self, slope: FloatArray, plain: FloatArray) -> FloatArray:
        """Return a better step than the plain one, by what is known of the curvature."""
        shares = []
        for secant in reversed(self.kept):
            share = dot(secant.step, slope) / secant.bend
            slope, plain = slope - share * secant.fall, plain - share * secant.shrunk
            shares.append(share)
        for secant, share in zip(self.kept, reversed(shares), strict=True):
            plain = plain + (share - dot(secant.fall, plain) / secant.bend) * secant.step
        return plain
