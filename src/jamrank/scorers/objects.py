"""A free score for each item."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from jamrank.typing import FloatArray

# If prior precision over degree is below this, the prior is lost in rounding, and the common level is not changed.
_HARDLY = 1e-9


class ObjectScorer:
    """Every item has its own score, normal around ``centre`` with a common variance.

    Parameters
    ----------
    n_items : int
        Number of items.
    variance : float, optional
        Prior variance; None for no prior.
    centre : ndarray, optional
        Prior mean of the scores; 0 by default.
    """

    free: ClassVar[bool] = True
    level_matters: ClassVar[bool] = False

    def __init__(self, n_items: int, variance: float | None, centre: FloatArray | None = None) -> None:
        self.n_params = n_items
        self.precision = np.full(n_items, 0.0 if variance is None else 1.0 / variance)
        self.centre = np.zeros(n_items) if centre is None else centre

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the scores."""
        return self.centre + theta

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return the direction itself."""
        return direction

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return the step with each score clipped separately, so that a diverging score does not slow the others."""
        return np.asarray(np.minimum(np.maximum(step, -longest), longest))

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return the vector itself."""
        return per_item

    def blocks(self) -> list[slice]:
        """Return one block."""
        return [slice(0, self.n_params)]

    def design(self) -> None:
        """Return None: there are no features."""

    def effects(self) -> tuple[FloatArray, slice]:
        """Return the precision of all parameters."""
        return self.precision, slice(0, self.n_params)

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return the earlier scores about their mean; new items start there."""
        known = np.isfinite(scores)
        return np.where(known, scores - (scores[known].mean() if known.any() else 0.0), 0.0)

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the inverse curvature of comparisons that spread evenly over the items; see :class:`LinearScorer`.

        Items without votes are not changed.
        """
        inverse, share, held = self.evened(degree)

        def solve(vector: FloatArray) -> FloatArray:
            return np.asarray(inverse * vector + share * (float((share * vector).sum()) / held))

        return solve if held < np.inf else lambda vector: inverse * vector

    def evened(self, degree: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return that inverse as a diagonal, and a vector whose outer product, divided by a number, is added."""
        diagonal = degree + self.precision
        if diagonal.min(initial=1.0) > 0:
            inverse = 1.0 / diagonal
        else:
            inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        # The term - d dᵀ / Σd: votes have no information on the common level.
        share = inverse * degree
        held = float((degree * (1.0 - share)).sum())
        return inverse, share, held if held > _HARDLY * float(degree.sum()) else np.inf
