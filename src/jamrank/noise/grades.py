"""Grades of decided votes, added to any noise of their directions: thresholds and a slope for each annotator."""

from __future__ import annotations

import numpy as np

from jamrank.noise.base import Noise
from jamrank.noise.wrapped import WrappedNoise
from jamrank.typing import FloatArray

# Prior variances: of a slope or threshold around the mean of all annotators, and of each around 0, which keeps it
# finite where grades and margins agree perfectly.
_AROUND_MEAN, _AROUND_ZERO = 0.5, 9.0
# Slope and threshold enter every step together.
_TOGETHER = 2.0


class Graded(WrappedNoise):
    """A vote goes on from grade ``j`` to ``j + 1`` with log-odds ``b_k y m - c_kj``; ``y m`` is the winner's margin.

    A sequential logit: who won follows the noise, and given that, each step up in grade is a further yes or no.
    Further parameters are the slopes ``b`` of the annotators, then the thresholds ``c`` by step and annotator. Passes
    run in a :class:`jamrank.engines.GradedEngine`.

    Parameters
    ----------
    noise : Noise
        Of the directions.
    n_confusion_groups : int
        Number of its confusion groups.
    counts : ndarray of shape (steps × annotators, 2)
        Votes that stopped and that went on at each threshold.
    n_annotators : int
    prior : bool
        Whether there is a prior; plain maximum likelihood without.
    """

    def __init__(
        self, noise: Noise, n_confusion_groups: int, counts: FloatArray, n_annotators: int, prior: bool
    ) -> None:
        shape = 1 + len(counts) // n_annotators, n_annotators
        precisions = (1.0 / _AROUND_MEAN, 1.0 / _AROUND_ZERO) if prior else (0.0, 0.0)
        super().__init__(noise, n_confusion_groups, shape, *precisions, caution=_TOGETHER)
        self.counts = counts

    def initial(self) -> FloatArray:
        """Return slopes of 1, and the thresholds of equal items, with half a vote of either kind added for each."""
        stopped, went_on = self.counts.T
        return np.concatenate([np.ones(self.shape[1]), np.log(stopped + 0.5) - np.log(went_on + 0.5)])

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the rates of the noise, then slopes and thresholds."""
        own, grades = self.split(params)
        return np.concatenate([self.noise.rates(own), grades.ravel()])

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the mirror image: the noise's, and the opposite slopes."""
        own, grades = self.split(params)
        return self.join(self.noise.sign_flipped(own), np.concatenate([-grades[:1], grades[1:]]))

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return slope and thresholds of each annotator, and the traits of the noise of the directions."""
        own, grades = self.split(params)
        return {**self.noise.traits(own), "grade_slope": grades[0].copy(), "grade_threshold": grades[1:].T.copy()}
