"""Standard errors of scores and intervals of ranks, by a normal approximation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.engines import Links
from jamrank.inference.ranks import ranks
from jamrank.linalg.joint_information import Factored, factored, score_information
from jamrank.linalg.marginals import is_dense, score_variances
from jamrank.typing import FloatArray, IntArray

# Up to this number of items the covariance of the scores is formed; beyond it only its diagonal is approximated.
MOST_ITEMS_DENSE = 2000
_DRAWS = 400
_TAILS = [0.025, 0.975]
_NORMAL_95 = 1.959963984540054
# Scores closer than this differ only by rounding.
_SAME_SCORE = 1e-9


@dataclass(frozen=True)
class Uncertainty:
    """Standard error of each score and 95 % intervals of scores and ranks; NaN and 0 where unknown.

    Attributes
    ----------
    score_se : ndarray
        Standard error: the true score is within 1.96 standard errors with a probability of about 95 %. With draws, it
        is based on their distance from the score, which need not be their mean.
    rank_low, rank_high : ndarray of int
        Interval of each rank.
    score_low, score_high : ndarray
        Interval of each score.
    kind : str
        The method: ``posterior``, ``information``, ``independent`` or ``bootstrap``.
    raised : float
        What was added to the diagonal of an information matrix that was not positive definite; 0 where none was.
    """

    score_se: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    score_low: FloatArray = field(default_factory=lambda: np.empty(0))
    score_high: FloatArray = field(default_factory=lambda: np.empty(0))
    kind: str = "independent"
    raised: float = 0.0

    @classmethod
    def unknown(cls, n_items: int) -> Uncertainty:
        """Return an unknown uncertainty."""
        gaps = np.full(n_items, np.nan)
        return cls(gaps, np.zeros(n_items, np.int64), np.zeros(n_items, np.int64), gaps, gaps)

    @classmethod
    def of_draws(cls, scores: FloatArray, draws: FloatArray, kind: str, alike: IntArray | None = None) -> Uncertainty:
        """Return the uncertainty from draws, one per row, centred like the scores.

        ``alike`` has a number for each item, the same for those that are exchangeable: the draws of all of these are
        draws of each.
        """
        # (n + 1) p and not n p, which would cut the tails with few draws.
        low, high = pooled_quantiles(draws, _TAILS, alike, "weibull")
        # The score is not the median of its draws. The symmetric range with 95 % of them is too short on one side,
        # the one that covers their interval too long on the other: half way between covers 95 % of simulated truths.
        (least,) = pooled_quantiles(np.abs(draws - scores), [0.95], alike, "weibull")
        reach = 0.5 * (least + np.maximum(high - scores, scores - low))
        return cls(reach / _NORMAL_95, *rank_bounds(scores, draws, alike), low, high, kind)

    @classmethod
    def of_normal(
        cls, scores: FloatArray, se: FloatArray, draws: FloatArray, kind: str, raised: float = 0.0
    ) -> Uncertainty:
        """Return the uncertainty from a normal with known standard errors and draws."""
        reach = _NORMAL_95 * se
        return cls(se, *rank_bounds(scores, draws), scores - reach, scores + reach, kind, raised)


def pooled_quantiles(draws: NDArray[Any], levels: list[float], alike: IntArray | None, method: Any) -> FloatArray:
    """Return quantiles of each item's draws, pooled over exchangeable items: one row per level."""
    found = np.asarray(np.quantile(draws, levels, axis=0, method=method), dtype=np.float64)
    if alike is not None:
        for group in np.flatnonzero(np.bincount(alike) > 1):
            own = alike == group
            found[:, own] = np.quantile(draws[:, own], levels, method=method)[:, None]
    return found


def rank_bounds(scores: FloatArray, draws: FloatArray, alike: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return the 95 % interval of each rank over draws, extended to include the rank of the score."""
    low, high = pooled_quantiles(draw_ranks(draws), _TAILS, alike, "inverted_cdf").astype(np.int64)
    rank = ranks(scores) if alike is None else ranks(scores, within=_SAME_SCORE)
    return np.minimum(low, rank), np.maximum(high, rank)


def draw_ranks(draws: FloatArray) -> IntArray:
    """Return the rank of every item in each draw: one row per draw."""
    order = np.argsort(-draws, axis=1, kind="stable")
    with np.errstate(invalid="ignore"):  # infinite scores are equal to each other
        below = -np.diff(np.take_along_axis(draws, order, axis=1), axis=1) > 0
    place = np.zeros(draws.shape, dtype=np.int64)
    place[:, 1:] = np.where(below, np.arange(1, draws.shape[1]), 0)
    found = np.empty_like(place)
    np.put_along_axis(found, order, np.maximum.accumulate(place, axis=1) + 1, axis=1)
    return found


def needs_links(n_links: int, n_items: int) -> bool:
    """Return whether :func:`laplace` needs the information by pair of items, or only by item."""
    return n_items <= MOST_ITEMS_DENSE or not is_dense(n_links, n_items)


def laplace(
    scores: FloatArray,
    degree: FloatArray,
    links: Links | None,
    precision: float,
    loose: FloatArray | None = None,
    variances: FloatArray | None = None,
) -> Uncertainty:
    """Approximate the posterior of the scores by a normal with the given information.

    scores: Where the posterior is highest.
    degree: Curvature of the log-likelihood in each score.
    links: Curvature in the difference of two scores; None if :func:`needs_links` is False.
    precision: Prior precision of each score.
    loose, of shape (items, columns): Factor of a further covariance shared by many scores: its product with its
        transpose is added.
    variances: Of each score, if known more accurately than by the information.
    """
    n_items = len(scores)
    if n_items > MOST_ITEMS_DENSE:
        own = score_variances(degree, precision, links) if variances is None else variances
        return independent(scores, np.sqrt(own), loose)
    return from_information(scores, joint_information(degree, links, precision), loose, variances)


def joint_information(degree: FloatArray, links: Links | None, precision: float) -> FloatArray:
    """Return the information on all scores, with that of the prior."""
    assert links is not None
    information = score_information(degree, links.first, links.second, links.curvature)
    return np.asarray(information + precision * np.eye(len(degree)))


def from_information(
    scores: FloatArray,
    information: FloatArray,
    loose: FloatArray | None = None,
    variances: FloatArray | None = None,
) -> Uncertainty:
    """Approximate the posterior of the scores by a normal.

    scores: Where the posterior is highest.
    information: Precision of the scores, or of scores and other parameters, scores first. The scores' common level is
        left out: only differences mean anything.
    loose, of shape (items, weights): Factor of a further covariance of the scores.
    variances: Of each score given the other parameters, if known more accurately than by the information.
    """
    factor, spread = _spread(scores, information, variances)
    if loose is not None and loose.size:
        spread = np.concatenate([spread, loose - loose.mean(axis=0)], axis=1)
    se = np.sqrt((spread**2).sum(axis=1))
    return Uncertainty.of_normal(scores, se, _normal(scores, spread, _DRAWS, 0), "information", factor.raised)


def normal_draws(
    scores: FloatArray, information: FloatArray, variances: FloatArray | None, n: int, random_state: Any
) -> FloatArray:
    """Draw scores from that normal."""
    return _normal(scores, _spread(scores, information, variances)[1], n, random_state)


def _order(scores: FloatArray) -> IntArray:
    """Items sorted by score, so that draws do not depend on names."""
    return np.argsort(np.round(scores, 9), kind="stable")


def _spread(scores: FloatArray, information: FloatArray, variances: FloatArray | None) -> tuple[Factored, FloatArray]:
    """Return the factor of the information, items in order, and the map from independent normals to scores."""
    n_items, order = len(scores), _order(scores)
    place = np.concatenate([order, np.arange(n_items, len(information))])
    pinned = information[np.ix_(place, place)]
    pinned[:n_items, :n_items] += 1.0 / n_items
    factor = factored(pinned)
    half = factor.spread()[:n_items]
    spread = np.empty((n_items, n_items))
    spread[order] = factored(half @ half.T).lower
    if variances is not None:
        own = information[:n_items, :n_items]
        precision = np.diag(own)
        # Precision with the other scores integrated out, as if pairs formed a tree.
        spread *= np.sqrt(variances * (2 * precision - own**2 @ (1.0 / precision)))[:, None]
    spread -= spread.mean(axis=0)
    return factor, spread


def _normal(scores: FloatArray, spread: FloatArray, n: int, random_state: Any) -> FloatArray:
    noise = np.random.default_rng(random_state).standard_normal((n, spread.shape[1]))
    return np.asarray(scores + noise @ spread.T)


def independent_draws(scores: FloatArray, se: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw independent normal scores: one row for each item, whose draws do not depend on names."""
    noise = np.empty((len(scores), _DRAWS if len(scores) <= 20_000 else 100))
    noise[np.lexsort((np.round(se, 9), np.round(scores, 9)))] = rng.standard_normal(noise.shape)
    return np.asarray(scores[:, None] + se[:, None] * noise)


def independent(scores: FloatArray, se: FloatArray, loose: FloatArray | None = None) -> Uncertainty:
    """Return the uncertainty of independent normal scores, apart from a shared covariance."""
    rng = np.random.default_rng(0)
    drawn = independent_draws(scores, se, rng)
    if loose is not None and loose.size:
        together = loose - loose.mean(axis=0)
        drawn += np.einsum("if,fd->id", together, rng.standard_normal((together.shape[1], drawn.shape[1])))
        se = np.sqrt(se**2 + (together**2).sum(axis=1))
    return Uncertainty.of_normal(scores, se, drawn.T, "independent")
