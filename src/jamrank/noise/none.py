"""No noise: a vote is the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.rows import Rows

__all__ = ["NoNoise"]

Doubles = NDArray[np.float64]


class NoNoise:
    """Every vote reports the truth of its own row, so rows must be single votes."""

    def __init__(self, rows: Rows) -> None:
        first_won = rows.patterns.first_won
        if len(first_won) != len(rows.patterns):
            raise ValueError("without noise a row is one vote: use Rows.per_vote")
        self._tables = np.where(first_won, 0.0, -np.inf), np.where(first_won, -np.inf, 0.0)

    def tables(self, params: Doubles) -> tuple[Doubles, Doubles]:
        """Return certainty: the vote says which item is better."""
        return self._tables

    def update(self, by_pattern: Doubles) -> Doubles:
        """Return no parameters."""
        return np.empty(0)

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
