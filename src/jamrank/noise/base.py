"""The protocol of a noise: how votes arise from latent truths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jamrank.typing import FloatArray

# How the flip of an annotator follows from a noise: it is a parameter, the mean of two sides, or not a parameter;
# then the share of votes against the scores is shown instead.
FlipKind = Literal["parameter", "mean of sides", "counted"]


class Noise(ABC):
    """How votes arise from the truth: nine required methods, then optional ones.

    A *confusion group* is a set of votes that distort the truth in the same way: an annotator, or an annotator within
    a cluster of pairs or on a side. Parameters are one vector on an unbounded scale, so that the EM loop may
    extrapolate them.
    """

    @abstractmethod
    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihood of a vote by confusion group, by whether it is for the first item, by the truth.

        ``log_emission(params)[group, said, truth]``: ``said`` is 1 for a vote for the first item of a row, ``truth``
        is 1 where the first item is truly better.
        """

    @abstractmethod
    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return the parameters that maximise the expected log-likelihood plus log prior: the M-step.

        ``expected_counts[group, said]`` is the expected number of votes of each kind cast where the first item is
        truly better; ``params`` is where the E-step was evaluated, None at the start of a fit. A noise without latent
        truths gets the sums of its own pass instead, and returns parameters that raise the objective.
        """

    @abstractmethod
    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the gradient of log-likelihood plus log prior, given the expected counts there."""

    @abstractmethod
    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return the share of the information on each parameter that is missing because truths are latent.

        ``truth_variance`` is the sum of ``q (1 - q)`` over the votes of each group, ``q`` the posterior of the truth.
        """

    @abstractmethod
    def log_prior(self, params: FloatArray) -> float:
        """Return the log prior density of the parameters, up to a constant."""

    @abstractmethod
    def rates(self, params: FloatArray) -> FloatArray:
        """Return the parameters on their natural scale, on which convergence is judged."""

    @abstractmethod
    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters for a random start."""

    @abstractmethod
    def orientation(self, params: FloatArray) -> float:
        """Return a negative number if the votes as a whole point the wrong way."""

    @abstractmethod
    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the parameters with the same likelihood when every score is negated."""

    def estimated_prior(
        self, params: FloatArray, expected_counts: FloatArray, truth_variance: FloatArray
    ) -> dict[str, float]:
        """Return parameters of the prior, as in :class:`jamrank.Prior`, that the annotators' parameters suggest."""
        return {}

    # -- what it can do ---------------------------------------------------------------------------------------

    flip_kind: ClassVar[FlipKind] = "parameter"
    closed_form: ClassVar[bool] = False
    """Whether it has ``complete_information`` and ``loglik_jacobian``; without them gradients are differenced."""
    can_draw: ClassVar[bool] = True
    """Whether its posterior can be sampled: not if parameters share a scale with the scores."""
    integrable: ClassVar[bool] = False
    """Whether flips can be fitted with the scores integrated out: a :class:`jamrank.noise.Flip`."""
    eased: ClassVar[bool] = False
    """Whether flips depend on the ease of the pair, so that its rows need :class:`jamrank.rows.EasedPatterns`."""
    certain: ClassVar[bool] = False
    """Whether every vote reports the truth of its row, so that the log-likelihood of the scores is concave."""
    n_sums: int = 0
    """How many rows its expected counts have; 0 for one for each confusion group."""
    n_shared: int = 0
    """How many parameters, the last ones, all annotators share; of the others each annotator has as many."""
    sided: ClassVar[bool] = False
    """Whether an annotator has two confusion groups, by the side on which the first item is shown."""

    def vote_table(self, params: FloatArray) -> FloatArray:
        """Return :meth:`log_emission` of a vote of which nothing else is known."""
        return self.log_emission(params)

    def decided(self, params: FloatArray) -> tuple[Noise, FloatArray]:
        """Return the noise of the decided votes, and its parameters."""
        return self, params

    def annotator_flips(self, params: FloatArray, n_annotators: int) -> FloatArray:
        """Return the flip of each annotator."""
        return self.rates(params)[:n_annotators]

    def flip_information(self, information: FloatArray, n_annotators: int) -> FloatArray:
        """Return the information on the logit of each annotator's flip, given that on each parameter."""
        return information[:n_annotators]

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return other estimates for each annotator, by name."""
        return {}

    def shared_traits(self, params: FloatArray) -> dict[str, float]:
        """Return estimates that concern all annotators alike, by name."""
        return {}

    def warm_start(
        self, params: FloatArray, at: NDArray[np.intp], flip: FloatArray, traits: dict[str, FloatArray]
    ) -> FloatArray:
        """Return parameters to start from, given those of an earlier fit.

        Parameters
        ----------
        params : ndarray
            The usual start.
        at : ndarray of int
            For each annotator the index in the earlier fit; -1 for a new one.
        flip, traits
            Results of :meth:`annotator_flips` and :meth:`traits` there.
        """
        return params

    def rescaled(self, params: FloatArray, factor: float) -> tuple[FloatArray, float] | None:
        """Return parameters with which scores times a factor predict close votes alike, and the log Jacobian.

        None if there are none.
        """
        return None

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return parameters for a start: annotators err rarely (1), at random (0) or nearly always (-1).

        None if it has no parameters of its own for each annotator.
        """
        return None

    def unidentified_direction(self, params: FloatArray) -> FloatArray | None:
        """Return a direction of the parameters along which the likelihood does not change; None without one."""
        return None

    def complete_information(self, params: FloatArray) -> FloatArray:
        """Return the complete-data information on each parameter, prior included."""
        raise NotImplementedError

    def loglik_jacobian(self, params: FloatArray) -> csr_array:
        """Return the Jacobian of each kind of vote's log-odds of the truth in the parameters.

        A kind is twice the confusion group plus 1 for votes for the first item: shape (2 groups, parameters).
        """
        raise NotImplementedError
