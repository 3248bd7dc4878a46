"""Noises without parameters: votes that are the truth, and a noise that is known already."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from jamrank.noise.base import FlipKind, Noise
from jamrank.typing import FloatArray

# Log-likelihood of a vote that is the truth, by whether it is for the first item, and by the truth.
CERTAIN = [[0.0, -np.inf], [-np.inf, 0.0]]


class FixedNoise(Noise):
    """A noise without free parameters.

    log_emission: Log-likelihood of a vote, as :meth:`Noise.log_emission` returns it.
    rates: Known rates.
    """

    def __init__(self, log_emission: FloatArray, rates: FloatArray) -> None:
        self._log_emission, self._rates = log_emission, rates

    @classmethod
    def of(cls, noise: Noise, params: FloatArray) -> Self:
        """Return a noise fixed at some parameters."""
        return cls(noise.log_emission(params), noise.rates(params))

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the known log-likelihoods."""
        return self._log_emission

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return no parameters."""
        return np.empty(0)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params

    def log_prior(self, params: FloatArray) -> float:
        """Return zero."""
        return 0.0

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the known rates."""
        return self._rates

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return no parameters."""
        return np.empty(0)

    def orientation(self, params: FloatArray) -> float:
        """Return 1: the orientation is known."""
        return 1.0

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params


class NoNoise(FixedNoise):
    """Every vote reports the truth of its own row, so rows must be single votes."""

    flip_kind: ClassVar[FlipKind] = "counted"
    certain: ClassVar[bool] = True

    def __init__(self, n_confusion_groups: int) -> None:
        super().__init__(np.broadcast_to(np.array(CERTAIN), (n_confusion_groups, 2, 2)), np.empty(0))
