"""A score that is linear in the item's features."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from jamrank.kernels import kernels
from jamrank.typing import FloatArray

__all__ = ["LinearScorer"]

_BLOCK = 64


class LinearScorer:
    """Scores are ``X w``, with features standardised beforehand and a normal prior on the weights.

    Parameters
    ----------
    standardised : ndarray of shape (items, features)
        The features, each with mean 0 and standard deviation 1.
    variance : float, optional
        Prior variance of each weight; None for no prior.
    """

    free: ClassVar[bool] = False
    level_matters: ClassVar[bool] = True

    # einsum instead of @: BLAS may add in another order with another number of threads, and results must not
    # depend on that. It is faster along contiguous features.

    def __init__(self, standardised: FloatArray, variance: float | None) -> None:
        self.matrix = standardised
        self._columns = np.ascontiguousarray(standardised.T)
        self.n_params = standardised.shape[1]
        self.precision = np.full(self.n_params, 0.0 if variance is None else 1.0 / variance)

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return ``X w``."""
        return self.forward(theta)

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return ``X`` times a direction of the weights."""
        scores: FloatArray = np.einsum("fi,f->i", self._columns, direction)
        return scores

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return a step in the same direction that changes no score by too much."""
        far = float(np.abs(self.forward(step)).max(initial=0.0))
        return step if far <= longest else step * (longest / far)

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return ``Xᵀ`` times a vector over items."""
        sums: FloatArray = np.einsum("fi,i->f", self._columns, per_item)
        return sums

    def blocks(self) -> list[slice]:
        """Return one block."""
        return [slice(0, self.n_params)]

    def design(self) -> FloatArray:
        """Return the features."""
        return self.matrix

    def effects(self) -> None:
        """Return None: there are no item effects."""

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return the earlier weights."""
        return theta if weights is None else weights

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the inverse curvature of comparisons that spread evenly over the items.

        Then the Laplacian is ``D - d dᵀ / Σd`` with ``d`` its diagonal, and the curvature a covariance. Of many
        features it is taken block by block: large matrices would be factored in threads, to other last bits.
        """
        total = degree.sum()
        mean = self.adjoint(degree) / total if total > 0 else np.zeros(self.n_params)
        blocks = [slice(at, at + _BLOCK) for at in range(0, self.n_params, _BLOCK)]
        factors = [self._factor(block, degree, mean[block]) for block in blocks]

        def solve(vector: FloatArray) -> FloatArray:
            parts = [cho_solve(factor, vector[block]) for factor, block in zip(factors, blocks, strict=True)]
            return np.concatenate(parts)

        return solve

    def _factor(self, block: slice, degree: FloatArray, mean: FloatArray) -> tuple[FloatArray, bool]:
        centred = self._columns[block] - mean[:, None]
        curvature = np.zeros((len(centred), len(centred)))
        # Only the part above the diagonal is used.
        kernels.weighted_gram(centred.ravel(), np.ascontiguousarray(degree), curvature.ravel())
        diagonal = np.einsum("ff->f", curvature)
        diagonal += self.precision[block] + 1e-9 * max(float(diagonal.max(initial=0.0)), 1e-9)
        factor: tuple[FloatArray, bool] = cho_factor(curvature)
        return factor
