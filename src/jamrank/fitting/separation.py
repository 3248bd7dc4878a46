"""Items that votes alone cannot place: they are named, and the prior places them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.engines import Engine, MemoryEngine
from jamrank.errors import DisconnectedWarning, SparseVotesWarning, warn
from jamrank.kernels import kernels
from jamrank.rows import Patterns, Rows
from jamrank.typing import FloatArray, Int32Array

__all__ = ["warn_of_loose_items"]


_NAMED = 3
# So many links an item, drawn by chance, nearly always connect what can be connected.
_ENOUGH = 8


def warn_of_loose_items(engine: Engine, items: NDArray[Any]) -> None:
    """Warn where items fall into groups without a vote between them, or win or lose all of their pairs.

    Their scores are finite, since there is a prior, but hang on it. Votes on disk are not looked over.
    """
    if not engine.decided.in_memory:
        return
    memory = cast(MemoryEngine, engine.decided)
    group = _groups(*memory.pairs, len(items))
    one_of_each = np.sort(np.unique(group, return_index=True)[1])
    if (groups := len(one_of_each)) > 1:
        warn(
            f"the items fall into {groups:,} groups with no vote between them ({_named(items[one_of_each])} are in "
            "different ones): only the prior, and features where they are used, compare across groups",
            DisconnectedWarning,
        )
    seen = _sides_taken(memory.rows, memory.threads)
    for verb, mark in (("win", 2), ("lose", 1)):
        always = seen == mark
        if always.any():
            one = always.sum() == 1
            told, kept = (
                (f"{verb}s every one of its", "its score") if one else (f"{verb} every one of their", "their scores")
            )
            which = f"{int(always.sum()):,} of {len(items):,} items {told} pairs"
            warn(
                f"{which} ({_named(items[always])}): the prior alone keeps {kept} finite",
                SparseVotesWarning,
            )


def _groups(first: Int32Array, second: Int32Array, n_items: int) -> Int32Array:
    """Return the number of the group of each item: those that links connect are in one.

    A sample of the links comes first. What it connects is connected, and the others only matter between its groups.
    """
    if 2 * len(first) > (n_items - 1) * (n_items - 2):
        # More pairs than there are among all items but one.
        return np.zeros(n_items, dtype=np.int32)
    if len(first) <= 2 * _ENOUGH * n_items:
        return _connected(first, second, n_items)
    # Not every so many-th: those of a regular table may miss the same items again and again.
    drawn = np.random.default_rng(0).integers(0, len(first), _ENOUGH * n_items)
    group = _connected(first[drawn], second[drawn], n_items)
    if not group.any():
        return group
    one, other = group[first], group[second]
    between = one != other
    return np.asarray(_connected(one[between], other[between], n_items)[group])


def _connected(first: Int32Array, second: Int32Array, n_items: int) -> Int32Array:
    graph = coo_array((np.ones(len(first), bool), (first, second)), shape=(n_items, n_items))
    group: Int32Array = connected_components(graph, directed=False)[1]
    return group


def _sides_taken(rows: Rows, threads: int) -> NDArray[np.uint8]:
    """Return for each item 1 if some pair was not won, plus 2 if some was not lost, by most of the votes on it."""
    if rows.known_share is not None:
        first, second, share = rows.link_first, rows.link_second, rows.known_share
        codes: NDArray[np.integer] = _winner(share)
        side = np.arange(3, dtype=np.uint8)
    else:
        assert isinstance(rows.ballots, Patterns)
        first, second, codes, side = rows.first, rows.second, rows.ballots.of_row, _winner(rows.ballots.share)
    seen = np.empty(rows.n_items, dtype=np.uint8)
    kernels.mark_sides(first, second, codes, side, seen, threads)
    return seen


def _winner(share: FloatArray) -> NDArray[np.uint8]:
    """Return 1 where most votes are for the first item, 0 where they are for the second, else 2."""
    return np.where(share > 0.5, 1, np.where(share < 0.5, 0, 2)).astype(np.uint8)


def _named(items: NDArray[Any]) -> str:
    told = ", ".join(str(item) for item in items[:_NAMED])
    return told if len(items) <= _NAMED else f"{told}, …"
