"""What a noise says to the EM loop."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from scipy.sparse import csr_array

from jamrank.typing import FloatArray

__all__ = ["Measured", "Noise"]


class Noise(Protocol):
    """How votes arise from the truth.

    A *coin* is what decides how a vote distorts it: an annotator, or an annotator within a cluster or on a side.
    Parameters are one vector on an unbounded scale, so that the loop may extrapolate them.
    """

    def tables(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihood of a vote by coin, by whether it is for the first item, and by the truth.

        ``tables(params)[coin, said, truth]``: ``said`` is 1 for a vote for the first item of a row, ``truth`` is 1
        where the first item is truly better.
        """
        ...

    def update(self, truly_first: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return the best parameters for the votes as the E-step sees them.

        ``truly_first[coin, said]`` is how many of the votes of each kind were cast where the first item is truly
        better; ``params`` says where the E-step was, and is None where a fit begins. (A noise without hidden truths
        gets other sums, those of its own pass, and returns better parameters than these.)
        """
        ...

    def slope(self, params: FloatArray, truly_first: FloatArray) -> FloatArray:
        """Return the derivative of log-likelihood plus log prior, for the votes as the E-step sees them there."""
        ...

    def missing(self, params: FloatArray, hidden: FloatArray) -> FloatArray:
        """Return the share of the information on each parameter that is missing because truths are not known.

        ``hidden`` is the sum of ``q (1 - q)`` over the votes of each coin, ``q`` being the posterior of their truths.
        """
        ...

    def log_prior(self, params: FloatArray) -> float:
        """Return the log prior density of the parameters, up to a constant."""
        ...

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the parameters on the scale that people read, in which convergence is judged."""
        ...

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters for a random start."""
        ...

    def goodwill(self, params: FloatArray) -> float:
        """Return a number below zero where the votes as a whole point the wrong way."""
        ...

    def mirrored(self, params: FloatArray) -> FloatArray:
        """Return the parameters that say the same with every score negated."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A noise that can say how surely its parameters are known; without it they are taken as known."""

    def known(self, params: FloatArray) -> FloatArray:
        """Return the information on each parameter if the truths were known, prior included."""
        ...

    def leaning(self, params: FloatArray) -> csr_array:
        """Return how the log-odds of the truth that a vote of each kind gives change with each parameter.

        A kind is twice the coin plus 1 for votes for the first item: shape (2 coins, parameters).
        """
        ...
