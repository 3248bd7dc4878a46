"""The protocol of a scorer: ``scores = offset + Φ θ``, with a Gaussian prior on ``θ``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from jamrank.typing import FloatArray

__all__ = ["Scorer"]


class Scorer(Protocol):
    """Scores that are linear in their parameters."""

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

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return an approximate inverse of the curvature, from its diagonal over items."""
        ...
