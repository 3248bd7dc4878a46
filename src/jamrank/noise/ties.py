"""Ties as an outcome, added to any noise of the decided votes: Davidson's, with a threshold for each annotator."""

from __future__ import annotations

import numpy as np

from jamrank.noise.base import Noise
from jamrank.noise.wrapped import WrappedNoise
from jamrank.typing import FloatArray


class Tied(WrappedNoise):
    """An annotator calls a tie with odds ``ν / cosh(m / 2)``, and otherwise votes as the noise has it.

    Whether a vote is a tie depends on the margin and not on the truth, so the log-likelihood is that of the decided
    votes plus one of ties. Further parameters are the logarithms of the thresholds ``ν``. Passes must run in a
    :class:`jamrank.engines.TiedEngine`.

    Parameters
    ----------
    noise : Noise
        Of the decided votes.
    n_confusion_groups : int
        Number of their confusion groups.
    vote_counts : ndarray of shape (annotators, 2)
        Votes of each annotator, or of all together, that are decided, and that are ties.
    variance : float, optional
        Prior variance of a logarithm around the mean of all; None for plain maximum likelihood.
    shared : bool
        Whether there is one threshold for all annotators.
    """

    def __init__(
        self,
        noise: Noise,
        n_confusion_groups: int,
        vote_counts: FloatArray,
        variance: float | None,
        shared: bool = False,
    ) -> None:
        super().__init__(
            noise, n_confusion_groups, (1, len(vote_counts)), 0.0 if variance is None else 1.0 / variance
        )
        self.vote_counts, self.n_shared = vote_counts, noise.n_shared + (1 if shared else 0)

    def initial(self) -> FloatArray:
        """Return the thresholds of equal items, with half a tie and half a decided vote added for each."""
        decided, tied = self.vote_counts.T
        return np.asarray(np.log(tied + 0.5) - np.log(decided + 0.5))

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the rates of the noise, then each annotator's probability of a tie between equal items."""
        own, logs = self.split(params)
        return np.concatenate([self.noise.rates(own), 1.0 / (1.0 + np.exp(-logs[0]))])

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the sign-flipped parameters of the noise; ties have no side."""
        own, logs = self.split(params)
        return self.join(self.noise.sign_flipped(own), logs[0])

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return the thresholds for ties, and the traits of the noise of the decided votes."""
        own, logs = self.split(params)
        return {**self.noise.traits(own), "tie": np.exp(logs[0])}
