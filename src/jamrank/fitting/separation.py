"""Items whose scores have no finite maximum likelihood, or no common scale."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.engines import Engine, MemoryEngine
from jamrank.errors import DisconnectedWarning, SparseVotesWarning, warn
from jamrank.text import safe_text
from jamrank.typing import BoolArray, Int32Array

_NAMED = 3
# This many random links per item nearly always connect a connected graph.
_ENOUGH = 8
# Items whose links are looked at before that.
_LOOKED_AT = 64


def warn_of_loose_items(engine: Engine, items: NDArray[Any]) -> None:
    """Warn if items are not connected, or never lost or never won a vote.

    Their scores are finite only because of the prior. Votes on disk are not checked.
    """
    if not engine.decided.in_memory:
        return
    memory = cast(MemoryEngine, engine.decided)
    group = _groups(*memory.pairs, len(items))
    if group.any():
        one_of_each = np.sort(np.unique(group, return_index=True)[1])
        groups = len(one_of_each)
        warn(
            f"the items fall into {groups:,} groups with no vote between them ({_named(items[one_of_each])} are in "
            "different groups): only the prior, and features if used, compare items of different groups",
            DisconnectedWarning,
        )
    for verb, never in zip(("lost", "won"), _never(memory), strict=True):
        if never.any():
            which = f"{int(never.sum()):,} of {len(items):,} items never {verb} a vote ({_named(items[never])})"
            remedy = "only the prior keeps the scores finite"
            warn(f"diverging scores (separated data): {which}; {remedy}", SparseVotesWarning)


def _never(engine: MemoryEngine) -> tuple[BoolArray, BoolArray]:
    """Return which items never lost and which never won a vote, of those that have votes.

    Majorities, which are quick to compute, give the candidates; votes are added up only if there are any.
    """
    seen = engine.sides_taken()
    if not ((seen == 1) | (seen == 2)).any():
        return np.zeros(len(seen), np.bool_), np.zeros(len(seen), np.bool_)
    rows = engine.rows
    wins, total = rows.vote_totals()
    losses = np.maximum(total - wins, 0.0)
    won, lost = (
        np.bincount(rows.first, of_first, rows.n_items) + np.bincount(rows.second, of_second, rows.n_items)
        for of_first, of_second in ((wins, losses), (losses, wins))
    )
    # Sums of fractional weights are rounded.
    least = 1e-9 * (won + lost)
    return (won > 0) & (lost <= least), (lost > 0) & (won <= least)


def _groups(first: Int32Array, second: Int32Array, n_items: int) -> Int32Array:
    """Return the connected component of each item.

    A sample of the links is used first; other links matter only between its components.
    """
    if 2 * len(first) > (n_items - 1) * (n_items - 2):
        # More pairs than there are among all items but one, so that the graph is connected.
        return np.zeros(n_items, dtype=np.int32)
    if len(first) <= 2 * _ENOUGH * n_items:
        return _connected(first, second, n_items)
    if _reaches_all(first, second, n_items):
        return np.zeros(n_items, dtype=np.int32)
    # Random and not evenly spaced: evenly spaced rows of a regular table may always miss the same items.
    drawn = np.random.default_rng(0).integers(0, len(first), _ENOUGH * n_items)
    group = _connected(first[drawn], second[drawn], n_items)
    if not group.any():
        return group
    one, other = group[first], group[second]
    between = one != other
    return np.asarray(_connected(one[between], other[between], n_items)[group])


def _reaches_all(first: Int32Array, second: Int32Array, n_items: int) -> bool:
    """Return whether the links of a few items alone connect all, as they do where most pairs are linked."""
    begin = np.searchsorted(first, np.arange(min(_LOOKED_AT, n_items) + 1, dtype=first.dtype))
    reached = np.zeros(n_items, dtype=np.bool_)
    reached[0] = True
    for item, (start, end) in enumerate(pairwise(begin.tolist())):
        others = second[start:end]
        if reached[item] or reached[others].any():
            reached[item] = reached[others] = True
        if reached.all():
            return True
    return False


def _connected(first: Int32Array, second: Int32Array, n_items: int) -> Int32Array:
    graph = coo_array((np.ones(len(first), bool), (first, second)), shape=(n_items, n_items))
    group: Int32Array = connected_components(graph, directed=False)[1]
    return group


def _named(items: NDArray[Any]) -> str:
    listed = ", ".join(safe_text(item) for item in items[:_NAMED])
    return listed if len(items) <= _NAMED else f"{listed}, …"
