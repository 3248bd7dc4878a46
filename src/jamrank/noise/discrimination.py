"""The discrimination of each annotator: votes depend on the margin, without a latent truth."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from jamrank.noise.base import FlipKind, Noise
from jamrank.noise.flip import PSEUDO_ANNOTATORS, pooled_variance
from jamrank.typing import FloatArray

# The parameters are about 1, so longer steps are not trusted.
_LONGEST = 1.0
# Variance of the discriminations of pseudo-annotators.
_PSEUDO_SPREAD = 0.25


class Discrimination(Noise):
    """A vote is for the first item with log-odds ``b m``: margin times the annotator's discrimination.

    It is 0 for an annotator who votes at random, and negative for one who prefers the worse item. Scores and
    discrimination share a scale, so the parameters are scaled to a mean square of 1: their length is not identified.
    The prior is normal around 1. Rows must be votes about the margin.

    Parameters
    ----------
    cast : ndarray of shape (annotators, 2)
        Votes of each annotator, by side.
    variance : float, optional
        Prior variance; None for plain maximum likelihood.
    scale : float
        Root mean square of the discriminations.
    """

    flip_kind: ClassVar[FlipKind] = "counted"
    can_draw: ClassVar[bool] = False

    def __init__(self, vote_counts: FloatArray, variance: float | None = 1.0, scale: float = 1.0) -> None:
        self.votes = np.asarray(vote_counts.sum(axis=1))
        self.scale = scale
        self._precision = 0.0 if variance is None else 1.0 / variance

    def _scaled(self, params: FloatArray) -> tuple[FloatArray, float]:
        """Return the parameters scaled to a mean square of 1, and the factor."""
        length = float(np.sqrt((params**2).mean()))
        return (params / length, length) if length > 0 else (np.ones_like(params), 1.0)

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the discrimination of each annotator."""
        return self.scale * self._scaled(params)[0]

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return the parameters after a Newton step that keeps the common scale."""
        if params is None:
            return np.ones(len(self.votes))
        unit, _ = self._scaled(params)
        slope = self._slope(unit, expected_counts)
        information = self.scale**2 * expected_counts[:, 1] + self._precision
        give = np.divide(1.0, information, out=np.zeros_like(information), where=information > 0)
        # Along the parameters themselves only the scale would change.
        along = float((unit**2 * give).sum())
        hold = float((unit * give * slope).sum()) / along if along > 0 else 0.0
        step = give * (slope - hold * unit)
        return self._scaled(unit + np.clip(step, -_LONGEST, _LONGEST))[0]

    def _slope(self, unit: FloatArray, expected_counts: FloatArray) -> FloatArray:
        return self.scale * expected_counts[:, 0] - self._precision * (unit - 1.0)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the derivative in the parameters; along themselves it is 0."""
        unit, length = self._scaled(params)
        slope = self._slope(unit, expected_counts)
        return np.asarray((slope - unit * float((unit * slope).mean())) / length)

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return zeros: there are no latent truths."""
        return np.zeros_like(params)

    def estimated_prior(
        self, params: FloatArray, expected_counts: FloatArray, truth_variance: FloatArray
    ) -> dict[str, float]:
        """Return the variance of the discriminations around 1."""
        unit, _ = self._scaled(params)
        squares = float(((unit - 1.0) ** 2).sum()) + PSEUDO_ANNOTATORS * _PSEUDO_SPREAD
        information = self.scale**2 * np.maximum(expected_counts[:, 1], 0.0)
        return {"discrimination_variance": pooled_variance(squares, information, self._precision)}

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density relative to its maximum."""
        return -0.5 * self._precision * float(((self._scaled(params)[0] - 1.0) ** 2).sum())

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the discriminations."""
        return self.log_emission(params)

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return discriminations drawn uniformly from 1/2 to 3/2, for a random start."""
        return rng.uniform(0.5, 1.5, len(self.votes))

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return the trust as discriminations."""
        return trust

    def orientation(self, params: FloatArray) -> float:
        """Return the sum of the discriminations over votes: negative if most prefer the worse item."""
        return float((self.votes * params).sum())

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the opposite discriminations."""
        return -params

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return the discrimination of each annotator."""
        return {"discrimination": self.rates(params)}

    def unidentified_direction(self, params: FloatArray) -> FloatArray:
        """Return the parameters themselves, with length 1: along them only the common scale changes."""
        return np.asarray(params / np.linalg.norm(params))
