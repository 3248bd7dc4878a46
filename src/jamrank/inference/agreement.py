"""Who agrees with whom: the share of common pairs on which two annotators give the same answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.inference.error_correlation import Couples
from jamrank.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Agreement:
    """Agreement of annotators, ordered so that those who agree are neighbours.

    Attributes
    ----------
    annotators : ndarray of int
        Indices into ``votes.annotators``, in the order of the rows and columns.
    share : ndarray
        Share of their common pairs on which two annotators agree; nan where they have too few, and on the diagonal.
    n_others : int
        Annotators with common pairs who are left out because there are too many.
    """

    annotators: IntArray
    share: FloatArray
    n_others: int


def ordered_agreement(couples: Couples, most: int) -> Agreement | None:
    """Return how often annotators agree, of at most so many; None where no two have enough pairs in common.

    Of too many, those with the most common pairs are taken.
    """
    common = couples.matrix(couples.common, np.ones(len(couples.common), dtype=bool)).sum(axis=1)
    linked = int(np.count_nonzero(common))
    if linked < 2:
        return None
    who = np.sort(np.argsort(-common, kind="stable")[: min(most, linked)])
    kept = np.isin(couples.first, who) & np.isin(couples.second, who)
    share = np.full((len(who), len(who)), np.nan)
    rows, columns = np.searchsorted(who, couples.first[kept]), np.searchsorted(who, couples.second[kept])
    share[rows, columns] = share[columns, rows] = (1 + couples.agreement[kept]) / 2
    order = _neighbours(np.nan_to_num(share, nan=0.5))
    return Agreement(who[order], share[np.ix_(order, order)], linked - len(who))


def _neighbours(share: FloatArray) -> IntArray:
    """Return an order by average linkage: the two groups that agree most are put side by side, again and again."""
    groups = [[k] for k in range(len(share))]
    while len(groups) > 1:
        member = np.array([np.isin(np.arange(len(share)), group) / len(group) for group in groups])
        mean = member @ share @ member.T
        np.fill_diagonal(mean, -1.0)
        a, b = np.unravel_index(int(np.argmax(mean)), mean.shape)
        one, other = groups[a], groups[b]
        # Of the four ways to join them, the one whose ends agree most.
        joined = max(
            ([*left, *right] for left in (one, one[::-1]) for right in (other, other[::-1])),
            key=lambda both: share[both[len(one) - 1], both[len(one)]],
        )
        groups = [group for place, group in enumerate(groups) if place not in (a, b)] + [joined]
    return np.array(groups[0], dtype=np.int64)
