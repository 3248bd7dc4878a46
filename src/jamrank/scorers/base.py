"""The protocol of a scorer: ``scores = offset + Φ θ``, with a Gaussian prior on ``θ``."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from jamrank.typing import FloatArray

__all__ = ["Scorer"]


class Scorer(Protocol):
    """Scores that are linear in their parameters."""

    free: ClassVar[bool]
    """Whether every item has its own parameter and there are no others."""
    level_matters: ClassVar[bool]
    """Whether a common level of all scores changes anything: not where every item has a free score."""

    n_params: int
    precision: FloatArray
    """Prior precision of each parameter; zeros for plain maximum likelihood."""

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the score of every item."""
        ...

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return ``Φ`` times a direction of the parameters: how every item's score moves."""
        ...

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return a step of the parameters that moves no score further than ``longest``."""
        ...

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return ``Φᵀ`` times a vector over items: a gradient by item becomes one by parameter."""
        ...

    def blocks(self) -> list[slice]:
        """Return the parameters that share a prior variance."""
        ...

    def design(self) -> FloatArray | None:
        """Return the features by item and weight; None where no weight of a feature is among the parameters."""
        ...

    def effects(self) -> tuple[FloatArray, slice] | None:
        """Return the prior precision of the free effects of the items and their place; None without such."""
        ...

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return parameters to start from, given scores and weights of an earlier fit.

        Parameters
        ----------
        theta : ndarray
            Where the fit would start otherwise.
        scores, feature_scores : ndarray
            Of the items of this fit; NaN for those that the earlier fit did not know. None without features there.
        weights : ndarray or None
            Of the standardised features; None where the earlier fit had other ones.
        """
        ...

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return an approximate inverse of the curvature, from its diagonal over items."""
        ...
