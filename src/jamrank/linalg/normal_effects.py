"""Normal likelihoods of vectors, with normal effects integrated out or drawn; stacks of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jamrank.typing import FloatArray


@dataclass(frozen=True)
class Normal:
    """Stacked likelihoods ``exp(shift x - x precision x / 2)``, and the logarithm of a factor of each.

    Where there are several shifts to one precision, they are columns: all arrays but the precision have one more
    axis, the last.
    """

    precision: FloatArray
    shift: FloatArray
    log_factor: FloatArray

    def __getitem__(self, at: Any) -> Normal:
        return Normal(self.precision[at], self.shift[at], self.log_factor[at])

    def __add__(self, other: Normal) -> Normal:
        return Normal(self.precision + other.precision, self.shift + other.shift, self.log_factor + other.log_factor)

    def __sub__(self, other: Normal) -> Normal:
        return Normal(self.precision - other.precision, self.shift - other.shift, self.log_factor - other.log_factor)

    def sum(self, axis: int) -> Normal:
        """Return the product of the likelihoods along an axis."""
        return Normal(self.precision.sum(axis=axis), self.shift.sum(axis=axis), self.log_factor.sum(axis=axis))

    def put(self, at: Any, value: Normal) -> None:
        """Replace some in place."""
        for mine, other in zip(vars(self).values(), vars(value).values(), strict=True):
            mine[at] = other

    def signed(self, sign: FloatArray) -> Normal:
        """Return the likelihoods of the vectors times signs."""
        return Normal(self.precision, sign[..., None] * self.shift, self.log_factor)

    def columns(self) -> Normal:
        """Return the same with a single column of shifts."""
        return Normal(self.precision, self.shift[..., None], self.log_factor[..., None])

    def about(self, centre: FloatArray) -> Normal:
        """Return the likelihoods of what is added to a centre."""
        at = np.broadcast_to(centre, self.shift.shape)[..., None]
        return Normal(self.precision, self.shift - (self.precision @ at)[..., 0], self.log_factor)


def absorb_columns(below: Normal, sd: FloatArray) -> Normal:
    """Integrate out normal effects; one standard deviation for each of the stack. Shifts are columns."""
    variance = np.asarray(sd)[..., None, None] ** 2
    matrix = _plus_identity(variance * below.precision)
    inverse: FloatArray = np.asarray(np.linalg.inv(matrix), np.float64)
    moved = inverse @ below.shift
    # (I + v P)⁻¹ P = (I - (I + v P)⁻¹) / v
    left = np.where(variance > 0, _plus_identity(-inverse) / np.where(variance > 0, variance, 1.0), below.precision)
    gained = 0.5 * variance[..., 0] * (below.shift * moved).sum(axis=-2) - _half_log_det(matrix)[..., None]
    return Normal(left, moved, below.log_factor + gained)


def absorb(below: Normal, sd: FloatArray) -> Normal:
    """Integrate out normal effects; one standard deviation for each of the stack."""
    found = absorb_columns(below.columns(), sd)
    return Normal(found.precision, found.shift[..., 0], found.log_factor[..., 0])


def evidence_columns(below: Normal, sd: FloatArray) -> FloatArray:
    """Return the logarithm of what is left when all is integrated out, for each column of shifts."""
    variance = np.asarray(sd)[..., None, None] ** 2
    matrix = _plus_identity(variance * below.precision)
    moved = np.linalg.solve(matrix, below.shift)
    gained = 0.5 * variance[..., 0] * (below.shift * moved).sum(axis=-2)
    return np.asarray(below.log_factor + gained - _half_log_det(matrix)[..., None])


def evidence(below: Normal, sd: FloatArray) -> FloatArray:
    """Return the logarithm of what is left when all is integrated out."""
    return evidence_columns(below.columns(), sd)[..., 0]


def draw_effect(below: Normal, sd: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw normal effects with one standard deviation for each of the stack, given their likelihoods."""
    spread = np.broadcast_to(sd, below.log_factor.shape)[..., None, None]
    matrix = _plus_identity(spread**2 * below.precision)
    lower = np.linalg.cholesky(matrix)
    noise = rng.standard_normal((*below.shift.shape, 1))
    # lower noise has the covariance of the matrix, and its solution that of the inverse.
    return np.asarray(spread * np.linalg.solve(matrix, spread * below.shift[..., None] + lower @ noise))[..., 0]


def _plus_identity(matrix: FloatArray) -> FloatArray:
    at = np.arange(matrix.shape[-1])
    matrix[..., at, at] += 1.0
    return matrix


def _half_log_det(matrix: FloatArray) -> FloatArray:
    at = np.arange(matrix.shape[-1])
    return np.asarray(np.log(np.linalg.cholesky(matrix)[..., at, at]).sum(axis=-1))
