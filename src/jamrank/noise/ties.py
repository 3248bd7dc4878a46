"""Ties as an outcome, added to any noise of the decided votes: Davidson's, with a threshold for each annotator."""

from __future__ import annotations

import numpy as np

from jamrank.noise.base import Noise
from jamrank.typing import FloatArray

__all__ = ["Tied"]


_LARGEST_LOG = 30.0


class Tied(Noise):
    """An annotator calls a tie with odds ``ν / cosh(m / 2)``, and otherwise votes as the noise has it.

    Whether a vote is a tie depends on the margin and not on the truth, so the log-likelihood is that of the decided
    votes plus one of ties. Parameters are those of the noise, then the logarithms of the thresholds, which are drawn
    towards their mean: normal around it. Passes must run in a :class:`jamrank.engines.TiedEngine`.

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
        self.noise, self.n_confusion_groups, self.vote_counts = noise, n_confusion_groups, vote_counts
        self._precision = 0.0 if variance is None else 1.0 / variance
        self.n_shared = 1 if shared else 0

    def split(self, params: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of the noise, and the logarithms of the thresholds."""
        at = len(params) - len(self.vote_counts)
        return params[:at], params[at:]

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the tables of the noise, flattened, then the logarithms of the thresholds."""
        own, logs = self.split(params)
        return np.concatenate([self.noise.log_emission(own).ravel(), logs])

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return updated parameters: for the thresholds a Newton step, short enough not to lower the objective."""
        if params is None:
            return np.concatenate([self.noise.update(expected_counts[: self.n_confusion_groups]), self._first()])
        own, logs = self.split(params)
        slope, information = self._slope(logs, expected_counts), expected_counts[self.n_confusion_groups :, 1]
        # The prior holds each to the mean of all: the inverse of its precision with the votes' has rank one more.
        held = information + self._precision
        give = np.divide(1.0, held, out=np.zeros_like(held), where=held > 0)
        step = give * slope
        free = float((give * information).sum())
        if self._precision > 0 and free > 0:
            step = step + give * (self._precision * float((give * slope).sum()) / free)
        length = float(np.abs(step).max(initial=0.0))
        step = step * (np.log1p(length) / length) if length > 0 else step
        logs = np.clip(logs + step, -_LARGEST_LOG, _LARGEST_LOG)
        return np.concatenate([self.noise.update(expected_counts[: self.n_confusion_groups], own), logs])

    def _first(self) -> FloatArray:
        """Return the thresholds of equal items, with half a tie and half a decided vote added for each."""
        decided, tied = self.vote_counts[:, 0], self.vote_counts[:, 1]
        return np.log(tied + 0.5) - np.log(decided + 0.5)

    def _slope(self, logs: FloatArray, expected_counts: FloatArray) -> FloatArray:
        return np.asarray(expected_counts[self.n_confusion_groups :, 0] - self._precision * (logs - logs.mean()))

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the derivative in all parameters."""
        own, logs = self.split(params)
        return np.concatenate(
            [self.noise.slope(own, expected_counts[: self.n_confusion_groups]), self._slope(logs, expected_counts)]
        )

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return what is missing of the noise; of thresholds nothing is."""
        own, logs = self.split(params)
        return np.concatenate([self.noise.missing_information(own, truth_variance), np.zeros(len(logs))])

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density of both, that of the thresholds relative to its highest value."""
        own, logs = self.split(params)
        return self.noise.log_prior(own) - 0.5 * self._precision * float(((logs - logs.mean()) ** 2).sum())

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the rates of the noise, then each annotator's probability of a tie between equal items."""
        own, logs = self.split(params)
        return np.concatenate([self.noise.rates(own), 1.0 / (1.0 + np.exp(-logs))])

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters of the noise for a random start, with the usual thresholds."""
        return np.concatenate([self.noise.random(rng), self._first()])

    def orientation(self, params: FloatArray) -> float:
        """Return the orientation of the decided votes."""
        return self.noise.orientation(self.split(params)[0])

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the sign-flipped parameters of the noise; ties have no side."""
        own, logs = self.split(params)
        return np.concatenate([self.noise.sign_flipped(own), logs])

    @property
    def flip_kind(self) -> str:  # type: ignore[override]
        """How flips follow from the noise of the decided votes."""
        return self.noise.flip_kind

    @property
    def sided(self) -> bool:  # type: ignore[override]
        """Whether the noise of the decided votes knows sides."""
        return self.noise.sided

    @property
    def can_draw(self) -> bool:  # type: ignore[override]
        """Whether the posterior of the noise of the decided votes can be sampled."""
        return self.noise.can_draw

    def decided(self, params: FloatArray) -> tuple[Noise, FloatArray]:
        """Return the noise of the decided votes, and its parameters."""
        return self.noise.decided(self.split(params)[0])

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return the thresholds for ties, and the traits of the noise of the decided votes."""
        own, logs = self.split(params)
        return {**self.noise.traits(own), "tie": np.exp(logs)}
