"""Normal likelihoods of vectors, with normal effects integrated out or drawn; stacks of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jamrank.kernels import kernels
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
    """Integrate out normal effects, with the standard deviations of each of the stack. Shifts are columns.

    sd: For each of the stack one; or, with one more axis, several to try with each, and the result has one more axis.
    """
    precision, shift, variance = _stacked(below, sd, columns=1)
    n, width = shift.shape[-2:]
    left, moved = np.empty((*variance.shape, n, n)), np.empty((*variance.shape, n, width))
    gained = np.empty((*variance.shape, width))
    kernels.absorb_effects(
        precision.ravel(), shift.ravel(), variance.ravel(), left.ravel(), moved.ravel(), gained.ravel(), n
    )
    return Normal(left, moved, _each(below.log_factor, variance, 1) + gained)


def absorb(below: Normal, sd: FloatArray) -> Normal:
    """Integrate out normal effects; ``sd`` as in :func:`absorb_columns`."""
    found = absorb_columns(below.columns(), sd)
    return Normal(found.precision, found.shift[..., 0], found.log_factor[..., 0])


def evidence_columns(below: Normal, sd: FloatArray) -> FloatArray:
    """Return the logarithm of what is left when all is integrated out, for each column of shifts."""
    precision, shift, variance = _stacked(below, sd, columns=1)
    n, width = shift.shape[-2:]
    gained, none = np.empty((*variance.shape, width)), np.empty(0)
    kernels.absorb_effects(precision.ravel(), shift.ravel(), variance.ravel(), none, none, gained.ravel(), n)
    return np.asarray(_each(below.log_factor, variance, 1) + gained)


def evidence(below: Normal, sd: FloatArray) -> FloatArray:
    """Return the logarithm of what is left when all is integrated out."""
    return evidence_columns(below.columns(), sd)[..., 0]


def draw_effect(below: Normal, sd: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw normal effects with one standard deviation for each of the stack, given their likelihoods."""
    precision, shift, variance = _stacked(below, sd, columns=0)
    noise, drawn = rng.standard_normal(shift.shape), np.empty(shift.shape)
    kernels.draw_effects(
        precision.ravel(), shift.ravel(), variance.ravel(), noise.ravel(), drawn.ravel(), shift.shape[-1]
    )
    return drawn


def _stacked(below: Normal, sd: FloatArray, columns: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precisions and shifts of one stack, and variances, of which there may be several for each."""
    precision, shift, variance = below.precision, below.shift, np.square(sd)
    stack = shift.shape[: shift.ndim - 1 - columns]
    if precision.shape[:-2] != stack:
        precision = np.broadcast_to(precision, (*stack, *precision.shape[-2:]))
    if variance.shape[: len(stack)] != stack:
        variance = np.broadcast_to(variance, (*stack, *variance.shape[len(stack) :]))
    return np.ascontiguousarray(precision), np.ascontiguousarray(shift), np.ascontiguousarray(variance)


def _each(log_factor: FloatArray, variance: FloatArray, columns: int) -> FloatArray:
    """Return factors with one more axis where there are several variances for each."""
    return log_factor if variance.ndim + columns == log_factor.ndim else np.expand_dims(log_factor, -1 - columns)
