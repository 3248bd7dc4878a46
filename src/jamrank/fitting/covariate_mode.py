"""The posterior of scores and coefficients of covariates, given their variances: its mode, and a normal there.

The log-odds of an opinion for the first item of a pair are ``s_i - s_j + sum_c x_c (m_c + b_kc)``. Scores ``s`` and
the annotators' deviations ``b`` are normal; the common part ``m`` is free. A vote is the opinion, or with the
probability of a flip the opposite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_expit, xlogy

from jamrank.typing import BoolArray, FloatArray, IntArray

# A common coefficient has a weak prior, which keeps it finite where the votes are separated.
_COMMON_PRECISION = 0.01
_MOST_NEWTON = 100
# Newton's method converges quadratically: after a step of this size the next one is rounding.
_LAST_STEP = 1e-6
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class CovariateVotes:
    """Votes as observations of a logistic regression.

    first, second, annotator: Codes.
    outcome: 1 where the first item won, 0 where the second did, 1/2 for a tie.
    weight: Of each vote.
    x, of shape (votes, covariates): Covariates, towards the first item.
    flip: Of each annotator.
    """

    first: IntArray
    second: IntArray
    annotator: IntArray
    outcome: FloatArray
    weight: FloatArray
    x: FloatArray
    n_items: int
    n_annotators: int
    flip: FloatArray | None = None

    def log_likelihoods(self, margin: FloatArray) -> FloatArray:
        """Return that of each vote."""
        if self.flip is None:
            return np.asarray(self.outcome * log_expit(margin) + (1 - self.outcome) * log_expit(-margin))
        flip = self.flip[self.annotator]
        first = flip + (1 - 2 * flip) * expit(margin)
        return np.asarray(xlogy(self.outcome, first) + xlogy(1 - self.outcome, 1 - first))

    def derivatives(self, margin: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return slope, expected and observed curvature of each log-likelihood in the margin."""
        said, p = self.outcome, expit(margin)
        if self.flip is None:
            return said - p, p * (1 - p), p * (1 - p)
        flip = self.flip[self.annotator]
        first = flip + (1 - 2 * flip) * p
        rise = (1 - 2 * flip) * p * (1 - p)
        apart = np.maximum(first * (1 - first), _TINY)
        slope = (said - first) * rise / apart
        squares = said / np.maximum(first**2, _TINY) + (1 - said) / np.maximum((1 - first) ** 2, _TINY)
        observed = rise**2 * squares - slope * (1 - 2 * p)
        return slope, rise**2 / apart, observed

    @property
    def n_covariates(self) -> int:
        """Number of covariates."""
        return int(self.x.shape[1])

    def by_item(self, values: FloatArray) -> FloatArray:
        """Return sums over votes, positive for the first and negative for the second item."""
        gained = np.bincount(self.first, values, self.n_items)
        return np.asarray(gained - np.bincount(self.second, values, self.n_items))

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Return sums over each annotator's votes."""
        return np.asarray(np.bincount(self.annotator, values, self.n_annotators), dtype=np.float64)

    def laplacian(self, values: FloatArray) -> FloatArray:
        """Return the sum over votes of values times the square of the difference of their items."""
        n = self.n_items
        cross = np.bincount(self.first * n + self.second, values, n * n).reshape(n, n)
        cross = cross + cross.T
        return np.asarray(np.diag(cross.sum(axis=1)) - cross)


@dataclass(frozen=True)
class Variances:
    """Variance of the scores, and standard deviation of each covariate's coefficients over annotators."""

    score: float
    sd: FloatArray


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode of the posterior given the variances, and the normal approximation there.

    scores, common, own: Parameters; ``own`` has shape (annotators, covariates).
    free: Which covariates have a common coefficient.
    log_evidence: Laplace approximation of the log marginal likelihood.
    covariance: Of scores and free common coefficients, in this order.
    follow, of shape (annotators, covariates, scores and common): By how much ``own`` falls with these.
    inner, of shape (annotators, covariates, covariates): Covariance of ``own`` given these.
    """

    scores: FloatArray
    common: FloatArray
    own: FloatArray
    free: BoolArray
    log_evidence: float
    covariance: FloatArray
    follow: FloatArray
    inner: FloatArray

    @property
    def score_variance(self) -> float:
        """The most likely variance of the scores, given this posterior."""
        n = len(self.scores)
        return (float(self.scores @ self.scores) + float(np.trace(self.covariance[:n, :n]))) / n


def find_mode(votes: CovariateVotes, variances: Variances, free: BoolArray, start: Mode | None = None) -> Mode:
    """Maximise the posterior by Newton's method."""
    n, c, k = votes.n_items, votes.n_covariates, votes.n_annotators
    scores, common, own = (
        (np.zeros(n), np.zeros(c), np.zeros((k, c))) if start is None else (start.scores, start.common, start.own)
    )
    value = log_posterior(votes, variances, free, scores, common, own)
    system_at = partial(_System.at, votes, variances, free)
    for _ in range(_MOST_NEWTON):
        try:
            outer, inner = system_at(scores, common, own, observed=True).step()
        except np.linalg.LinAlgError:
            # Where the posterior is not concave, Fisher scoring still leads upwards.
            outer, inner = system_at(scores, common, own).step()
        size = max(float(np.abs(outer).max(initial=0.0)), float(np.abs(inner).max(initial=0.0)))
        share = 1.0
        while True:
            moved = common.copy()
            moved[free] += share * outer[n:]
            trial = scores + share * outer[:n], moved, own + share * inner
            reached = log_posterior(votes, variances, free, *trial)
            # Near the mode a full step is right, whatever rounding says of its gain.
            if reached >= value or size < 1e-4 or share < 1e-9:
                break
            share *= 0.5
        (scores, common, own), value = trial, reached
        if size < _LAST_STEP:
            break
    system = system_at(scores, common, own)
    normal = 0.5 * (np.count_nonzero(free) * np.log(_COMMON_PRECISION) - n * np.log(variances.score))
    normal -= k * float(np.log(variances.sd).sum())
    return Mode(
        scores,
        common,
        own,
        free,
        value + normal - 0.5 * system.log_determinant,
        cho_solve(system.factor, np.eye(len(system.outer))),
        system.follow,
        system.inverse,
    )


def log_posterior(
    votes: CovariateVotes,
    variances: Variances,
    free: BoolArray,
    scores: FloatArray,
    common: FloatArray,
    own: FloatArray,
) -> float:
    """Return log-likelihood plus log prior, without constants."""
    fit = votes.log_likelihoods(margins(votes, scores, common, own))
    prior = float(scores @ scores) / variances.score + _COMMON_PRECISION * float((common[free] ** 2).sum())
    return float((votes.weight * fit).sum()) - 0.5 * (prior + float(((own / variances.sd) ** 2).sum()))


def margins(votes: CovariateVotes, scores: FloatArray, common: FloatArray, own: FloatArray) -> FloatArray:
    """Return the log-odds of each vote for its first item."""
    coefficient = (common + own)[votes.annotator]
    return np.asarray(scores[votes.first] - scores[votes.second] + (votes.x * coefficient).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _System:
    """Newton's equations; deviations of annotators, which only meet through scores and common part, are eliminated.

    slope, inner_slope: Gradient in scores and common coefficients, and in deviations.
    outer: Negative second derivative in the former after the elimination: expected, or observed.
    inverse, follow: As ``inner`` and ``follow`` of :class:`Mode`.
    """

    slope: FloatArray
    inner_slope: FloatArray
    outer: FloatArray
    inverse: FloatArray
    follow: FloatArray
    log_inner: float

    @classmethod
    def at(
        cls,
        votes: CovariateVotes,
        variances: Variances,
        free: BoolArray,
        scores: FloatArray,
        common: FloatArray,
        own: FloatArray,
        *,
        observed: bool = False,
    ) -> _System:
        n, k, c = votes.n_items, votes.n_annotators, votes.n_covariates
        slope, *curvatures = votes.derivatives(margins(votes, scores, common, own))
        pull, curvature = votes.weight * slope, votes.weight * curvatures[observed]
        pulls = np.stack([votes.by_annotator(pull * votes.x[:, i]) for i in range(c)], axis=1) if c else own
        of_common = pulls.sum(axis=0) - _COMMON_PRECISION * common
        blocks, cross = np.empty((k, c, c)), np.empty((n, k, c))
        for i in range(c):
            bent = curvature * votes.x[:, i]
            gained = np.bincount(votes.first * k + votes.annotator, bent, n * k)
            lost = np.bincount(votes.second * k + votes.annotator, bent, n * k)
            cross[:, :, i] = (gained - lost).reshape(n, k)
            for j in range(i, c):
                blocks[:, i, j] = blocks[:, j, i] = votes.by_annotator(bent * votes.x[:, j])
        outer = np.empty((n + np.count_nonzero(free),) * 2)
        outer[:n, :n] = votes.laplacian(curvature) + np.eye(n) / variances.score
        outer[:n, n:] = cross.sum(axis=1)[:, free]
        outer[n:, :n] = outer[:n, n:].T
        outer[n:, n:] = (blocks.sum(axis=0) + _COMMON_PRECISION * np.eye(c))[np.ix_(free, free)]
        ties = np.concatenate([cross, blocks.transpose(1, 0, 2)[free]])
        held = blocks + np.diag(variances.sd**-2.0)
        # Fails where the deviations are at no maximum, as the factor of ``outer`` does for the others.
        root = np.linalg.cholesky(held) if c else held
        inverse = np.asarray(np.linalg.inv(held) if c else held, dtype=np.float64)
        follow = np.asarray(inverse @ ties.transpose(1, 2, 0))
        outer -= ties.reshape(len(ties), k * c) @ follow.reshape(k * c, len(ties))
        return cls(
            np.concatenate([votes.by_item(pull) - scores / variances.score, of_common[free]]),
            pulls - own / variances.sd**2,
            outer,
            inverse,
            follow,
            2.0 * float(np.log(np.einsum("kcc->kc", root)).sum()),
        )

    @cached_property
    def factor(self) -> tuple[FloatArray, bool]:
        lower, is_lower = cho_factor(self.outer, lower=True)
        return np.asarray(lower), bool(is_lower)

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.log(np.diag(self.factor[0])).sum()) + self.log_inner

    def step(self) -> tuple[FloatArray, FloatArray]:
        """Return Newton's step in scores and common coefficients, and in deviations."""
        slope = self.slope - np.einsum("kcm,kc->m", self.follow, self.inner_slope)
        outer = np.asarray(cho_solve(self.factor, slope))
        return outer, np.einsum("kcd,kd->kc", self.inverse, self.inner_slope) - self.follow @ outer
