"""A score that is linear in the item's features."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import ClassVar, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from jamrank.kernels import kernels
from jamrank.typing import FloatArray

_BLOCK = 64
# Of a row, what is less than this part of the longest is rounding.
_LEAST_REST = 1e-10


class LinearScorer:
    """Scores are ``X w``, with features standardised beforehand and a normal prior on the weights.

    Where there are more features than items, votes say nothing of weights outside the rows' span, and the prior says
    the same of all directions. The parameters are then coordinates in that span, no more than items: the same
    scores, likelihood and prior, and no matrix of features by features.

    Parameters
    ----------
    standardised : ndarray of shape (items, features)
        The features, each with mean 0 and standard deviation 1.
    variance : float, optional
        Prior variance of each weight; None for no prior.
    """

    free: ClassVar[bool] = False
    level_matters: ClassVar[bool] = True

    # Kernels instead of @: BLAS may add in another order with another number of threads, and results must not
    # depend on that.

    def __init__(self, standardised: FloatArray, variance: float | None) -> None:
        self.wide = _is_wide(standardised)
        self._basis = row_space(standardised) if self.wide else None
        self._columns = np.ascontiguousarray(standardised.T)
        if self._basis is not None:
            self._columns = np.einsum("rf,if->ri", self._basis, standardised)
        self.matrix = standardised if self._basis is None else np.ascontiguousarray(self._columns.T)
        self.n_params = self.matrix.shape[1]
        self.variance = variance
        self.precision = np.full(self.n_params, 0.0 if variance is None else 1.0 / variance)

    def with_variance(self, variance: float | None) -> Self:
        """Return the same scorer with another prior variance of the weights."""
        other = copy(self)
        other.variance = variance
        other.precision = np.full(self.n_params, 0.0 if variance is None else 1.0 / variance)
        return other

    def weights(self, theta: FloatArray) -> FloatArray:
        """Return the weight of each feature."""
        return theta if self._basis is None else np.asarray(np.einsum("rf,r->f", self._basis, theta))

    def weight_variances(self, root: FloatArray) -> FloatArray:
        """Return the variance of each feature's weight, given a root of the covariance of the parameters.

        Of directions that the rows do not span, the prior is all that is known.
        """
        if self._basis is None:
            return np.asarray((root**2).sum(axis=1))
        within = (np.einsum("rf,rs->fs", self._basis, root) ** 2).sum(axis=1)
        outside = np.maximum(1.0 - np.einsum("rf,rf->f", self._basis, self._basis), 0.0)
        return np.asarray(within + outside * (self.variance or 0.0))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return ``X w``."""
        return self.forward(theta)

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return ``X`` times a direction of the weights."""
        scores = np.empty(self._columns.shape[1])
        kernels.sum_of_rows(self._columns.ravel(), np.ascontiguousarray(direction), scores)
        return scores

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return a step in the same direction that changes no score by too much."""
        far = float(np.abs(self.forward(step)).max(initial=0.0))
        return step if far <= longest else step * (longest / far)

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return ``Xᵀ`` times a vector over items."""
        sums = np.empty(self.n_params)
        kernels.row_products(self._columns.ravel(), np.ascontiguousarray(per_item), sums)
        return sums

    def blocks(self) -> list[slice]:
        """Return one block."""
        return [slice(0, self.n_params)]

    def design(self) -> FloatArray:
        """Return the features by item and parameter."""
        return self.matrix

    def effects(self) -> None:
        """Return None: there are no item effects."""

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return the parameters of the earlier weights."""
        if weights is None:
            return theta
        return weights if self._basis is None else np.asarray(np.einsum("rf,f->r", self._basis, weights))

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
            parts = [dpotrs(factor, vector[block])[0] for factor, block in zip(factors, blocks, strict=True)]
            return np.concatenate(parts)

        return solve

    def _factor(self, block: slice, degree: FloatArray, mean: FloatArray) -> FloatArray:
        curvature = np.empty((len(mean), len(mean)))
        # Only the part above the diagonal is used.
        kernels.weighted_gram(self._columns[block].ravel(), mean, np.ascontiguousarray(degree), curvature.ravel())
        diagonal = np.einsum("ff->f", curvature)
        diagonal += self.precision[block] + 1e-9 * max(float(diagonal.max(initial=0.0)), 1e-9)
        # LAPACK itself: scipy's checks take longer than factoring a small matrix.
        factor: FloatArray
        factor, failed = dpotrf(curvature, clean=0)
        if failed:
            raise np.linalg.LinAlgError("the curvature of the features is not positive definite")
        return factor


def _is_wide(matrix: FloatArray) -> bool:
    return bool(matrix.shape[1] > len(matrix))


def row_space(matrix: FloatArray) -> FloatArray:
    """Return orthonormal rows that span those of a matrix, by Gram and Schmidt's method with repeated projection.

    Rows are taken in the order of their values, so that neither names nor order of the items matter.
    """
    rows = np.unique(matrix, axis=0)
    longest = float(np.sqrt(np.einsum("if,if->i", rows, rows).max(initial=0.0)))
    basis, rank = np.empty_like(rows), 0
    for row in rows:
        found, before, left = basis[:rank], np.inf, float(np.sqrt(np.einsum("f,f->", row, row)))
        # Twice is enough: the second time little is left to take away.
        while left > _LEAST_REST * longest and left < before * np.sqrt(0.5):
            before = left
            row = row - np.einsum("r,rf->f", np.einsum("rf,f->r", found, row), found)
            left = float(np.sqrt(np.einsum("f,f->", row, row)))
        if left > _LEAST_REST * longest:
            basis[rank] = row / left
            rank += 1
    return basis[:rank].copy()
