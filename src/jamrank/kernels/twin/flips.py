"""Numpy twin of the posterior density of scores and flips."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels.twin.passes import expectation
from jamrank.typing import FloatArray, Int32Array, IntArray

_LARGEST_RATIO = 1e130


@np.errstate(over="ignore")
def flip_density(
    start: IntArray,
    second: NDArray[np.integer],
    pattern: NDArray[np.integer],
    weight: FloatArray,
    list_start: IntArray,
    vote: Int32Array,
    vote_weight: FloatArray,
    vote_counts: FloatArray,
    prior: FloatArray,
    largest_logit: float,
    item_place: IntArray,
    group_place: IntArray,
    oriented: bool,
    x: FloatArray,
    slope: FloatArray,
) -> float:
    """Compute the log density of scores and logits of flips, without the prior of the scores, and its gradient.

    start, second, pattern, weight: Rows, as :func:`expectation` has them.
    list_start, vote, vote_weight: The list of votes of each pattern.
    vote_counts: Two for each annotator, as in :class:`jamrank.noise.Flip`.
    prior: Pseudo-votes that are wrong, those that are right, and the logits of the flips at the mode.
    largest_logit: Logits beyond this have the prior density there.
    item_place, group_place: The item, and the annotator, of each entry of ``x``: scores, then logits.
    oriented: Whether the density is 0 where the votes as a whole point the wrong way.
    slope: Receives the gradient.
    Returns NaN where the likelihoods of a list under the two truths are too far apart for one table of ratios.
    """
    n_items, n_groups, n_lists = len(item_place), len(group_place), len(list_start) - 1
    scores, logits = np.empty(n_items), np.empty(n_groups)
    scores[item_place], logits[group_place] = x[:n_items], x[n_items:]
    said_second, said_first = vote_counts.reshape(-1, 2).T
    errors, correct, mode = prior.reshape(3, -1)
    log_flip, log_keep, flip = -np.logaddexp(0, -logits), -np.logaddexp(0, logits), 1 / (1 + np.exp(-logits))
    of_list = np.repeat(np.arange(n_lists), np.diff(list_start))
    by_vote = vote_weight * np.where(vote % 2 == 1, logits[vote // 2], -logits[vote // 2])
    ratio = np.exp(np.bincount(of_list, by_vote, n_lists))
    if not (ratio.min(initial=1.0) >= 1 / _LARGEST_RATIO and ratio.max(initial=1.0) <= _LARGEST_RATIO):
        return float("nan")
    gradient, by_pattern, none = np.empty(n_items), np.empty(n_lists), np.empty(0)
    rows = start, second.astype(np.int32), pattern.astype(np.int32), weight, none, ratio, scores
    value = expectation(*rows, none, none.astype(np.float32), gradient, none, by_pattern, 1)
    value += float(said_first @ log_keep + said_second @ log_flip)
    expected = np.bincount(vote, vote_weight * by_pattern[of_list], 2 * n_groups).reshape(-1, 2)
    away = np.clip(logits, -largest_logit, largest_logit) - mode
    less_keep, less_flip = (np.log1p(np.expm1(-by) / (1 + np.exp(at))) for by, at in ((away, mode), (-away, -mode)))
    value -= float(errors @ less_keep + correct @ less_flip)
    wrong = expected[:, 0] + said_first - expected[:, 1]
    votes = said_second + said_first
    on_logits = wrong + errors - (votes + errors + correct) * flip
    slope[:] = np.concatenate([gradient[item_place], on_logits[group_place]])
    return -np.inf if oriented and float(votes @ (1 - 2 * flip)) < 0 else value
