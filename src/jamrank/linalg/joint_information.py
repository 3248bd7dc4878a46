"""The observed information on scores and flips together, and the covariance that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.sparse import csr_array

from jamrank.engines import Information
from jamrank.typing import FloatArray, Int32Array

# Up to this number of parameters dense matrices are formed.
_MOST_PARAMETERS, _MOST_ROWS = 1200, 3_000_000
# Smallest addition to the diagonal, relative to its largest entry: less is lost in rounding.
_LEAST_RAISE = 1e-10


def is_small(n_params: int, n_rows: int) -> bool:
    """Return whether the covariance of all parameters may be formed."""
    return n_params <= _MOST_PARAMETERS and n_rows <= _MOST_ROWS


def score_information(degree: FloatArray, first: Int32Array, second: Int32Array, link: FloatArray) -> FloatArray:
    """Return the information on the scores as a matrix: the Laplacian of the links."""
    n_items = len(degree)
    cells = first.astype(np.int64) * n_items + second
    between = np.bincount(cells, link, n_items**2).reshape(n_items, n_items)
    return np.asarray(np.diag(degree) - between - between.T)


def joint_information(
    at: Information,
    known: FloatArray,
    loglik_jacobian: csr_array,
    precision: float | FloatArray,
    features: FloatArray | None = None,
) -> FloatArray:
    """Return the observed information on scores and noise, prior included.

    By Louis' identity it is the complete-data information minus the variance of the complete-data gradient over the
    latent truths.

    at: Sums over the rows.
    known: Complete-data information on each parameter of the noise, prior included.
    leaning, of shape (2 coins, parameters): Derivative of the log-odds of the truth in each of these, by kind of
        vote.
    precision: Of the prior of each score; with features, of each weight.
    features, of shape (items, features): Features; if given, the information is on their weights.
    """
    scores = score_information(at.degree, at.links.first, at.links.second, at.links.curvature)
    cross = -(at.cross @ loglik_jacobian).toarray()
    noise = np.diag(known) - (loglik_jacobian.T @ at.kinds @ loglik_jacobian).toarray()
    if features is not None:
        scores, cross = features.T @ scores @ features, features.T @ cross
    scores[np.diag_indices_from(scores)] += precision
    return np.asarray(np.block([[scores, cross], [cross.T, noise]]))


@dataclass(frozen=True)
class Factored:
    """A matrix as the product of its Cholesky factor and the transpose.

    lower: The factor.
    raised: What was added to the diagonal to make the matrix positive definite; 0 where it was.
    """

    lower: FloatArray
    raised: float

    def inverse(self) -> FloatArray:
        """Return the inverse of the matrix."""
        half = self.spread()
        return np.asarray(half @ half.T)

    def spread(self) -> FloatArray:
        """Return the matrix that turns independent normals into normals whose covariance is the inverse."""
        return np.asarray(solve_triangular(self.lower, np.eye(len(self.lower)), lower=True).T)


def factored(matrix: FloatArray) -> Factored:
    """Return the Cholesky factor of a symmetric matrix, raised just enough to be positive definite."""
    try:
        return Factored(cholesky(matrix, lower=True), 0.0)
    except LinAlgError:
        pass
    values = np.linalg.eigvalsh(matrix)
    raised = max(-float(values[0]), 0.0) + _LEAST_RAISE * float(np.abs(values).max())
    while True:
        try:
            return Factored(cholesky(matrix + raised * np.eye(len(matrix)), lower=True), raised)
        except LinAlgError:
            raised *= 10
