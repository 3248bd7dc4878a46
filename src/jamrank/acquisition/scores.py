"""A normal posterior over the scores: dense, or for very many items diagonal."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from jamrank.typing import FloatArray, IntArray

# Beyond this many items only variances are kept, as for independent scores.
MOST_DENSE = 1_500


class GaussianScores:
    """Mean and covariance of the scores.

    covariance: A matrix; or a vector of variances for independent scores.
    """

    def __init__(self, mean: FloatArray, covariance: FloatArray) -> None:
        self.mean, self.covariance = mean, covariance

    @classmethod
    def from_information(
        cls, mean: FloatArray, prior: FloatArray, first: IntArray, second: IntArray, information: FloatArray
    ) -> GaussianScores:
        """Return a normal around a mean whose precision is that of the prior plus the information of votes.

        prior: Prior covariance: a matrix, or variances.
        first, second, information: Information of each vote on the difference of two scores.
        """
        n = len(mean)
        if n > MOST_DENSE:
            own = prior if prior.ndim == 1 else np.diagonal(prior)
            spread = np.bincount(first, information, n) + np.bincount(second, information, n)
            # The opponent's score is uncertain too: about half of the information remains.
            return cls(mean.copy(), 1.0 / (1.0 / own + 0.5 * spread))
        laplacian = np.zeros((n, n))
        np.add.at(laplacian, (first, second), -information)
        laplacian += laplacian.T
        laplacian[np.diag_indices(n)] = -laplacian.sum(axis=1)
        if prior.ndim == 1:
            precision = laplacian
            precision[np.diag_indices(n)] += 1.0 / prior
            covariance = cho_solve(
                cho_factor(precision, lower=True, check_finite=False), np.eye(n), check_finite=False
            )
        else:
            # Σ = S (I + L S)⁻¹ needs no inverse of the prior, which features may leave nearly singular.
            covariance = np.linalg.solve(np.eye(n) + prior @ laplacian, prior)
        return cls(mean.copy(), (covariance + covariance.T) / 2)

    @property
    def dense(self) -> bool:
        """Whether covariances are kept."""
        return self.covariance.ndim == 2

    @property
    def variance(self) -> FloatArray:
        """Variance of each score."""
        return np.diagonal(self.covariance) if self.dense else self.covariance

    @property
    def centred_variance(self) -> FloatArray:
        """Variance of the distance of each score from their mean; votes tell nothing of the level of all scores."""
        n = len(self.mean)
        if self.dense:
            with_all = self.covariance.mean(axis=1)
            found = np.diagonal(self.covariance) - 2 * with_all + with_all.mean()
        else:
            found = self.covariance * (1 - 2 / n) + self.covariance.mean() / n
        return np.asarray(np.maximum(found, 1e-9))

    def deviations(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the scores' distances from their mean, less their expected values: one row a draw."""
        noise = rng.standard_normal((count, len(self.mean)))
        if self.dense:
            jitter = 1e-9 * float(self.variance.mean()) * np.eye(len(self.mean))
            noise = noise @ np.linalg.cholesky(self.covariance + jitter).T
        else:
            noise *= np.sqrt(self.variance)
        return np.asarray(noise - noise.mean(axis=1, keepdims=True))

    def margin(self, first: IntArray | int, second: IntArray | int) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of differences of scores."""
        variance = self.variance[first] + self.variance[second]
        if self.dense:
            variance = variance - 2 * self.covariance[first, second]
        return self.mean[first] - self.mean[second], np.maximum(variance, 1e-9)

    def condition(self, first: int, second: int, mean: float, variance: float) -> None:
        """Condition on a new mean and variance of one margin."""
        old_mean, old_variance = (float(value) for value in self.margin(first, second))
        shift, shrink = (mean - old_mean) / old_variance, (old_variance - variance) / old_variance**2
        if not self.dense:
            for item, sign in ((first, 1.0), (second, -1.0)):
                own = self.covariance[item]
                self.mean[item] += sign * own * shift
                self.covariance[item] = max(own - own**2 * shrink, 1e-9)
            return
        along = self.covariance[first] - self.covariance[second]
        self.mean = self.mean + along * shift
        self.covariance -= np.outer(along * shrink, along)

    def add(self, mean: FloatArray, variance: FloatArray) -> None:
        """Add new items, independent of the others."""
        n, new = len(self.mean), len(mean)
        self.mean = np.concatenate([self.mean, mean])
        if not self.dense or n + new > MOST_DENSE:
            self.covariance = np.concatenate([self.variance, variance])
            return
        covariance = np.zeros((n + new, n + new))
        covariance[:n, :n] = self.covariance
        covariance[range(n, n + new), range(n, n + new)] = variance
        self.covariance = covariance

    def copy(self) -> GaussianScores:
        """Return a copy that can be changed."""
        return GaussianScores(self.mean.copy(), self.covariance.copy())
