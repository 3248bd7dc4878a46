"""The protocol of a noise: how votes arise from latent truths."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from scipy.sparse import csr_array

from jamrank.typing import FloatArray

__all__ = ["HasInformation", "Noise"]


class Noise(Protocol):
    """How votes arise from the truth.

    A *confusion group* is a set of votes that distort the truth in the same way: an annotator, or an annotator within
    a cluster of pairs or on a side. Parameters are one vector on an unbounded scale, so that the EM loop may
    extrapolate them.
    """

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihood of a vote by confusion group, by whether it is for the first item, by the truth.

        ``log_emission(params)[group, said, truth]``: ``said`` is 1 for a vote for the first item of a row, ``truth``
        is 1 where the first item is truly better.
        """
        ...

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return the parameters that maximise the expected log-likelihood plus log prior: the M-step.

        ``expected_counts[group, said]`` is the expected number of votes of each kind cast where the first item is
        truly better; ``params`` is where the E-step was evaluated, None at the start of a fit. A noise without latent
        truths gets the sums of its own pass instead, and returns parameters that raise the objective.
        """
        ...

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the gradient of log-likelihood plus log prior, given the expected counts there."""
        ...

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return the share of the information on each parameter that is missing because truths are latent.

        ``truth_variance`` is the sum of ``q (1 - q)`` over the votes of each group, ``q`` the posterior of the truth.
        """
        ...

    def log_prior(self, params: FloatArray) -> float:
        """Return the log prior density of the parameters, up to a constant."""
        ...

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the parameters on their natural scale, on which convergence is judged."""
        ...

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters for a random start."""
        ...

    def orientation(self, params: FloatArray) -> float:
        """Return a number below zero where the votes as a whole point the wrong way: the sign to settle."""
        ...

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the parameters with the same likelihood when every score is negated."""
        ...


@runtime_checkable
class HasInformation(Protocol):
    """A noise with closed-form information on its parameters; without it, differences of the gradient are used."""

    def complete_information(self, params: FloatArray) -> FloatArray:
        """Return the complete-data information on each parameter, prior included."""
        ...

    def loglik_jacobian(self, params: FloatArray) -> csr_array:
        """Return the Jacobian of each kind of vote's log-odds of the truth in the parameters.

        A kind is twice the confusion group plus 1 for votes for the first item: shape (2 groups, parameters).
        """
        ...
