"""The protocol of a scorer: ``scores = offset + Φ θ``, with a Gaussian prior on ``θ``."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from jamrank.typing import FloatArray


class Scorer(Protocol):
    """Scores that are linear in their parameters."""

    free: ClassVar[bool]
    """Whether every item has its own parameter and there are no others."""
    level_matters: ClassVar[bool]
    """Whether a common shift of all scores changes the likelihood or prior: not if every item has a free score."""

    n_params: int
    precision: FloatArray
    """Prior precision of each parameter; zeros for plain maximum likelihood."""

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the score of every item."""
        ...

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return ``Φ`` times a direction of the parameters: the change of every item's score."""
        ...

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return a step of the parameters that changes no score by more than ``longest``."""
        ...

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return ``Φᵀ`` times a vector over items: a gradient by item becomes one by parameter."""
        ...

    def blocks(self) -> list[slice]:
        """Return the parameters that share a prior variance."""
        ...

    def design(self) -> FloatArray | None:
        """Return the features by item and weight; None if there are no weights of features."""
        ...

    def effects(self) -> tuple[FloatArray, slice] | None:
        """Return the prior precision of the free effects of the items and their indices; None if there are none."""
        ...

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return parameters to start from, given scores and weights of an earlier fit.

        Parameters
        ----------
        theta : ndarray
            The usual start.
        scores, feature_scores : ndarray
            Of the items of this fit; NaN for those not in the earlier fit. None without features there.
        weights : ndarray or None
            Of the standardised features; None if the earlier fit had other features.
        """
        ...

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return an approximate inverse of the curvature, from its diagonal over items."""
        ...
