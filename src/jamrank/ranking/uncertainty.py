"""Standard errors of scores and intervals of ranks, by a normal approximation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from jamrank.engines import Links
from jamrank.ranking.marginals import is_dense, score_variances
from jamrank.ranking.order import ranks

__all__ = ["Uncertainty", "independent", "laplace", "needs_links"]

Doubles = NDArray[np.float64]

# Up to here the whole covariance of the scores is formed; beyond it only its diagonal is approximated.
_MOST_ITEMS_DENSE = 2000
_DRAWS = 400


@dataclass(frozen=True)
class Uncertainty:
    """Standard error of each score and a 95 % interval for each rank; NaN and 0 where unknown."""

    score_se: Doubles
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]

    @classmethod
    def unknown(cls, n_items: int) -> Uncertainty:
        """Return no knowledge at all."""
        return cls(np.full(n_items, np.nan), np.zeros(n_items, np.int64), np.zeros(n_items, np.int64))


def needs_links(n_links: int, n_items: int) -> bool:
    """Tell whether :func:`laplace` needs the information by pair of items, or only by item."""
    return n_items <= _MOST_ITEMS_DENSE or not is_dense(n_links, n_items)


def laplace(
    scores: Doubles, degree: Doubles, links: Links | None, precision: float, loose: Doubles | None = None
) -> Uncertainty:
    """Approximate the posterior of the scores by a normal with the given information.

    Parameters
    ----------
    scores : ndarray
        Where the posterior is highest.
    degree : ndarray
        How sharply the log-likelihood bends in each score.
    links : Links or None
        How sharply it bends in the difference of two scores; None where :func:`needs_links` says so.
    precision : float
        Prior precision of each score.
    loose : ndarray of shape (items, columns), optional
        What moves many scores together and is not known either: its product with its transpose is added to the
        covariance.
    """
    n_items = len(scores)
    if n_items > _MOST_ITEMS_DENSE:
        return independent(scores, np.sqrt(score_variances(degree, precision, links)), loose)
    assert links is not None
    cells = links.first.astype(np.int64) * n_items + links.second
    between = np.bincount(cells, links.curvature, n_items**2).reshape(n_items, n_items)
    # Only differences of scores mean anything: pin the common level.
    information: Doubles = np.diag(degree + precision) - between - between.T + 1.0 / n_items
    factor = _factor(information)
    covariance = cho_solve((factor, True), np.eye(n_items))
    centred = covariance - covariance.mean(axis=0)
    variance = np.diag(centred - centred.mean(axis=1)[:, None])
    rng = np.random.default_rng(0)
    draws = scores[:, None] + solve_triangular(factor.T, rng.standard_normal((n_items, _DRAWS)), lower=False)
    return _from_draws(*_loosened(variance, draws, loose, rng))


def _factor(information: Doubles) -> Doubles:
    """Return the Cholesky factor, of a matrix raised just enough to be positive definite."""
    ridge, scale = 0.0, float(np.diag(information).max())
    while True:
        try:
            factor, _ = cho_factor(information + ridge * np.eye(len(information)), lower=True)
            return np.tril(factor)
        except LinAlgError:
            ridge = max(10 * ridge, 1e-10 * scale)


def independent(scores: Doubles, se: Doubles, loose: Doubles | None = None) -> Uncertainty:
    """Take the scores as independent normals with the given standard errors, but for what moves them together."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((len(scores), _DRAWS if len(scores) <= 20_000 else 100))
    return _from_draws(*_loosened(se**2, scores[:, None] + se[:, None] * noise, loose, rng))


def _loosened(
    variance: Doubles, draws: Doubles, loose: Doubles | None, rng: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Return standard errors and draws with what moves scores together added."""
    if loose is None or not loose.size:
        return np.sqrt(variance), draws
    centred = loose - loose.mean(axis=0)
    moved = np.einsum("if,fd->id", centred, rng.standard_normal((centred.shape[1], draws.shape[1])))
    return np.sqrt(variance + (centred**2).sum(axis=1)), draws + moved


def _from_draws(se: Doubles, draws: Doubles) -> Uncertainty:
    drawn = np.stack([ranks(draw) for draw in draws.T], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1, method="inverted_cdf")
    return Uncertainty(se, low.astype(np.int64), high.astype(np.int64))
