"""The graph of who was compared with whom: what falls apart, what hangs by a thread, who never lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from jamrank.rows.duels import Duels
from jamrank.typing import BoolArray, Int32Array, IntArray

__all__ = ["Bridges", "Separation", "components", "find_bridges", "separation"]


def components(duels: Duels) -> Int32Array:
    """Return for each item the number of its group: between groups there is no decided vote."""
    return np.asarray(connected_components(_graph(duels), directed=False)[1], dtype=np.int32)


def _graph(duels: Duels, which: BoolArray | slice = slice(None)) -> csr_array:
    first, second = duels.first[which], duels.second[which]
    return csr_array((np.ones(len(first), np.int8), (first, second)), (duels.n_items,) * 2)


@dataclass(frozen=True)
class Bridges:
    """Duels without which the items would fall apart.

    Attributes
    ----------
    duel : ndarray of int64
        Which of the duels, from the one that holds most together to the least.
    cut_off : ndarray of int64
        How many items are on the smaller side of each.
    """

    duel: IntArray
    cut_off: IntArray


def find_bridges(duels: Duels) -> Bridges:
    """Find the duels that alone link two groups of items.

    A bridge is in every spanning forest. So it is one of the whole graph just when it is one of two spanning forests
    together, the second of what the first leaves over: a graph of at most two edges an item, which can be walked.
    """
    n = duels.n_items
    keys = duels.first.astype(np.int64) * n + duels.second
    first_forest = _forest(duels, np.ones(len(keys), dtype=bool), keys)
    left_over = np.ones(len(keys), dtype=bool)
    left_over[first_forest] = False
    kept = np.union1d(first_forest, _forest(duels, left_over, keys))
    duel, below, whole = _walk(duels.first[kept], duels.second[kept], n)
    cut_off = np.minimum(below, whole - below)
    order = np.lexsort((kept[duel], -cut_off))
    return Bridges(kept[duel][order], cut_off[order])


def _forest(duels: Duels, which: BoolArray, keys: IntArray) -> IntArray:
    """Return the duels of a spanning forest of some of them."""
    tree = minimum_spanning_tree(_graph(duels, which)).tocoo()
    return np.asarray(np.searchsorted(keys, tree.row.astype(np.int64) * duels.n_items + tree.col))


def _walk(first: Int32Array, second: Int32Array, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the bridges of a small graph by depth-first search: edge, items below it, items of its component."""
    ends = np.concatenate([first, second])
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[order], np.arange(n_items + 1)).tolist()
    neighbour = np.concatenate([second, first])[order].tolist()
    edge = (order % max(len(first), 1)).tolist()
    seen, lowest, size = [-1] * n_items, [0] * n_items, [1] * n_items
    found: list[tuple[int, int, int]] = []
    clock = 0
    for root in range(n_items):
        if seen[root] >= 0:
            continue
        begin, path, place = len(found), [(root, -1)], {root: start[root]}
        seen[root] = lowest[root] = clock
        clock += 1
        while path:
            item, via = path[-1]
            at = place[item]
            if at < start[item + 1]:
                place[item] = at + 1
                other = neighbour[at]
                if edge[at] == via:
                    continue
                if seen[other] >= 0:
                    lowest[item] = min(lowest[item], seen[other])
                    continue
                seen[other] = lowest[other] = clock
                clock += 1
                place[other] = start[other]
                path.append((other, edge[at]))
                continue
            path.pop()
            if path:
                parent = path[-1][0]
                lowest[parent] = min(lowest[parent], lowest[item])
                size[parent] += size[item]
                if lowest[item] > seen[parent]:
                    found.append((via, size[item], root))
        found[begin:] = [(one, below, size[root]) for one, below, _ in found[begin:]]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


@dataclass(frozen=True)
class Separation:
    """Where votes all point one way, so that without a prior a gap between scores would grow for ever.

    Attributes
    ----------
    n_groups : int
        Groups of items within which there is a chain of wins from each item to each other; 1 where nothing is
        separated.
    never_lost, never_won : ndarray of int64
        Items with decided votes that won, or lost, all of them.
    """

    n_groups: int
    never_lost: IntArray
    never_won: IntArray


def separation(duels: Duels) -> Separation:
    """Find items and groups of items that only win or only lose against the rest."""
    won, lost = duels.wins > 0, duels.losses > 0
    winner = np.concatenate([duels.first[won], duels.second[lost]])
    loser = np.concatenate([duels.second[won], duels.first[lost]])
    graph = csr_array((np.ones(len(winner), np.int8), (winner, loser)), (duels.n_items,) * 2)
    n_groups, _ = connected_components(graph, directed=True, connection="strong")
    wins, losses = (np.bincount(items, minlength=duels.n_items) for items in (winner, loser))
    return Separation(
        int(n_groups), np.flatnonzero((losses == 0) & (wins > 0)), np.flatnonzero((wins == 0) & (losses > 0))
    )
