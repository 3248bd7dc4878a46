"""Whether annotators prefer a side, by the votes on the same two items shown in both orders."""

from __future__ import annotations

import numpy as np

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.sides import sides_identified
from jamrank.data.storage import FIRST
from jamrank.typing import FloatArray, IntArray

THEY_PREFER_A_SIDE = "votes depend on the sides (p < 0.001)"
# Standard errors: without a preference, the sides seem to matter in one set of a thousand.
_SIGNIFICANT = 3.29


def prefer_a_side(votes: Comparisons) -> bool:
    """Tell whether votes depend on the sides.

    Within votes on two items, the covariance of who is on the left and who wins has mean 0 without a preference,
    whatever the scores; its standard error is clustered by pair within a question.
    """
    if not sides_identified(votes):
        return False
    kept = decided(votes)
    pair, weight = votes.vote_pair[kept].astype(np.int64), votes.vote_weight[kept]
    items = np.unique(votes.pair_first[pair].astype(np.int64) * votes.n_items + votes.pair_second[pair], False, True)[
        1
    ]
    left = _centred((~votes.vote_swapped[kept]).astype(np.float64), items, weight)
    won = _centred((votes.vote_result[kept] == FIRST).astype(np.float64), items, weight)
    sums = np.bincount(pair, weight * left * won)
    error = float(np.sqrt((sums**2).sum()))
    return abs(float(sums.sum())) > _SIGNIFICANT * error > 0


def _centred(values: FloatArray, group: IntArray, weight: FloatArray) -> FloatArray:
    total = np.maximum(np.bincount(group, weight), 1e-300)
    return np.asarray(values - (np.bincount(group, weight * values) / total)[group])
