"""Ranks from scores, and how well scores order items of known value."""

from __future__ import annotations

import numpy as np

from jamrank.typing import FloatArray, IntArray


def ranks(scores: FloatArray, within: float = 0.0) -> IntArray:
    """Return the rank of each item, 1 for the highest score; equal scores share the better rank.

    Neighbouring scores that differ by at most ``within`` count as equal.
    """
    order = np.argsort(-scores, kind="stable")
    with np.errstate(invalid="ignore"):  # infinite scores are equal to each other
        apart = -np.diff(scores[order]) > within
    new = np.concatenate([[True], apart])[: len(scores)]
    rank = np.empty(len(scores), dtype=np.int64)
    rank[order] = np.maximum.accumulate(np.where(new, np.arange(1, len(scores) + 1), 1))
    return rank


def order_accuracy(scores: FloatArray, truth: FloatArray) -> float:
    """Return the share of all pairs with different true values that the scores order correctly.

    A pair with equal scores counts one half. The cost is that of a sort; the pairs are not enumerated.
    """
    order = np.lexsort((scores, truth))
    value, level = truth[order], np.unique(scores, return_inverse=True)[1][order] + 1
    # Visit the items by increasing truth; a Fenwick tree counts those visited by level of score.
    tree = np.zeros(int(level.max()) + 1)
    seen, right, total = 0, 0.0, 0
    starts = np.flatnonzero(np.concatenate([[True], value[1:] != value[:-1]]))
    for begin, end in zip(starts, [*starts[1:], len(value)], strict=True):
        group = level[begin:end].tolist()
        right += sum((_below(tree, k - 1) + _below(tree, k)) / 2 for k in group)
        total += seen * len(group)
        for k in group:
            _add(tree, k)
        seen += len(group)
    return right / total if total else float("nan")


def _below(tree: FloatArray, level: int) -> float:
    count = 0.0
    while level > 0:
        count += tree[level]
        level -= level & -level
    return count


def _add(tree: FloatArray, level: int) -> None:
    while level < len(tree):
        tree[level] += 1.0
        level += level & -level
