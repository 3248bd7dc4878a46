"""Pairs that are easy or hard for everyone: flips that depend on the pair."""

from __future__ import annotations

from math import exp
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jamrank.noise.base import Noise
from jamrank.noise.flip import Flip
from jamrank.rows.eased import N_NODES, NODES, WEIGHTS
from jamrank.typing import FloatArray

# The logarithm of the deviation: where a fit starts, and its range.
_START, _SMALLEST, _LARGEST = float(np.log(0.5)), -7.0, 1.1
_LARGEST_LOGIT = 30.0
_ROUNDS, _LONGEST, _HALVINGS, _ENOUGH = 4, 0.7, 8, 1e-10


class Difficulty(Noise):
    """The logit of an annotator's flip on a pair is that of the annotator times the ease of the pair.

    The ease is log-normal around 1. On a pair of little ease everybody's flip is near one half; with a standard
    deviation of 0 all pairs are alike, and the noise is :class:`Flip`. Parameters are the logits of the flips on a
    pair of ease 1, and the logarithm of that standard deviation, which has the half of a standard normal as prior.

    Parameters
    ----------
    vote_counts : ndarray of shape (groups, 2)
        As in :class:`Flip`.
    errors, correct : float or ndarray
        Pseudo-votes for each confusion group, as in :class:`Flip`.
    """

    n_shared = 1
    eased: ClassVar[bool] = True

    def __init__(
        self, vote_counts: FloatArray, errors: float | FloatArray = 0.0, correct: float | FloatArray = 0.0
    ) -> None:
        self.flip = Flip(vote_counts, errors, correct)
        self.n_groups = len(vote_counts)
        self.n_sums = 2 * N_NODES * self.n_groups

    @staticmethod
    def deviation(params: FloatArray) -> float:
        """Return the standard deviation of the logarithm of the ease."""
        return exp(min(max(float(params[-1]), _SMALLEST), _LARGEST))

    def _eases(self, params: FloatArray) -> FloatArray:
        return np.exp(self.deviation(params) * NODES)

    def _logits(self, params: FloatArray) -> FloatArray:
        """Return the logit of the flip by node of the ease and group."""
        logits = self._eases(params)[:, None] * params[:-1]
        return np.asarray(np.minimum(np.maximum(logits, -_LARGEST_LOGIT), _LARGEST_LOGIT))

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the tables of the flip noise at each node of the ease."""
        return self.flip.log_emission(self._logits(params).ravel())

    def vote_table(self, params: FloatArray) -> FloatArray:
        """Return the log-likelihood of a vote on a pair of unknown ease."""
        tables = np.exp(self.log_emission(params)).reshape(N_NODES, -1, 2, 2)
        return np.asarray(np.log(np.einsum("n,ngst->gst", WEIGHTS, tables)))

    def _cells(self, expected_counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return expected errors and votes, by node of the ease and group."""
        second, first = expected_counts[: self.n_sums].reshape(2, N_NODES, self.n_groups, 2)
        return np.maximum(first[..., 0] + second[..., 1], 0.0), (first + second).sum(axis=-1)

    def _gradient(self, params: FloatArray, errors: FloatArray, votes: FloatArray) -> tuple[FloatArray, float]:
        """Return the derivative in each flip's logit, and in the logarithm of the deviation."""
        eases, logits = self._eases(params)[:, None], self._logits(params)
        inside = np.abs(logits) < _LARGEST_LOGIT
        rest = (errors - votes * expit(logits)) * inside
        wrong, right = self.flip.prior_errors, self.flip.prior_correct
        by_flip = (eases * rest).sum(axis=0) + wrong - (wrong + right) * expit(params[:-1])
        size = self.deviation(params) * (_SMALLEST < params[-1] < _LARGEST)
        by_deviation = size * float((rest * logits * NODES[:, None]).sum())
        return by_flip, by_deviation + 1.0 - float(np.exp(2.0 * params[-1]))

    def _objective(self, params: FloatArray, errors: FloatArray, votes: FloatArray) -> float:
        logits = self._logits(params)
        fitted = float((errors * logits - votes * np.logaddexp(0.0, logits)).sum())
        return fitted + self.log_prior(params)

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return flips and deviation that raise the expected log-likelihood plus log prior."""
        if params is None:
            return np.append(self.flip.update(expected_counts[: self.n_groups]), _START)
        errors, votes = self._cells(expected_counts)
        now = self._objective(params, errors, votes)
        for _ in range(_ROUNDS):
            step = self._step(params, errors, votes)
            for _ in range(_HALVINGS):
                moved = params + step
                then = self._objective(moved, errors, votes)
                if then >= now:
                    break
                step = step / 2
            else:
                break
            params, gain, now = moved, then - now, then
            if gain <= _ENOUGH * abs(now):
                break
        return params

    def _step(self, params: FloatArray, errors: FloatArray, votes: FloatArray) -> FloatArray:
        """Return a Newton step with the expected information, not too long."""
        by_flip, by_deviation = self._gradient(params, errors, votes)
        eases, logits = self._eases(params)[:, None], self._logits(params)
        spread = votes * expit(logits) * expit(-logits)
        own = (spread * eases**2).sum(axis=0) + self.flip.prior_information(params[:-1]) + 1e-12
        turn = self.deviation(params) * logits * NODES[:, None]
        cross, shared = (spread * eases * turn).sum(axis=0), float((spread * turn**2).sum()) + 2.0
        left = shared - float((cross**2 / own).sum())
        deviation = (by_deviation - float((cross * by_flip / own).sum())) / max(left, 1.0)
        deviation = float(np.clip(deviation, -_LONGEST, _LONGEST))
        of_flips = (by_flip - cross * deviation) / own
        return np.append(np.clip(of_flips, -2.0, 2.0), deviation)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return the gradient of log-likelihood plus log prior."""
        by_flip, by_deviation = self._gradient(params, *self._cells(expected_counts))
        return np.append(by_flip, by_deviation)

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return zeros."""
        return np.zeros_like(params)

    def estimated_prior(
        self, params: FloatArray, expected_counts: FloatArray, truth_variance: FloatArray
    ) -> dict[str, float]:
        """Return the prior of the flips as in :class:`Flip`."""
        return self.flip.estimated_prior(params[:-1], expected_counts, truth_variance)

    def log_prior(self, params: FloatArray) -> float:
        """Return the log density of flips and deviation, relative to its maximum."""
        return self.flip.log_prior(params[:-1]) + float(params[-1]) - 0.5 * float(np.exp(2.0 * params[-1]))

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the flips over all pairs, then the deviation."""
        return np.append(WEIGHTS @ expit(self._logits(params)), self.deviation(params))

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return random flips, and the usual deviation."""
        return np.append(self.flip.random(rng), _START)

    def with_trust(self, trust: FloatArray) -> FloatArray | None:
        """Return the flips of :meth:`Flip.with_trust`, and the usual deviation."""
        return np.append(np.asarray(self.flip.with_trust(trust)), _START)

    def orientation(self, params: FloatArray) -> float:
        """Return the sum over votes of 1 - 2 flip: negative if the votes as a whole point the wrong way."""
        return float((self.flip.votes * (1 - 2 * self.rates(params)[:-1])).sum())

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return 1 - flip for every confusion group; ease stays."""
        return np.append(-params[:-1], params[-1])

    def shared_traits(self, params: FloatArray) -> dict[str, float]:
        """Return the standard deviation of the logarithm of the ease."""
        return {"difficulty": self.deviation(params)}

    def rescaled(self, params: FloatArray, factor: float) -> tuple[FloatArray, float] | None:
        """Move flips as in :class:`Flip`."""
        moved = self.flip.rescaled(params[:-1], factor)
        return None if moved is None else (np.append(moved[0], params[-1]), moved[1])

    def warm_start(
        self, params: FloatArray, at: NDArray[np.intp], flip: FloatArray, traits: dict[str, FloatArray]
    ) -> FloatArray:
        """Return the flips of the earlier fit for the annotators in it."""
        return np.append(self.flip.warm_start(params[:-1], at, flip, traits), params[-1])
