"""A flip and a position bias for each annotator: the two-coin model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.noise.base import FlipKind, Noise
from jamrank.noise.flip import PSEUDO_ANNOTATORS, Flip, pooled_variance
from jamrank.typing import FloatArray

# A warm start from a flip of 0 or 1 must be able to leave it.
_SURE = 1e-6
_ROUNDS, _ENOUGH = 100, 1e-13
_LARGEST_LOGIT = 30.0
# How fast the curvature of a logistic can change along a step of (flip, bias).
_SHARPEST = np.sqrt(2.0)
# Variance of the biases of pseudo-annotators.
_PSEUDO_SPREAD = 1.0


class TwoCoin(Noise):
    """An annotator errs with one probability if the left item is better, and with another if the right one is.

    Parameters are the logits ``f`` of the flips, then the biases ``d``: errors have the logit ``f - d`` where the
    truth is on the left and ``f + d`` where it is on the right, so that a positive bias prefers the left. The prior
    is that of :class:`Flip` on the flip, and normal around 0 on the bias.

    Parameters
    ----------
    cast : ndarray of shape (2 * annotators, 2)
        Votes by confusion group and by whether they are for the first item of their row. Group ``2 k`` is annotator
        ``k`` where the first item was shown on the left, group ``2 k + 1`` where it was shown on the right.
    errors, correct : float
        Pseudo-votes of each annotator; none unless given.
    variance : float, optional
        Prior variance of the bias; None for plain maximum likelihood.
    """

    flip_kind: ClassVar[FlipKind] = "mean of sides"
    sided: ClassVar[bool] = True

    def __init__(
        self, vote_counts: FloatArray, errors: float = 0.0, correct: float = 0.0, variance: float | None = None
    ) -> None:
        self.vote_counts = vote_counts
        by_annotator = vote_counts.reshape(-1, 2, 2).sum(axis=1)
        self.n_annotators = len(by_annotator)
        self._flip = Flip(by_annotator, errors, correct)
        self._precision = None if variance is None else 1.0 / variance

    def _split(self, params: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logits of an error where the left item is truly better, and where the right is."""
        flip, bias = params[: self.n_annotators], params[self.n_annotators :]
        return flip - bias, flip + bias

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihood of a true and of a false vote, by the side of the better item."""
        left, right = self._split(params)
        # By annotator, side of the first item, and truth.
        odds = np.stack([np.stack([right, left], axis=1), np.stack([left, right], axis=1)], axis=1)
        log_error, log_correct = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
        said_first = np.stack([log_error[..., 0], log_correct[..., 1]], axis=-1)
        said_second = np.stack([log_correct[..., 0], log_error[..., 1]], axis=-1)
        return np.stack([said_second, said_first], axis=2).reshape(-1, 2, 2)

    def errors(self, expected_counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return expected errors and correct votes with the truth on the left, then with the truth on the right."""
        first = expected_counts.reshape(-1, 2, 2)
        second = self.vote_counts.reshape(-1, 2, 2) - first
        sums = (
            first[:, 0, 0] + second[:, 1, 1],
            first[:, 0, 1] + second[:, 1, 0],
            first[:, 1, 0] + second[:, 0, 1],
            first[:, 1, 1] + second[:, 0, 0],
        )
        left_wrong, left_right, right_wrong, right_right = (np.maximum(own, 0.0) for own in sums)
        return left_wrong, left_right, right_wrong, right_right

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return flips and biases that maximise the expected log-likelihood plus log prior."""
        if self._precision is None:
            left_wrong, left_right, right_wrong, right_right = self.errors(expected_counts)
            left, right = Flip._logit(left_wrong, left_right), Flip._logit(right_wrong, right_right)
            return np.concatenate([(left + right) / 2, (right - left) / 2])
        if params is None:
            params = np.zeros(2 * self.n_annotators)
        for _ in range(_ROUNDS):
            step = self._newton(params, expected_counts)
            # Short enough that the objective, whose change of curvature is bounded, never falls.
            length = _SHARPEST * np.tile(np.hypot(*step.reshape(2, -1)), 2)
            step *= np.divide(np.log1p(length), length, out=np.ones_like(length), where=length > 0)
            params = params + step
            params[: self.n_annotators] = np.clip(params[: self.n_annotators], -_LARGEST_LOGIT, _LARGEST_LOGIT)
            if float(np.abs(step).max(initial=0.0)) <= _ENOUGH:
                break
        return params

    def _newton(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the Newton step of the M-step for each annotator."""
        assert self._precision is not None
        by_flip, by_bias = self.slope(params, expected_counts).reshape(2, -1)
        flip, cross, bias = self._information(params, expected_counts)
        determinant = flip * bias - cross**2
        step_flip = (bias * by_flip - cross * by_bias) / determinant
        step_bias = (flip * by_bias - cross * by_flip) / determinant
        return np.concatenate([step_flip, step_bias])

    def _information(
        self, params: FloatArray, expected_counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the complete-data information on flip and bias of each annotator: diagonal and off-diagonal."""
        left_wrong, left_right, right_wrong, right_right = self.errors(expected_counts)
        left, right = self._split(params)
        on_left = (left_wrong + left_right) * expit(left) * expit(-left)
        on_right = (right_wrong + right_right) * expit(right) * expit(-right)
        flip = params[: self.n_annotators]
        # A flip without information is not changed.
        known = on_left + on_right + self._flip.prior_information(flip) + 1e-12
        return known, on_right - on_left, on_left + on_right + (self._precision or 0.0) + 1e-12

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return expected errors, pseudo-votes included, minus those that flips and biases predict."""
        left_wrong, left_right, right_wrong, right_right = self.errors(expected_counts)
        left, right = self._split(params)
        on_left = left_wrong - (left_wrong + left_right) * expit(left)
        on_right = right_wrong - (right_wrong + right_right) * expit(right)
        flip, bias = params[: self.n_annotators], params[self.n_annotators :]
        wrong, right_ones = self._flip.prior_errors, self._flip.prior_correct
        by_flip = on_left + on_right + wrong - (wrong + right_ones) * expit(flip)
        return np.concatenate([by_flip, on_right - on_left - (self._precision or 0.0) * bias])

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return the share of the information on each parameter that is missing, approximately for small biases."""
        of_flip = self._flip.missing_information(
            params[: self.n_annotators], truth_variance.reshape(-1, 2).sum(axis=1)
        )
        return np.concatenate([of_flip, of_flip * (1 - 2 * expit(params[: self.n_annotators])) ** 2])

    def estimated_prior(
        self, params: FloatArray, expected_counts: FloatArray, truth_variance: FloatArray
    ) -> dict[str, float]:
        """Return the prior of the flips as in :class:`Flip`, and the variance of the biases around 0."""
        flip, bias = params[: self.n_annotators], params[self.n_annotators :]
        missing, precision = truth_variance.reshape(-1, 2).sum(axis=1), self._precision or 0.0
        known = self._information(params, expected_counts)[2] - precision - missing * (1 - 2 * expit(flip)) ** 2
        squares = float((bias**2).sum()) + PSEUDO_ANNOTATORS * _PSEUDO_SPREAD
        variance = pooled_variance(squares, np.maximum(known, 0.0), precision)
        return {**self._flip.estimated_prior(flip, expected_counts, missing), "bias_variance": variance}

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density of the flips and of the biases, each relative to its maximum."""
        bias = params[self.n_annotators :]
        of_bias = 0.5 * (self._precision or 0.0) * float((bias**2).sum())
        return self._flip.log_prior(params[: self.n_annotators]) - of_bias

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the flips, as the mean over both sides, then the biases."""
        left, right = self._split(params)
        return np.concatenate([(expit(left) + expit(right)) / 2, params[self.n_annotators :]])

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return flips drawn uniformly from 0 to 1/2, and no bias, for a random start."""
        return np.concatenate([self._flip.random(rng), np.zeros(self.n_annotators)])

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return the flips of :meth:`Flip.with_trust`, and no bias."""
        return np.concatenate([np.asarray(self._flip.with_trust(trust)), np.zeros(self.n_annotators)])

    def orientation(self, params: FloatArray) -> float:
        """Return the sum over votes of 1 - 2 flip: negative if the votes as a whole point the wrong way."""
        flips = self.rates(params)[: self.n_annotators]
        return float((self._flip.votes * (1 - 2 * flips)).sum())

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return 1 - flip for every annotator; a bias towards the left stays one."""
        return np.concatenate([-params[: self.n_annotators], params[self.n_annotators :]])

    def traits(self, params: FloatArray) -> dict[str, FloatArray]:
        """Return the bias of each annotator, and the flips where the truth is on the left and on the right."""
        left, right = self._split(params)
        return {"bias": params[self.n_annotators :], "side_flip": expit(np.stack([left, right], axis=1))}

    def warm_start(
        self, params: FloatArray, at: NDArray[np.intp], flip: FloatArray, traits: dict[str, FloatArray]
    ) -> FloatArray:
        """Return flips and biases of the earlier fit for the annotators in it, if it had sides too."""
        if "side_flip" not in traits:
            return params
        own, bias = params.reshape(2, -1)
        left, right = (logit(np.clip(side, _SURE, 1 - _SURE)) for side in traits["side_flip"][at].T)
        return np.concatenate(
            [np.where(at >= 0, (left + right) / 2, own), np.where(at >= 0, traits["bias"][at], bias)]
        )
