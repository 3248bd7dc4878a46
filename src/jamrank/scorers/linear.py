"""A score that is linear in the item's features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["LinearScorer"]

Doubles = NDArray[np.float64]


class LinearScorer:
    """Scores are ``X w``, with features standardised beforehand and a normal prior on the weights.

    Parameters
    ----------
    standardised : ndarray of shape (items, features)
        The features, each with mean 0 and standard deviation 1.
    variance : float, optional
        Prior variance of each weight; None for no prior.
    """

    # einsum instead of @: BLAS may add in another order with another number of threads, and results must not
    # depend on that.

    def __init__(self, standardised: Doubles, variance: float | None) -> None:
        self.matrix = standardised
        self.n_params = standardised.shape[1]
        self.precision = np.full(self.n_params, 0.0 if variance is None else 1.0 / variance)

    def scores(self, theta: Doubles) -> Doubles:
        """Return ``X w``."""
        return self.spread(theta)

    def spread(self, direction: Doubles) -> Doubles:
        """Return ``X`` times a direction of the weights."""
        scores: Doubles = np.einsum("if,f->i", self.matrix, direction)
        return scores

    def gather(self, per_item: Doubles) -> Doubles:
        """Return ``Xᵀ`` times a vector over items."""
        sums: Doubles = np.einsum("if,i->f", self.matrix, per_item)
        return sums

    def preconditioner(self, degree: Doubles) -> Callable[[Doubles], Doubles]:
        """Return the inverse curvature of comparisons that spread evenly over the items.

        Then the Laplacian is ``D - d dᵀ / Σd`` with ``d`` its diagonal, and the curvature a covariance.
        """
        total = degree.sum()
        mean = self.gather(degree) / total if total > 0 else np.zeros(self.n_params)
        centred = self.matrix - mean
        curvature = np.einsum("if,ig->fg", centred * degree[:, None], centred)
        diagonal = np.einsum("ff->f", curvature)
        diagonal += self.precision + 1e-9 * max(float(diagonal.max(initial=0.0)), 1e-9)
        factor = cho_factor(curvature)
        return lambda vector: np.asarray(cho_solve(factor, vector))
