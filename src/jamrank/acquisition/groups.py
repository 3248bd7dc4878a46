"""Groups of items without a vote between them, although they could be compared."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from jamrank.acquisition.pool import VotePool
from jamrank.typing import BoolArray, IntArray


def compared_pairs(pool: VotePool) -> tuple[IntArray, IntArray]:
    """Return the pairs with votes."""
    _, left, right, _ = pool.columns()
    n = max(len(pool.items), 1)
    codes = np.unique(np.minimum(left, right) * n + np.maximum(left, right))
    return codes // n, codes % n


def joinable_groups(
    pool: VotePool, question: IntArray | None, more: tuple[IntArray, IntArray] | None = None
) -> IntArray | None:
    """Return the group of each item with votes, -1 without; None where votes connect all that can be compared.

    question: Of each item, where only items of the same one can be compared.
    more: Pairs that get votes too.
    """
    first, second = compared_pairs(pool)
    if more is not None:
        first, second = np.concatenate([first, more[0]]), np.concatenate([second, more[1]])
    if not len(first):
        return None
    n_items = len(pool.items)
    graph = csr_array((np.ones(len(first)), (first, second)), (n_items, n_items))
    component = connected_components(graph, directed=False)[1]
    voted = np.unique(np.concatenate([first, second]))
    kinds = np.unique(component[voted])
    n_questions = 1 if question is None else len(np.unique(question[voted]))
    if len(kinds) <= n_questions:
        return None
    found = np.full(n_items, -1, dtype=np.int64)
    found[voted] = np.searchsorted(kinds, component[voted])
    return found


def are_apart(component: IntArray | None, first: IntArray, second: IntArray) -> BoolArray:
    """Return which pairs are of items in two groups."""
    if component is None:
        return np.zeros(len(first), np.bool_)
    one, other = component[first], component[second]
    return np.asarray((one != other) & (one >= 0) & (other >= 0))
