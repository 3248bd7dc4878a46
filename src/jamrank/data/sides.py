"""Whether sides are confounded with the items that were shown on them."""

from __future__ import annotations

import numpy as np

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, DenseVotes
from jamrank.typing import BoolArray, FloatArray, IntArray

# Fewest votes, and smallest share, on pairs shown in both orders for which a position bias is identified.
_FEWEST_BOTH_WAYS, _LEAST_BOTH_WAYS = 10.0, 0.05
# If this share of the votes is on repeated pairs always shown in one order, sides are fixed or unknown.
_OFTEN_REPEATED = 0.2
# Smallest share of the variance of sides that items do not explain.
_LEAST_UNEXPLAINED = 0.2


def sides_identified(votes: Comparisons, fixed: bool = False) -> bool:
    """Return whether sides are not confounded with items.

    fixed: Whether sides of pairs that everybody saw in the same order are sides, unless items explain them.

    They are identified if the same two items were shown in both orders. If pairs are rarely repeated, they are
    identified unless a score for each item explains which item was on the left.
    """
    if isinstance(votes.storage, DenseVotes) and not len(votes.storage.swapped):
        return False
    counts = decided(votes)
    pair = votes.vote_pair[counts]
    weight, swapped = votes.vote_weight[counts], votes.vote_swapped[counts]
    if not swapped.any() or swapped.all() or winner_on_one_side(votes):
        return False
    first, second, shown = _by_items(votes, pair, weight, swapped)
    total, turned = shown.sum(axis=1), shown[:, 1]
    both = 2 * float(np.minimum(turned, total - turned).sum())
    if both >= max(_FEWEST_BOTH_WAYS, _LEAST_BOTH_WAYS * float(total.sum())):
        return True
    if not fixed and float(total[total > 1].sum()) >= _OFTEN_REPEATED * float(total.sum()):
        return False
    return _unexplained(first, second, shown, votes.n_items) >= _LEAST_UNEXPLAINED


def winner_on_one_side(votes: Comparisons) -> bool:
    """Return whether every decided vote is for the same side: then a file lists the winner there."""
    counts = decided(votes)
    left_won = (votes.vote_result[counts] == FIRST) != votes.vote_swapped[counts]
    return bool(
        float(votes.vote_weight[counts].sum()) >= _FEWEST_BOTH_WAYS and (left_won.all() or not left_won.any())
    )


def _by_items(
    votes: Comparisons, pair: IntArray, weight: FloatArray, swapped: BoolArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the distinct pairs of items, and how many votes showed the first on the left and on the right."""
    key = votes.pair_first[pair].astype(np.int64) * votes.n_items + votes.pair_second[pair]
    distinct, place = np.unique(key, return_inverse=True)
    shown = np.bincount(2 * place + swapped, weight, 2 * len(distinct)).reshape(-1, 2)
    return distinct // votes.n_items, distinct % votes.n_items, np.asarray(shown, dtype=np.float64)


def _unexplained(first: IntArray, second: IntArray, shown: FloatArray, n_items: int) -> float:
    """Return the share of the variance of sides that item effects do not explain."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsqr

    total = shown.sum(axis=1)
    side, root = (shown[:, 0] - shown[:, 1]) / total, np.sqrt(total)
    row = np.arange(len(first))
    ends = np.concatenate([root, -root]), (np.concatenate([row, row]), np.concatenate([first, second]))
    incidence = csr_array(ends, shape=(len(first), n_items))
    target = root * side
    return float(lsqr(incidence, target, iter_lim=200)[3] ** 2 / max(float((target**2).sum()), 1e-300))
