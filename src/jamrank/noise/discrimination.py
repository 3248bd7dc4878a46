"""How sharply each annotator tells items apart: votes that follow the margin, with no truth in between."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from jamrank.noise.base import FlipKind, Noise
from jamrank.typing import FloatArray

__all__ = ["Discrimination"]


# A longer step of the parameters, which are about 1, has left the ground.
_LONGEST = 1.0


class Discrimination(Noise):
    """A vote is for the first item with log-odds ``b m``: margin times the annotator's discrimination.

    It is 0 for one who cannot tell items apart, and negative for one who prefers the worse. Scores and discrimination
    share a scale, so the parameters are scaled to a mean square of 1: their own length says nothing. The prior is
    normal around 1. Rows must be votes about the margin.

    Parameters
    ----------
    cast : ndarray of shape (annotators, 2)
        Votes of each annotator, by side.
    variance : float, optional
        Prior variance; None for plain maximum likelihood.
    scale : float
        Root of the mean square of the discriminations.
    """

    flip_kind: ClassVar[FlipKind] = "counted"
    can_draw: ClassVar[bool] = False

    def __init__(self, vote_counts: FloatArray, variance: float | None = 1.0, scale: float = 1.0) -> None:
        self.votes = np.asarray(vote_counts.sum(axis=1))
        self.scale = scale
        self._precision = 0.0 if variance is None else 1.0 / variance

    def _scaled(self, params: FloatArray) -> tuple[FloatArray, float]:
        """Return the parameters with a mean square of 1, and the root of what it was."""
        length = float(np.sqrt((params**2).mean()))
        return (params / length, length) if length > 0 else (np.ones_like(params), 1.0)

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the discrimination of each annotator."""
        return self.scale * self._scaled(params)[0]

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return better parameters: a Newton step of each that leaves the common scale alone."""
        if params is None:
            return np.ones(len(self.votes))
        unit, _ = self._scaled(params)
        slope = self._slope(unit, expected_counts)
        information = self.scale**2 * expected_counts[:, 1] + self._precision
        give = np.divide(1.0, information, out=np.zeros_like(information), where=information > 0)
        # Along the parameters themselves nothing but the scale would change.
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

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density relative to its highest value."""
        return -0.5 * self._precision * float(((self._scaled(params)[0] - 1.0) ** 2).sum())

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the discriminations."""
        return self.log_emission(params)

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return discriminations drawn evenly between 1/2 and 3/2, for a random start."""
        return rng.uniform(0.5, 1.5, len(self.votes))

    def orientation(self, params: FloatArray) -> float:
        """Return the sum of the discriminations over votes: below zero most prefer the worse item."""
        return float((self.votes * params).sum())

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the opposite discriminations."""
        return -params

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return the discrimination of each annotator."""
        return {"discrimination": self.rates(params)}

    def meaningless(self, params: FloatArray) -> FloatArray:
        """Return the parameters themselves, with length 1: along them only the common scale changes."""
        return np.asarray(params / np.linalg.norm(params))
