"""The prior of scores that features explain in part, with both variances integrated out."""

from __future__ import annotations

import numpy as np

from jamrank.typing import FloatArray

# The range of a variance of scores that is estimated; beyond it the order hardly changes.
_SMALLEST, _LARGEST = 1e-2, 9.0
# Most points of the grid in each variance, and their distance in the logarithm for one item: twice the spread of the
# logarithm of a variance of known scores.
_POINTS, _STEP = 20, 2.8


class FeaturePrior:
    """Scores are normal with covariance ``a F + b I``: what features explain, and an effect of each item.

    ``F`` is the matrix of scalar products of the features, scaled to a mean of 1 on its diagonal. A variance that is
    not given is integrated out on a grid: its root has the half of a t distribution with two degrees of freedom as
    prior.

    matrix, of shape (items, columns): Standardised features, or their kernel map.
    explained, effects: The variances ``a`` and ``b``; None for those that are integrated out.
    near: Estimates of both; the grid is about these where all of the range would take too many points.
    """

    def __init__(
        self, matrix: FloatArray, explained: float | None, effects: float | None, near: tuple[float, float]
    ) -> None:
        n_items = len(matrix)
        self.scale = max(float((matrix**2).sum()) / n_items, 1e-300)
        values, self._basis = np.linalg.eigh(matrix @ matrix.T / self.scale)
        of_features = np.maximum(values, 0.0)
        a, b = (_grid(*both, n_items) for both in zip((explained, effects), near, strict=True))
        variances = (a[:, None, None] * of_features + b[None, :, None]).reshape(-1, n_items)
        self._precision = 1.0 / variances
        prior = (_log_prior(a)[:, None] + _log_prior(b)).ravel()
        self._constant = prior - 0.5 * np.log(variances).sum(axis=1)

    def _weights(self, turned: FloatArray) -> tuple[FloatArray, float]:
        """Return how likely each point of the grid is given scores, and their log density."""
        log_joint = self._constant - 0.5 * (self._precision @ turned**2)
        most = float(log_joint.max())
        weights = np.exp(log_joint - most)
        total = float(weights.sum())
        return weights / total, most + float(np.log(total))

    def density(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density of scores, up to a constant, and its gradient."""
        turned = scores @ self._basis
        weights, value = self._weights(turned)
        return value, self._basis @ (-(weights @ self._precision) * turned)

    def precision(self, scores: FloatArray) -> FloatArray:
        """Return the precision matrix at the variances that scores suggest."""
        weights, _ = self._weights(scores @ self._basis)
        return np.asarray((self._basis * (weights @ self._precision)) @ self._basis.T)


def _grid(given: float | None, near: float, n_items: int) -> FloatArray:
    """Return variances close enough that the densities of scores at neighbours overlap."""
    if given is not None:
        return np.array([given])
    step = _STEP / np.sqrt(n_items)
    low, high = np.log(_SMALLEST), np.log(max(_LARGEST, near))
    n = int(np.ceil((high - low) / step)) + 1
    if n > _POINTS:
        # Rounded: an estimate carries rounding errors.
        centre = round(float(np.log(max(near, _SMALLEST))) / step) * step
        n, low = _POINTS, min(max(centre - 0.5 * _POINTS * step, low), high - (_POINTS - 1) * step)
    return np.asarray(np.exp(low + step * np.arange(n)))


def _log_prior(variances: FloatArray) -> FloatArray:
    """Return the log prior density of the logarithm of each variance."""
    return np.asarray(0.5 * np.log(variances) - 1.5 * np.log1p(0.5 * variances))
