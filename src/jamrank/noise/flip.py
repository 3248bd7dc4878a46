"""A flip probability for each confusion group: the noise of JAM and CrowdBT."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, logit

from jamrank.noise.base import Noise
from jamrank.typing import FloatArray

# Flips are kept 1e-13 away from 0 and 1, so that the likelihood stays finite.
_LARGEST_LOGIT = 30.0
# A warm start from a flip of 0 or 1 must be able to leave it.
_SURE = 1e-6
# Mean and variance of the logits of pseudo-annotators: one vote in three is wrong, and flips are widely spread.
_PSEUDO_LOGIT, _PSEUDO_SPREAD = float(np.log(0.5)), 1.5
# The logit of not flipping, of an annotator who is trusted at a start.
_TRUSTED_LOGIT = 2.0
# So many of them keep estimates of a spread from collapsing where there are few annotators.
PSEUDO_ANNOTATORS, _SMALLEST = 2.0, 1e-3
# 1 - 2 flip of an annotator who never errs, nearly.
_NEVER_ERRS = 1 - 1e-9


class Flip(Noise):
    """An annotator reports the truth, or its opposite with probability ``flip``.

    Parameters are the logits of the flips. The prior is Beta(1 + errors, 1 + correct): as many pseudo-votes of
    each kind.

    Parameters
    ----------
    vote_counts : ndarray of shape (groups, 2)
        Votes of each confusion group for the second and for the first item of their rows, by weight.
    errors, correct : float or ndarray
        Pseudo-votes for each confusion group; none unless given. Defaults: :mod:`jamrank.fitting.prior`.
    """

    closed_form: ClassVar[bool] = True
    integrable: ClassVar[bool] = True
    largest_logit: ClassVar[float] = _LARGEST_LOGIT

    def __init__(
        self, vote_counts: FloatArray, errors: float | FloatArray = 0.0, correct: float | FloatArray = 0.0
    ) -> None:
        self.vote_counts = vote_counts
        self.votes = np.asarray(vote_counts.sum(axis=1))
        self.prior_errors = np.broadcast_to(np.asarray(errors, dtype=np.float64), self.votes.shape)
        self.prior_correct = np.broadcast_to(np.asarray(correct, dtype=np.float64), self.votes.shape)
        self.pseudo_votes = self.prior_errors + self.prior_correct
        self.prior_mode = self._logit(self.prior_errors, self.prior_correct)
        self._flip_at_mode, self._keep_at_mode = expit(self.prior_mode), expit(-self.prior_mode)

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihood of a vote that is true, and of one that is not."""
        found = np.empty((len(params), 2, 2))
        found[:, 0, 1] = found[:, 1, 0] = -np.logaddexp(0, -params)
        found[:, 0, 0] = found[:, 1, 1] = -np.logaddexp(0, params)
        return found

    def errors(self, expected_counts: FloatArray) -> FloatArray:
        """Return the expected number of flipped votes of each confusion group."""
        flipped: FloatArray = expected_counts[:, 0] + (self.vote_counts[:, 1] - expected_counts[:, 1])
        return flipped

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return the flips that maximise the expected log-likelihood plus log prior."""
        errors = np.maximum(self.errors(expected_counts), 0.0)
        correct = np.maximum(self.votes - errors, 0.0)
        return self._logit(errors + self.prior_errors, correct + self.prior_correct)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return expected errors, pseudo-votes included, minus those that the flips predict."""
        expected = (self.votes + self.pseudo_votes) * expit(params)
        return np.asarray(self.errors(expected_counts) + self.prior_errors - expected)

    def complete_information(self, params: FloatArray) -> FloatArray:
        """Return the complete-data information on each flip's logit, including pseudo-votes."""
        return np.asarray((self.votes + self.pseudo_votes) * expit(params) * expit(-params))

    def loglik_jacobian(self, params: FloatArray) -> csr_array:
        """Return 1 for a vote for the second item, -1 for one for the first: larger flips weaken the evidence."""
        n_confusion_groups = len(params)
        sign = np.tile([1.0, -1.0], n_confusion_groups)
        return csr_array((sign, (np.arange(2 * n_confusion_groups), np.repeat(np.arange(n_confusion_groups), 2))))

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return the share of the information on each flip that is missing."""
        known = self.complete_information(params)
        if known.min(initial=1.0) > 0:
            return np.asarray(truth_variance / known)
        return np.asarray(np.divide(truth_variance, known, out=np.zeros_like(known), where=known > 0))

    def vote_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return the information of the votes on the logit of each flip."""
        return np.asarray(np.maximum(self.votes * expit(params) * expit(-params) - truth_variance, 0.0))

    def prior_information(self, params: FloatArray) -> FloatArray:
        """Return the information of the prior on the logit of each flip."""
        return np.asarray(self.pseudo_votes * expit(params) * expit(-params))

    def estimated_prior(
        self, params: FloatArray, expected_counts: FloatArray, truth_variance: FloatArray
    ) -> dict[str, float]:
        """Return the pseudo-votes of a prior with the mean and variance of the flips' logits."""
        n = len(params) + PSEUDO_ANNOTATORS
        mean = (float(params.sum()) + PSEUDO_ANNOTATORS * _PSEUDO_LOGIT) / n
        of_pseudo = PSEUDO_ANNOTATORS * (_PSEUDO_SPREAD + (_PSEUDO_LOGIT - mean) ** 2)
        squares = float(((params - mean) ** 2).sum()) + of_pseudo
        information = self.vote_information(params, truth_variance)
        variance = pooled_variance(squares, information, self.prior_information(params))
        rate = float(expit(mean))
        votes = 1.0 / (variance * rate * (1.0 - rate))
        return {"flip_wrong": votes * rate, "flip_right": votes * (1.0 - rate)}

    @staticmethod
    def _logit(errors: FloatArray, correct: FloatArray) -> FloatArray:
        if min(errors.min(initial=1.0), correct.min(initial=1.0)) > 0:
            odds = np.log(errors) - np.log(correct)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                odds = np.log(errors) - np.log(correct)
            # A confusion group without votes or prior has no information: a flip of 1/2 does not affect the rest.
            odds[(errors == 0) & (correct == 0)] = 0.0
        return np.asarray(np.minimum(np.maximum(odds, -_LARGEST_LOGIT), _LARGEST_LOGIT))

    def log_prior(self, params: FloatArray) -> float:
        """Return the log of the Beta densities, each relative to its maximum."""
        # From the distance to the mode: a strong prior times the difference of two logarithms would lose the
        # likelihood in rounding.
        away = np.minimum(np.maximum(params, -_LARGEST_LOGIT), _LARGEST_LOGIT) - self.prior_mode
        log_flip = -np.log1p(self._keep_at_mode * np.expm1(-away))
        log_keep = -np.log1p(self._flip_at_mode * np.expm1(away))
        return float((self.prior_errors * log_flip + self.prior_correct * log_keep).sum())

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the flip probabilities."""
        flips: FloatArray = expit(params)
        return flips

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return flips drawn uniformly from 0 to 1/2, for a random start."""
        flips = rng.uniform(0.01, 0.49, len(self.votes))
        return np.log(flips) - np.log1p(-flips)

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return logits of flips between -2 and 2."""
        return -_TRUSTED_LOGIT * trust

    def orientation(self, params: FloatArray) -> float:
        """Return the sum over votes of 1 - 2 flip: negative if the votes as a whole point the wrong way."""
        return float((self.votes * (1 - 2 * expit(params))).sum())

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return 1 - flip for every confusion group."""
        return -params

    def rescaled(self, params: FloatArray, factor: float) -> tuple[FloatArray, float] | None:
        """Divide how far each flip is below one half: near a margin of 0, a vote depends on this times the margin."""
        before = -np.tanh(0.5 * params)
        after = before / factor
        if max(np.abs(before).max(initial=0.0), np.abs(after).max(initial=0.0)) >= _NEVER_ERRS:
            return None
        stretch = np.log1p(-(before**2)) - np.log1p(-(after**2)) - np.log(factor)
        return -2.0 * np.arctanh(after), float(stretch.sum())

    def warm_start(
        self, params: FloatArray, at: NDArray[np.intp], flip: FloatArray, traits: dict[str, FloatArray]
    ) -> FloatArray:
        """Return the flips of the earlier fit for the annotators in it."""
        if len(params) != len(at):
            return params
        return np.where(at >= 0, logit(np.clip(flip[at], _SURE, 1 - _SURE)), params)


def pooled_variance(squares: float, information: FloatArray, precision: FloatArray | float) -> float:
    """Return the variance of annotators' parameters, given estimates that the present prior has shrunk.

    MacKay's fixed point: the sum of squares over the effective degrees of freedom.

    squares: Of the distances from the common mean, those of the pseudo-annotators included.
    information: Of the votes on the parameter of each annotator.
    precision: Of the prior on each.
    """
    determined = float((information / np.maximum(information + precision, 1e-300)).sum())
    return max(squares / (determined + PSEUDO_ANNOTATORS), _SMALLEST)
