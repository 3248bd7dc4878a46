"""Whether pairs were chosen by earlier votes, as in Swiss rounds: later pairings then tell of held-out votes."""

from __future__ import annotations

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.rows import PairCounts

CAUTION = (
    "Items with similar results were compared more often than by chance, as if earlier votes had chosen the pairs: "
    "held-out losses cannot be trusted."
)
FORWARD = (
    "Pairs look as if they were chosen by earlier votes, so models are compared by later votes, predicted from the "
    "earlier ones."
)
# In standard errors: of sets with random pairs, fewer than 1 % look adaptive.
_ENOUGH = 2.5


def looks_adaptive(votes: Comparisons) -> bool:
    """Tell whether items with similar results met more often than chance."""
    return adaptivity(votes) > _ENOUGH


def adaptivity(votes: Comparisons) -> float:
    """Return how much more often items with similar results met than at random, in standard errors.

    The result of an item is its wins less its losses, over its votes; for a pair, without the votes on that pair.
    Where pairs do not depend on results, the products of the two results of a pair, each about the mean of all,
    cancel out but for less than a standard error.
    """
    counts = PairCounts.decided(votes)
    if len(counts.votes) < 2:
        return 0.0
    n, weight = counts.n_items, counts.votes
    net = 2 * counts.wins - weight
    total = np.bincount(counts.first, weight, n) + np.bincount(counts.second, weight, n)
    surplus = np.bincount(counts.first, net, n) - np.bincount(counts.second, net, n)
    others = [total[side] - weight for side in (counts.first, counts.second)]
    known = (others[0] > 0) & (others[1] > 0)
    if not known.any():
        return 0.0
    weight = weight[known]
    first, second = (
        (surplus[side[known]] - sign * net[known]) / own[known]
        for side, sign, own in zip((counts.first, counts.second), (1, -1), others, strict=True)
    )
    mean = float((weight * (first + second)).sum() / (2 * weight.sum()))
    product = weight * (first - mean) * (second - mean)
    return float(product.sum() / max(np.sqrt(float((product**2).sum())), 1e-300))
