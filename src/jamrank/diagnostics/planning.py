"""How surely two items are in the right order, and how many more votes a target needs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from jamrank.typing import FloatArray, IntArray

__all__ = ["expected_accuracy", "more_votes"]


# Pairs of items over which the mean is taken: all of them, or so many drawn at random.
_MOST_PAIRS = 20_000
_NODES = 24
# Beyond so many times the votes that there are, a number would only be a way to say never.
_MOST_TIMES = 1e4


def expected_accuracy(scores: FloatArray, se: FloatArray, variance: float | None, times: float = 0.0) -> float:
    """Return the share of pairs of items to be expected in the right order.

    With ``times`` as many votes again as there are, spread alike: the information on each score grows by that factor,
    its prior stays. Where a score will be then is not known, only how it is spread: for a difference with mean ``d``
    and variance ``v`` now, and ``w`` then, the later estimate is normal around ``d`` with variance ``v - w``, and the
    order right with the probability ``Φ(|estimate| / √w)``. The mean of that is taken.

    Parameters
    ----------
    scores, se : ndarray
        Estimates and standard errors, as if independent.
    variance : float or None
        Prior variance of a score; None without a prior.
    times : float
        Further votes, as a multiple of those there are.
    """
    first, second = _some_pairs(len(scores))
    order = np.lexsort((se, scores))  # which pairs are drawn must not depend on names
    scores, se = scores[order], se[order]
    precision = 0.0 if variance is None else 1.0 / variance
    known = np.maximum(1.0 / se**2 - precision, 0.0)
    later = 1.0 / np.maximum(precision + known * (1.0 + times), 1e-12)
    gap = scores[first] - scores[second]
    now, then = (own[first] + own[second] for own in (se**2, later))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    estimate = gap[:, None] + np.sqrt(np.maximum(now - then, 0.0))[:, None] * nodes
    right = ndtr(np.abs(estimate) / np.sqrt(then)[:, None])
    return float((right * (weights / weights.sum())).sum(axis=1).mean())


def more_votes(
    scores: FloatArray, se: FloatArray, variance: float | None, n_votes: float, target: float
) -> float | None:
    """Return about how many votes more, like those there are, bring the expected accuracy to a target.

    0 where it is there already, None where it is out of reach: beyond ten thousand times the votes that there are.
    """

    def short_of(log_times: float) -> float:
        return expected_accuracy(scores, se, variance, float(np.expm1(log_times))) - target

    if short_of(0.0) >= 0:
        return 0.0
    most = float(np.log1p(_MOST_TIMES))
    if short_of(most) < 0:
        return None
    return float(np.expm1(brentq(short_of, 0.0, most, xtol=1e-3))) * n_votes


def _some_pairs(n_items: int) -> tuple[IntArray, IntArray]:
    if n_items * (n_items - 1) // 2 <= _MOST_PAIRS:
        first, second = np.triu_indices(n_items, 1)
        return first, second
    rng = np.random.default_rng(0)
    first = rng.integers(0, n_items, _MOST_PAIRS)
    return first, (first + rng.integers(1, n_items, _MOST_PAIRS)) % n_items
