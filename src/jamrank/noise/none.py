"""No noise: a vote is the truth."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from jamrank.noise.base import FlipKind, Noise
from jamrank.typing import FloatArray

__all__ = ["NoNoise"]


class NoNoise(Noise):
    """Every vote reports the truth of its own row, so rows must be single votes.

    Parameters
    ----------
    n_coins : int
        Number of confusion groups.
    """

    flip_kind: ClassVar[FlipKind] = "counted"
    has_sandwich: ClassVar[bool] = True

    def __init__(self, n_confusion_groups: int) -> None:
        certain = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
        self._tables = np.broadcast_to(certain, (n_confusion_groups, 2, 2))

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return certainty: the vote says which item is better."""
        return self._tables

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
        """Return no parameters."""
        return params

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return no parameters."""
        return np.empty(0)

    def orientation(self, params: FloatArray) -> float:
        """Return good will: votes are the truth."""
        return 1.0

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params
