"""No scores: all items are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from jamrank.typing import FloatArray


class NoScorer:
    """Every item has a score of 0, so that the prior probability of each truth is 1/2.

    Parameters
    ----------
    n_items : int
        Number of items.
    """

    free: ClassVar[bool] = False
    level_matters: ClassVar[bool] = True

    def __init__(self, n_items: int) -> None:
        self.n_params = 0
        self.precision: FloatArray = np.empty(0)
        self._none = np.zeros(n_items)

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return zeros."""
        return self._none

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return zeros."""
        return self._none

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return the step, which is empty."""
        return step

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return no parameters."""
        return np.empty(0)

    def blocks(self) -> list[slice]:
        """Return one block, without parameters."""
        return [slice(0, 0)]

    def design(self) -> FloatArray:
        """Return features without a column."""
        return np.empty((len(self._none), 0))

    def effects(self) -> None:
        """Return None: items have no effects."""

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return no parameters."""
        return theta

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the identity."""
        return lambda vector: vector
