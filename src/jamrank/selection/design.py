"""What votes can identify, before any fit: annotators, sides, repeated pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import names_annotators
from jamrank.data.storage import DenseVotes
from jamrank.typing import BoolArray, FloatArray, IntArray

# Fewest votes, and smallest share, on pairs shown in both orders for which a position bias is identified.
_FEWEST_BOTH_WAYS, _LEAST_BOTH_WAYS = 10.0, 0.05
# If this share of the votes is on repeated pairs always shown in one order, sides are fixed or unknown.
_OFTEN_REPEATED = 0.2
# Votes on a pair, on average, that tell how hard it is for everyone, and pairs beyond which that takes long.
_VOTES_A_PAIR, _MANY_PAIRS = 3.0, 10_000
# Smallest share of the variance of sides that items do not explain.
_LEAST_UNEXPLAINED = 0.2


@dataclass(frozen=True)
class Design:
    """What the votes can identify.

    n_decided: Decided votes by weight: a folded vote of weight 3 is three votes.
    n_annotators: Annotators with decided votes.
    named: Whether the votes name their annotators.
    sides: Whether a position bias can be separated from the effects of the items.
    repeats: Whether any pair has several votes within a question, so that they may share one truth.
    lists: Whether pairs have enough votes each to tell how hard they are, and are few enough to try it.
    """

    n_decided: float
    n_annotators: int
    sides: bool
    repeats: bool
    named: bool = True
    lists: bool = False


def examine_design(votes: Comparisons) -> Design:
    """Return what the votes can identify."""
    per_annotator = votes.annotator_decided
    return Design(
        float(per_annotator.sum()),
        int(np.count_nonzero(per_annotator > 0)),
        _sides_identified(votes),
        bool((votes.pair_weight > 1).any()),
        names_annotators(votes.annotators),
        votes.n_pairs <= _MANY_PAIRS and float(votes.pair_weight.sum()) >= _VOTES_A_PAIR * votes.n_pairs,
    )


def _sides_identified(votes: Comparisons) -> bool:
    """Return whether sides are not confounded with items.

    They are identified if the same two items were shown in both orders. If pairs are rarely repeated, they are
    identified unless a score for each item explains which item was on the left.
    """
    if isinstance(votes.storage, DenseVotes) and not len(votes.storage.swapped):
        return False
    counts = decided(votes)
    pair = votes.vote_pair[counts]
    weight, swapped = votes.vote_weight[counts], votes.vote_swapped[counts]
    if not swapped.any() or swapped.all():
        return False
    first, second, shown = _by_items(votes, pair, weight, swapped)
    total, turned = shown.sum(axis=1), shown[:, 1]
    both = 2 * float(np.minimum(turned, total - turned).sum())
    if both >= max(_FEWEST_BOTH_WAYS, _LEAST_BOTH_WAYS * float(total.sum())):
        return True
    if float(total[total > 1].sum()) >= _OFTEN_REPEATED * float(total.sum()):
        return False
    return _unexplained(first, second, shown, votes.n_items) >= _LEAST_UNEXPLAINED


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
    total = shown.sum(axis=1)
    side, root = (shown[:, 0] - shown[:, 1]) / total, np.sqrt(total)
    row = np.arange(len(first))
    ends = np.concatenate([root, -root]), (np.concatenate([row, row]), np.concatenate([first, second]))
    incidence = csr_array(ends, shape=(len(first), n_items))
    target = root * side
    return float(lsqr(incidence, target, iter_lim=200)[3] ** 2 / max(float((target**2).sum()), 1e-300))
