"""Pairs in doubt: those whose order the ranking leaves open, and those on which the votes are split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jamrank.data.comparisons import Comparisons
from jamrank.rows.duels import Duels
from jamrank.typing import FloatArray, IntArray

__all__ = ["SETTLED", "Contested", "Unsettled", "contested_pairs", "unsettled_pairs"]


# The order of two items is settled where it is at least so sure: the interval of their difference leaves out 0.
SETTLED = 0.975
# Up to so many items every pair is looked at, of more those this many places apart.
_ALL_PAIRS, _NEAR = 200, 10
# The smaller side of a split has at least this share of the votes.
_SPLIT = 0.4
# How often an item comes up at most.
_EACH_UNSETTLED, _EACH_CONTESTED = 2, 3


@dataclass(frozen=True)
class Unsettled:
    """Pairs of items whose order is open, the least settled first.

    Attributes
    ----------
    upper, lower : ndarray of int
        IntArray of the two items, the one of the higher score first.
    above : ndarray
        Probability that the upper item is truly above the lower one; NaN where nothing is known of it.
    n_open, n_seen : int
        Pairs whose order is open, and pairs that were looked at.
    whole : bool
        Whether these are all pairs of items of one group, or only neighbours.
    """

    upper: IntArray
    lower: IntArray
    above: FloatArray
    n_open: int
    n_seen: int
    whole: bool


@dataclass(frozen=True)
class Contested:
    """Pairs of items on which the votes are split, the evenest first.

    Attributes
    ----------
    first, second : ndarray of int
        IntArray of the two items.
    for_first, for_second : ndarray
        Decided votes for either of them.
    n_overruled, n_pairs : int
        Pairs of items whose order by the scores is against the majority of their votes, of all with decided votes.
    """

    first: IntArray
    second: IntArray
    for_first: FloatArray
    for_second: FloatArray
    n_overruled: int
    n_pairs: int


def unsettled_pairs(
    scores: FloatArray,
    above: Callable[[IntArray, IntArray], FloatArray],
    group: ArrayLike | None = None,
    most: int = 15,
) -> Unsettled:
    """Find the pairs whose order is least settled, and which one should ask about next.

    They are in the order of how near the probability of their order is to 1/2, in whole percent, and among equals
    those near the top of the ranking come first. Pairs that are at least 97.5 % sure are settled. Where nothing is
    known of the probabilities, the nearest scores come first. No item comes up more than twice.

    Parameters
    ----------
    scores : ndarray
        Of each item.
    above : callable
        Gives for two arrays of items the probability that those of the first are truly above those of the second.
    group : array-like of int, optional
        Of each item: items of different groups cannot be compared.
    most : int
        How many pairs to return at most.

    Returns
    -------
    Unsettled
    """
    groups = np.zeros(len(scores), dtype=np.int64) if group is None else np.asarray(group)
    rank = np.empty(len(scores), dtype=np.int64)
    rank[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    order = np.lexsort((rank, groups))
    whole = len(order) <= _ALL_PAIRS
    steps = range(1, len(order) if whole else _NEAR + 1)
    upper = np.concatenate([order[:-step] for step in steps] or [order[:0]])
    lower = np.concatenate([order[step:] for step in steps] or [order[:0]])
    together = groups[upper] == groups[lower]
    upper, lower = upper[together], lower[together]
    sure = above(upper, lower)
    known = np.isfinite(sure)
    still = np.flatnonzero(~known | (np.maximum(sure, 1 - sure) < SETTLED))
    far = np.where(known, np.abs(sure - 0.5).round(2), scores[upper] - scores[lower])[still]
    best = still[np.lexsort((rank[lower[still]], rank[upper[still]], far))]
    kept = _spread(upper, lower, best, most, _EACH_UNSETTLED)
    return Unsettled(upper[kept], lower[kept], sure[kept], len(still), len(upper), whole)


def contested_pairs(votes: Comparisons, scores: FloatArray, most: int = 10, least: float = 4.0) -> Contested:
    """Find the pairs on which annotators disagree most, and count those that the scores decide against the majority.

    Pairs are in the order of how evenly their decided votes are split, by weight, over all questions; among equals
    those with more votes come first. The smaller side has at least two fifths of the votes, and no item comes up more
    than three times.

    Parameters
    ----------
    votes : Comparisons
        The votes.
    scores : ndarray
        Of each item.
    most : int
        How many pairs to return at most.
    least : float
        Decided votes that a pair must have.

    Returns
    -------
    Contested
    """
    duels = Duels.of(votes)
    storage = duels.wins + duels.losses
    first, second = duels.first.astype(np.int64), duels.second.astype(np.int64)
    against = np.sign(duels.margin) * np.sign(scores[first] - scores[second]) < 0
    split = np.flatnonzero((storage >= least) & (np.minimum(duels.wins, duels.losses) >= _SPLIT * storage - 1e-9))
    lead = (np.abs(duels.margin[split]) / storage[split]).round(12)
    best = split[np.lexsort((split, -storage[split].round(9), lead))]
    kept = _spread(first, second, best, most, _EACH_CONTESTED)
    return Contested(
        first[kept],
        second[kept],
        duels.wins[kept],
        duels.losses[kept],
        int(np.count_nonzero(against)),
        int(np.count_nonzero(storage > 0)),
    )


def _spread(upper: IntArray, lower: IntArray, best: IntArray, most: int, each: int) -> IntArray:
    """Take the best pairs in which no item comes up too often."""
    taken: list[int] = []
    seen: Counter[int] = Counter()
    for place in best.tolist():
        a, b = int(upper[place]), int(lower[place])
        if len(taken) == most:
            break
        if seen[a] < each and seen[b] < each:
            taken.append(place)
            seen.update((a, b))
    return np.array(taken, dtype=np.int64)
