"""The observed information on scores and flips together, and the covariance that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.sparse import csr_array

from jamrank.engines import Information
from jamrank.typing import FloatArray, Int32Array

__all__ = ["Factored", "factored", "is_small", "joint_information", "score_information"]


# Up to here matrices over all parameters are formed, in less time than people notice.
_MOST_PARAMETERS, _MOST_ROWS = 1200, 3_000_000
# A matrix is raised by no less than this share of its largest diagonal entry: less is lost in rounding.
_LEAST_RAISE = 1e-10


def is_small(n_params: int, n_rows: int) -> bool:
    """Tell whether the covariance of all parameters may be formed."""
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

    By Louis' identity it is what would be known were the truths seen, less the variance of the derivative over the
    truths that are not.

    Parameters
    ----------
    at : Information
        What the rows say.
    known : ndarray
        Information on each parameter of the noise if the truths were known, prior included.
    leaning : csr_array of shape (2 coins, parameters)
        How the log-odds of the truth change with each of these, by kind of vote.
    precision : float or ndarray
        Of the prior of each score; with features, of each weight.
    features : ndarray of shape (items, features), optional
        Where scores are linear in them: the information is on the weights then.
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

    Attributes
    ----------
    lower : ndarray
        The factor.
    raised : float
        What was added to the diagonal to make the matrix positive definite; 0 where it was.
    """

    lower: FloatArray
    raised: float

    def inverse(self) -> FloatArray:
        """Return the inverse of the matrix."""
        half = self.spread()
        return np.asarray(half @ half.T)

    def spread(self) -> FloatArray:
        """Return the matrix that turns independent normals into ones with the inverse for covariance."""
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
