"""No noise: a vote is the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["NoNoise"]

Doubles = NDArray[np.float64]


class NoNoise:
    """Every vote reports the truth of its own row, so rows must be single votes.

    Parameters
    ----------
    n_coins : int
        How many coins the votes name.
    """

    def __init__(self, n_coins: int) -> None:
        certain = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
        self._tables = np.broadcast_to(certain, (n_coins, 2, 2))

    def tables(self, params: Doubles) -> Doubles:
        """Return certainty: the vote says which item is better."""
        return self._tables

    def update(self, truly_first: Doubles, params: Doubles | None = None) -> Doubles:
        """Return no parameters."""
        return np.empty(0)

    def slope(self, params: Doubles, truly_first: Doubles) -> Doubles:
        """Return no parameters."""
        return params

    def missing(self, params: Doubles, hidden: Doubles) -> Doubles:
        """Return no parameters."""
        return params

    def log_prior(self, params: Doubles) -> float:
        """Return zero."""
        return 0.0

    def rates(self, params: Doubles) -> Doubles:
        """Return no parameters."""
        return params

    def random(self, rng: np.random.Generator) -> Doubles:
        """Return no parameters."""
        return np.empty(0)

    def goodwill(self, params: Doubles) -> float:
        """Return good will: votes are the truth."""
        return 1.0

    def mirrored(self, params: Doubles) -> Doubles:
        """Return no parameters."""
        return params
