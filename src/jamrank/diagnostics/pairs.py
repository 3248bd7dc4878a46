"""Pairs in doubt: those whose order the scores leave open, and those on which the votes are split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from jamrank.comparisons import Comparisons
from jamrank.rows import Rows

__all__ = ["Contested", "Unsettled", "contested_pairs", "unsettled_pairs"]

Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

# Items this many places apart may make an unsettled pair, and an item comes up this often at most.
_NEAR, _EACH = 10, 2
# The order of two items is settled where the other way round has less than this chance.
_SETTLED = 0.025


@dataclass(frozen=True)
class Unsettled:
    """Neighbours in the ranking whose order is open, those on which a vote would teach most first.

    Attributes
    ----------
    upper, lower : ndarray of int
        Places of the two items, the one of the higher score first.
    chance : ndarray
        Probability that the upper item beats the lower one.
    doubt : ndarray
        Probability that the lower item has the higher score in truth; NaN where scores have no standard errors.
    """

    upper: Places
    lower: Places
    chance: Doubles
    doubt: Doubles


@dataclass(frozen=True)
class Contested:
    """Pairs on which the votes are split, the most votes nearest to an even split first.

    Attributes
    ----------
    pair : ndarray of int
        Places of the pairs.
    for_first, for_second : ndarray
        Decided votes for either item of each of them.
    n_overruled : int
        Among all pairs, those whose posterior is on the other side than the majority of their votes.
    """

    pair: Places
    for_first: Doubles
    for_second: Doubles
    n_overruled: int


def unsettled_pairs(
    scores: Doubles,
    score_se: Doubles,
    chance: Callable[[Places, Places], Doubles],
    most: int = 25,
) -> Unsettled:
    """Find the pairs that one should ask about next.

    Candidates are items at most ten places apart whose order has at least 2.5 % chance of being the other way round.
    A vote on a pair whose first item wins with probability p is worth about p (1 - p) V, with V the variance of the
    difference in scores (errors taken for independent): most where the outcome is open and the scores are unknown.
    Where scores have no standard errors, the evenest come first. No item comes up more than twice.

    Parameters
    ----------
    scores, score_se : ndarray
        Of each item; errors NaN where unknown.
    chance : callable
        Gives for two arrays of items the probability that those of the first beat those of the second.
    most : int
        How many pairs to return at most.

    Returns
    -------
    Unsettled
    """
    order = np.argsort(-scores, kind="stable")
    steps = range(1, min(_NEAR, len(order) - 1) + 1)
    upper = np.concatenate([order[:-step] for step in steps] or [order[:0]])
    lower = np.concatenate([order[step:] for step in steps] or [order[:0]])
    wins = chance(upper, lower)
    variance = score_se[upper] ** 2 + score_se[lower] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        doubt = ndtr(-(scores[upper] - scores[lower]) / np.sqrt(variance))
    worth = wins * (1 - wins) * np.where(np.isfinite(variance), variance, 1.0)
    best = np.argsort(-worth.round(12), kind="stable")
    kept = _spread(upper, lower, best[~(doubt[best] < _SETTLED)], most)
    return Unsettled(upper[kept], lower[kept], wins[kept], doubt[kept])


def _spread(upper: Places, lower: Places, best: Places, most: int) -> Places:
    """Take the best pairs in which no item comes up too often."""
    taken: list[int] = []
    seen: Counter[int] = Counter()
    for place in best.tolist():
        a, b = int(upper[place]), int(lower[place])
        if len(taken) == most:
            break
        if seen[a] < _EACH and seen[b] < _EACH:
            taken.append(place)
            seen.update((a, b))
    return np.array(taken, dtype=np.int64)


def contested_pairs(votes: Comparisons, posterior: Doubles, most: int = 25) -> Contested:
    """Find the pairs on which annotators disagree most, and count those that the model decides against the majority.

    With n decided votes on a pair, a share s of them for its first item, pairs are ordered by ``n (1 - |2 s - 1|)²``.

    Parameters
    ----------
    votes : Comparisons
        The votes.
    posterior : ndarray
        P(first beats second) of each pair.
    most : int
        How many pairs to return at most.

    Returns
    -------
    Contested
    """
    rows = Rows.per_pair(votes)
    won, decided = rows.tally()
    pair = np.arange(votes.n_pairs)[rows.pair]
    balance = np.divide(2 * won - decided, decided, out=np.ones_like(won), where=decided > 0)
    split = decided * (1 - np.abs(balance)) ** 2
    best = np.argsort(-split.round(12), kind="stable")[:most]
    best = best[split[best] > 0]
    against = np.sign(balance) * np.sign(posterior[pair] - 0.5) < 0
    return Contested(pair[best], won[best], (decided - won)[best], int(np.count_nonzero(against)))
