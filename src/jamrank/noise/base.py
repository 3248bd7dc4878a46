"""What a noise says to the EM loop."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Noise"]

Doubles = NDArray[np.float64]


class Noise(Protocol):
    """How votes arise from a row's truth.

    Parameters are one vector on an unbounded scale, so that the loop may extrapolate them.
    """

    def tables(self, params: Doubles) -> tuple[Doubles, Doubles]:
        """Return the log-likelihood of each pattern's votes if the first, or the second, item is truly better."""
        ...

    def update(self, by_pattern: Doubles) -> Doubles:
        """Return the best parameters when the first item is truly better in ``by_pattern`` rows of each pattern."""
        ...

    def log_prior(self, params: Doubles) -> float:
        """Return the log prior density of the parameters, up to a constant."""
        ...

    def rates(self, params: Doubles) -> Doubles:
        """Return the parameters on the scale that people read, in which convergence is judged."""
        ...

    def random(self, rng: np.random.Generator) -> Doubles:
        """Return parameters for a random start."""
        ...

    def goodwill(self, params: Doubles) -> float:
        """Return a number below zero where the votes as a whole point the wrong way."""
        ...

    def mirrored(self, params: Doubles) -> Doubles:
        """Return the parameters that say the same with every score negated."""
        ...
