"""What a scorer says to the EM loop: ``scores = offset + Φ θ``, with a Gaussian prior on ``θ``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scorer"]

Doubles = NDArray[np.float64]


class Scorer(Protocol):
    """Scores that are linear in their parameters."""

    n_params: int
    precision: Doubles
    """Prior precision of each parameter; zeros for plain maximum likelihood."""

    def scores(self, theta: Doubles) -> Doubles:
        """Return the score of every item."""
        ...

    def spread(self, direction: Doubles) -> Doubles:
        """Return ``Φ`` times a direction of the parameters: how every item's score moves."""
        ...

    def shortened(self, step: Doubles, longest: float) -> Doubles:
        """Return a step of the parameters that moves no score further than ``longest``."""
        ...

    def gather(self, per_item: Doubles) -> Doubles:
        """Return ``Φᵀ`` times a vector over items: a gradient by item becomes one by parameter."""
        ...

    def preconditioner(self, degree: Doubles) -> Callable[[Doubles], Doubles]:
        """Return an approximate inverse of the curvature, from its diagonal over items."""
        ...
