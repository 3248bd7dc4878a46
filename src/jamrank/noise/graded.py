"""Grades of decided votes, added to any noise of their directions: thresholds and a slope for each annotator."""

from __future__ import annotations

import numpy as np

from jamrank.noise.base import Noise
from jamrank.typing import FloatArray

__all__ = ["Graded"]

_LARGEST = 30.0
# Prior variances: of a slope or threshold around the mean of all annotators, and of each around 0, which keeps it
# finite where grades and margins agree perfectly.
_AROUND_MEAN, _AROUND_ZERO = 0.5, 9.0
# Slope and threshold enter every step together: with twice the information of each, a step cannot go too far.
_TOGETHER = 2.0


class Graded(Noise):
    """A vote goes on from grade ``j`` to ``j + 1`` with log-odds ``b_k y m - c_kj``; ``y m`` is the winner's margin.

    A sequential logit: who won follows the noise, and given that, each step up in grade is a further yes or no.
    Parameters are those of the noise, then the slopes ``b`` of the annotators, then the thresholds ``c`` by step and
    annotator; the latter two are drawn towards their means. Passes run in a :class:`jamrank.engines.GradedEngine`.

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
        self.noise, self.n_confusion_groups, self.counts = noise, n_confusion_groups, counts
        self.n_annotators, self.n_params = n_annotators, n_annotators + len(counts)
        self._to_mean, self._to_zero = (1.0 / _AROUND_MEAN, 1.0 / _AROUND_ZERO) if prior else (0.0, 0.0)

    def split(self, params: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of the noise, and slopes and thresholds by kind and annotator."""
        at = len(params) - self.n_params
        return params[:at], params[at:].reshape(-1, self.n_annotators)

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the tables of the noise, flattened, then slopes and thresholds."""
        own, grades = self.split(params)
        return np.concatenate([self.noise.log_emission(own).ravel(), grades.ravel()])

    def _first(self) -> FloatArray:
        """Return slopes of 1, and the thresholds of equal items, with half a vote of either kind added for each."""
        stopped, went_on = self.counts.T
        return np.concatenate([np.ones(self.n_annotators), np.log(stopped + 0.5) - np.log(went_on + 0.5)])

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return better parameters: for slopes and thresholds a damped Newton step."""
        own_counts = expected_counts[: self.n_confusion_groups]
        if params is None:
            return np.concatenate([self.noise.update(own_counts), self._first()])
        own, grades = self.split(params)
        slope = self._slope(grades, expected_counts)
        information = expected_counts[self.n_confusion_groups :, 1].reshape(grades.shape)
        held = _TOGETHER * information + self._to_mean + self._to_zero
        give = np.divide(1.0, held, out=np.zeros_like(held), where=held > 0)
        step = give * slope
        # The prior holds each to the mean of all: the inverse has rank one more.
        pull = self._to_mean / self.n_annotators
        free = 1.0 - pull * give.sum(axis=1, keepdims=True)
        common = np.divide(pull * step.sum(axis=1, keepdims=True), free, out=np.zeros_like(free), where=free > 1e-9)
        step = step + give * common
        length = float(np.abs(step).max(initial=0.0))
        step = step * (np.log1p(length) / length) if length > 0 else step
        grades = np.clip(grades + step, -_LARGEST, _LARGEST)
        return np.concatenate([self.noise.update(own_counts, own), grades.ravel()])

    def _slope(self, grades: FloatArray, expected_counts: FloatArray) -> FloatArray:
        of_votes = expected_counts[self.n_confusion_groups :, 0].reshape(grades.shape)
        away = grades - grades.mean(axis=1, keepdims=True)
        return np.asarray(of_votes - self._to_mean * away - self._to_zero * grades)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the derivative in all parameters."""
        own, grades = self.split(params)
        of_noise = self.noise.slope(own, expected_counts[: self.n_confusion_groups])
        return np.concatenate([of_noise, self._slope(grades, expected_counts).ravel()])

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return what is missing of the noise; of grades nothing is."""
        own, grades = self.split(params)
        return np.concatenate([self.noise.missing_information(own, truth_variance), np.zeros(grades.size)])

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density of both, up to a constant."""
        own, grades = self.split(params)
        away = float(((grades - grades.mean(axis=1, keepdims=True)) ** 2).sum())
        return self.noise.log_prior(own) - 0.5 * (self._to_mean * away + self._to_zero * float((grades**2).sum()))

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the rates of the noise, then slopes and thresholds."""
        own, grades = self.split(params)
        return np.concatenate([self.noise.rates(own), grades.ravel()])

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters of the noise for a random start, with the usual slopes and thresholds."""
        return np.concatenate([self.noise.random(rng), self._first()])

    def orientation(self, params: FloatArray) -> float:
        """Return the orientation of the directions."""
        return self.noise.orientation(self.split(params)[0])

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return the mirror image: the noise's, and the opposite slopes."""
        own, grades = self.split(params)
        return np.concatenate([self.noise.sign_flipped(own), -grades[0], grades[1:].ravel()])

    @property
    def flip_kind(self) -> str:  # type: ignore[override]
        """How flips follow from the noise of the directions."""
        return self.noise.flip_kind

    @property
    def sided(self) -> bool:  # type: ignore[override]
        """Whether the noise of the directions knows sides."""
        return self.noise.sided

    @property
    def can_draw(self) -> bool:  # type: ignore[override]
        """Whether draws of the noise of the directions mean anything."""
        return self.noise.can_draw

    def decided(self, params: FloatArray) -> tuple[Noise, FloatArray]:
        """Return the noise of the directions, and its parameters."""
        return self.noise.decided(self.split(params)[0])

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return slope and thresholds of each annotator, and the traits of the noise of the directions."""
        own, grades = self.split(params)
        return {**self.noise.traits(own), "grade_slope": grades[0].copy(), "grade_threshold": grades[1:].T.copy()}
