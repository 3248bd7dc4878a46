"""Pairs whose order is uncertain, and pairs on which the votes are split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jamrank.data.comparisons import Comparisons
from jamrank.io.any_votes import votes_in_memory
from jamrank.io.given import VoteSource
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray, IntArray

# The order of two items is certain from this probability on: the 95 % interval of their difference excludes 0.
SETTLED = 0.975
# Up to this many items all pairs are examined; of more items, pairs up to this many ranks apart.
_ALL_PAIRS, _NEAR = 200, 10
# The minority has at least this share of the votes.
_SPLIT = 0.4
# An item is listed at most this often.
_EACH_UNSETTLED, _EACH_CONTESTED = 2, 3


@dataclass(frozen=True)
class Unsettled:
    """Pairs of items whose order is uncertain, the least certain first.

    Attributes
    ----------
    upper, lower : ndarray of int
        Indices of the two items, the higher score first.
    above : ndarray
        Probability that the upper item is truly above the lower one; NaN where it is unknown.
    n_open, n_seen : int
        Pairs whose order is uncertain, and pairs that were examined.
    whole : bool
        Whether all pairs were examined, or only near neighbours.
    """

    upper: IntArray
    lower: IntArray
    above: FloatArray
    n_open: int
    n_seen: int
    whole: bool


@dataclass(frozen=True)
class Contested:
    """Pairs of items on which the votes are split, the most even split first.

    Attributes
    ----------
    first, second : ndarray of int
        Indices of the two items.
    for_first, for_second : ndarray
        Decided votes for either of them.
    n_overruled, n_pairs : int
        Pairs whose order by the scores contradicts the majority of their votes, and all pairs with decided votes.
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
    """Find the pairs whose order is least certain.

    Sorted by the distance of their probability from 1/2, in whole percent, then by rank. A probability of
    at least 97.5 % counts as certain. Where probabilities are unknown, pairs are sorted by the difference of scores.
    An item is listed at most twice.

    Parameters
    ----------
    scores : ndarray
        Score of each item.
    above : callable
        Maps two arrays of items to the probabilities that those of the first are truly above those of the second.
    group : array-like of int, optional
        Group of each item; items of different groups cannot be compared.
    most : int
        Largest number of pairs to return.

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


def contested_pairs(
    votes: Comparisons | VoteSource, scores: FloatArray, most: int = 10, least: float = 4.0
) -> Contested:
    """Find the pairs on which annotators disagree most, and count those where the scores contradict the majority.

    Sorted by how evenly the decided votes are split, by weight, over all questions, then by the number of votes. The
    minority has at least two fifths of the votes. An item is listed at most three times.

    Parameters
    ----------
    votes : Comparisons, path-like, data frame, mapping or list
        The votes, or whatever :func:`jamrank.read_comparisons` reads; in memory.
    scores : ndarray
        Score of each item.
    most : int
        Largest number of pairs to return.
    least : float
        Smallest number of decided votes of a pair.

    Returns
    -------
    Contested
    """
    counts = PairCounts.decided(votes_in_memory(votes, "contested_pairs"))
    total = counts.wins + counts.losses
    first, second = counts.first.astype(np.int64), counts.second.astype(np.int64)
    against = np.sign(counts.margin) * np.sign(scores[first] - scores[second]) < 0
    split = np.flatnonzero((total >= least) & (np.minimum(counts.wins, counts.losses) >= _SPLIT * total - 1e-9))
    lead = (np.abs(counts.margin[split]) / total[split]).round(12)
    best = split[np.lexsort((split, -total[split].round(9), lead))]
    kept = _spread(first, second, best, most, _EACH_CONTESTED)
    return Contested(
        first[kept],
        second[kept],
        counts.wins[kept],
        counts.losses[kept],
        int(np.count_nonzero(against)),
        int(np.count_nonzero(total > 0)),
    )


def _spread(upper: IntArray, lower: IntArray, best: IntArray, most: int, each: int) -> IntArray:
    """Take the first pairs in which no item is listed too often."""
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
