"""Expected accuracy of the order of two items, and the number of votes needed for a target."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import owens_t

from jamrank.errors import NotStoredError, ParameterError, UncertaintyWarning
from jamrank.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

# The mean is over all pairs of items, or over a random sample of this many.
_MOST_PAIRS = 20_000
# A target that needs more than this many times the present votes counts as out of reach.
_MOST_TIMES = 1e4
_PRECISE = 1e-3


def expected_accuracy(scores: FloatArray, se: FloatArray, variance: float | None, times: float = 0.0) -> float:
    """Return the expected share of pairs of items in the right order.

    With ``times`` as many further votes, distributed like the present ones, the information on each score grows by
    that factor and the prior stays. Let ``d`` and ``v`` be the posterior mean and variance of a difference now and
    ``w`` its variance then. The later estimate is normal around ``d`` with variance ``v - w``, and the order is right
    with probability ``Φ(|estimate| / √w)``, which is ``1 - 2 T(d / √v, √(w / (v - w)))`` in expectation, with Owen's
    function ``T``: estimate and truth are normal with a common mean, and the order is right where their signs agree.

    scores, se: Estimates and standard errors, of distances from the mean of all items: with equal information on
        each, these are those of independent scores times the root of ``(n - 1) / n``.
    variance: Prior variance of a score; None without a prior.
    times: Further votes, as a multiple of the present ones.
    """
    first, second = some_pairs(len(scores), _MOST_PAIRS)
    order = np.lexsort((se, scores))  # the sample must not depend on names
    scores, se = scores[order], se[order] * np.sqrt(len(scores) / (len(scores) - 1))
    precision = 0.0 if variance is None else 1.0 / variance
    se = se if variance is None else np.minimum(se, np.sqrt(variance))
    known = np.maximum(1.0 / se**2 - precision, 0.0)
    later = 1.0 / np.maximum(precision + known * (1.0 + times), 1e-12)
    gap = scores[first] - scores[second]
    now, then = (own[first] + own[second] for own in (se**2, later))
    with np.errstate(divide="ignore"):
        slope = np.sqrt(then / np.maximum(now - then, 0.0))
    return float(1.0 - 2.0 * owens_t(gap / np.sqrt(now), slope).mean())


def more_votes(
    scores: FloatArray, se: FloatArray, variance: float | None, n_votes: float, target: float
) -> float | None:
    """Return about how many further votes like the present ones bring the expected accuracy to a target.

    0 where the target is met, None where it would take more than ten thousand times the present votes.
    """

    def short_of(log_times: float) -> float:
        return expected_accuracy(scores, se, variance, float(np.expm1(log_times))) - target

    low, high = 0.0, float(np.log1p(_MOST_TIMES))
    below = short_of(low)
    if below >= 0:
        return 0.0
    above = short_of(high)
    if above < 0:
        return None
    return float(np.expm1(_root(short_of, low, below, high, above))) * n_votes


def _root(function: Callable[[float], float], low: float, below: float, high: float, above: float) -> float:
    """Return where a growing function is 0, to 1e-3, by the Illinois method; scipy.optimize takes long to import."""
    last = 0
    while high - low > _PRECISE:
        middle = low - below * (high - low) / (above - below)
        # Never so near to an end that the interval hardly shrinks.
        middle = float(np.clip(middle, low + _PRECISE / 2, high - _PRECISE / 2))
        value = function(middle)
        # An end that is kept twice in a row counts half.
        if value < 0:
            low, below, above = middle, value, above / (2 if last < 0 else 1)
        else:
            high, above, below = middle, value, below / (2 if last > 0 else 1)
        last = -1 if value < 0 else 1
    return (low + high) / 2


def some_pairs(n_items: int, most: int, group: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return all pairs of items, or of more than ``most`` a random sample, always the same one.

    group: The question of each item, where only items of the same one can be compared.
    """
    if group is not None:
        return _pairs_within(group, most)
    if n_items * (n_items - 1) // 2 <= most:
        first, second = np.triu_indices(n_items, 1)
        return first, second
    rng = np.random.default_rng(0)
    first = rng.integers(0, n_items, most)
    return first, (first + rng.integers(1, n_items, most)) % n_items


def _pairs_within(group: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of items of one group, or a sample: each item with those before it in its group."""
    order = np.argsort(group, kind="stable")
    begin = np.searchsorted(group[order], group[order])
    before = np.arange(len(order)) - begin
    ends = np.cumsum(before)
    total = int(ends[-1]) if len(ends) else 0
    picked = np.arange(total) if total <= most else np.random.default_rng(0).integers(0, total, most)
    at = np.searchsorted(ends, picked, side="right")
    return order[begin[at] + picked - (ends[at] - before[at])], order[at]


def score_errors(result: RankingResult) -> FloatArray:
    """Return the standard error of each score by the information at the fit, or from draws where that is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertaintyWarning)
            found = result.uncertainty.information()
    except (NotStoredError, ParameterError):  # loaded without votes, or without a likelihood
        return result.uncertainty.estimate.score_se
    return result.uncertainty.estimate.score_se if found.raised else found.score_se
