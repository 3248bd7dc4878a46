"""How often the items of one group rank above those of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from jamrank.errors import ParameterError
from jamrank.typing import BoolArray, FloatArray, IntArray

# Numbers held at a time for each of the few arrays that a chunk of resamples needs.
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True)
class GroupShare:
    """Share of the pairs between groups A and B in which A's item ranks above.

    Attributes
    ----------
    share : float
        0.5 where neither group is above the other.
    low, high : float
        Interval of the share over items; NaN if no resample had a pair.
    n_pairs : int
        Pairs between the groups.
    """

    share: float
    low: float
    high: float
    n_pairs: int


def group_share(
    first: ArrayLike,
    second: ArrayLike,
    verdict: ArrayLike,
    member: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> GroupShare:
    """Return how often items of group A rank above items of group B, over the pairs between them.

    With every pair once, and verdicts by a score, this is the statistic of Mann and Whitney divided by its largest
    value. The interval is a percentile bootstrap over items, not pairs: pairs that share an item are dependent. Items
    of A and of B are drawn with replacement, separately, and a pair counts as often as both its items together were
    drawn: the product of the two counts. Verdicts are taken as known; their errors are not in the interval.

    Parameters
    ----------
    first, second : array-like of int
        Codes of the items of each pair, such as ``votes.pair_first`` and ``votes.pair_second``. Pairs within a
        group are left out; the same two items may be there more than once.
    verdict : array-like
        For each pair, 1 where the first item ranks above, 0 where the second does, 0.5 if undecided. Any number
        between is a probability and leads to the expected share.
    member : array-like of bool
        For each item, True for group A, False for group B.
    level : float
        Coverage probability of the interval.
    n_resamples : int
        Bootstrap resamples. Those in which no pair is left are dropped.
    random_state : int, Generator or None
        Fixes the resamples.

    Returns
    -------
    GroupShare
    """
    if not 0 < level < 1:
        raise ParameterError(f"level is {level!r}; expected a probability between 0 and 1, neither included")
    if not (isinstance(n_resamples, (int, np.integer)) and n_resamples >= 1):
        raise ParameterError(f"n_resamples is {n_resamples!r}; expected a whole number of at least 1")
    in_a = _members(member)
    a, b, a_above = _between(*_pairs(first, second, verdict, len(in_a)), in_a)
    n_a = int(in_a.sum())
    shares = _resampled(a, b, a_above, n_a, len(in_a) - n_a, n_resamples, np.random.default_rng(random_state))
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(shares, tails) if len(shares) else (np.nan, np.nan)
    return GroupShare(float(a_above.mean()), float(low), float(high), len(a_above))


def _members(member: ArrayLike) -> BoolArray:
    in_a = np.asarray(member)
    if in_a.dtype.kind != "b" or in_a.ndim != 1:
        raise ParameterError("member is not a list of booleans; expected True or False for each item")
    return in_a


def _pairs(
    first: ArrayLike, second: ArrayLike, verdict: ArrayLike, n_items: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the columns of the pairs, checked."""
    codes = {"first": np.asarray(first), "second": np.asarray(second)}
    try:
        above = np.asarray(verdict, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("a verdict is not a number; expected one between 0 and 1 for each pair") from None
    shapes = {name: column.shape for name, column in {**codes, "verdict": above}.items()}
    if len(set(shapes.values())) > 1 or above.ndim != 1:
        listed = ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in shapes.items())
        raise ParameterError(f"columns that do not match ({listed}); expected one value for each pair")
    for name, column in codes.items():
        if len(column) and (column.dtype.kind not in "iu" or column.min() < 0 or column.max() >= n_items):
            raise ParameterError(
                f"{name} has a value that is not the code of an item; expected whole numbers below {n_items}"
            )
    outside = ~((above >= 0) & (above <= 1))
    if outside.any():
        pair = int(outside.argmax())
        raise ParameterError(f"verdict of pair {pair} is {above[pair]:g}; expected a number between 0 and 1")
    return codes["first"].astype(np.int64), codes["second"].astype(np.int64), above


def _between(
    first: IntArray, second: IntArray, above: FloatArray, in_a: BoolArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs between the groups: places within A, places within B, and how far A's item is above."""
    between = in_a[first] != in_a[second]
    if not between.any():
        raise ParameterError("no pair between the groups; expected at least one, with one item True in member")
    first, second, above = first[between], second[between], above[between]
    place = np.where(in_a, np.cumsum(in_a), np.cumsum(~in_a)) - 1
    turned = in_a[second]
    a, b = np.where(turned, second, first), np.where(turned, first, second)
    return place[a], place[b], np.where(turned, 1 - above, above)


def _resampled(
    a: IntArray, b: IntArray, above: FloatArray, n_a: int, n_b: int, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the share in each resample that has a pair."""
    # One product gives both the sums of verdicts and the numbers of pairs.
    rows, columns = np.concatenate([a, a]), np.concatenate([b, b + n_b])
    sums = csr_array((np.concatenate([above, np.ones(len(above))]), (rows, columns)), shape=(n_a, 2 * n_b))
    chunk = max(1, _MOST_NUMBERS // (n_a + 2 * n_b))
    totals = np.concatenate(
        [_totals(sums, n_a, n_b, min(chunk, n_resamples - begin), rng) for begin in range(0, n_resamples, chunk)]
    )
    totals = totals[totals[:, 1] > 0]
    shares: FloatArray = totals[:, 0] / totals[:, 1]
    return shares


def _totals(sums: Any, n_a: int, n_b: int, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return the sum of verdicts and the number of pairs in each of some resamples."""
    n_items = n_a + n_b
    # Row by row from one stream, so that the draws do not depend on the chunk size.
    drawn = rng.integers(np.repeat([n_a, n_b], [n_a, n_b]), size=(n_resamples, n_items))
    drawn[:, n_a:] += n_a
    drawn += np.arange(n_resamples)[:, None] * n_items
    counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)
    sums_by_b = (counts[:, :n_a] @ sums).reshape(n_resamples, 2, n_b)
    totals: FloatArray = np.einsum("rkb,rb->rk", sums_by_b, counts[:, n_a:])
    return totals
