"""The comparison graph: components, bridges and separation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from jamrank.data.comparisons import Comparisons
from jamrank.rows import PairCounts
from jamrank.typing import BoolArray, Int32Array, IntArray


def components(counts: PairCounts) -> Int32Array:
    """Return the connected component of each item; no decided vote is between two components."""
    return np.asarray(connected_components(_graph(counts), directed=False)[1], dtype=np.int32)


def _graph(counts: PairCounts, which: BoolArray | slice = slice(None)) -> csr_array:
    first, second = counts.first[which], counts.second[which]
    return csr_array((np.ones(len(first), np.int8), (first, second)), (counts.n_items,) * 2)


@dataclass(frozen=True)
class Bridges:
    """Pairs whose removal disconnects the comparison graph.

    duel: Indices of the pairs, largest ``cut_off`` first.
    cut_off: Number of items on the smaller side of each.
    """

    duel: IntArray
    cut_off: IntArray


def find_bridges(counts: PairCounts) -> Bridges:
    """Find the pairs that alone connect two groups of items.

    A bridge is in every spanning forest. An edge is therefore a bridge of the graph if and only if it is one of the
    union of a spanning forest and a spanning forest of the remaining edges, which has at most two edges an item.
    """
    n = counts.n_items
    keys = counts.first.astype(np.int64) * n + counts.second
    first_forest = _forest(counts, np.ones(len(keys), dtype=bool), keys)
    left_over = np.ones(len(keys), dtype=bool)
    left_over[first_forest] = False
    kept = np.union1d(first_forest, _forest(counts, left_over, keys))
    duel, below, whole = _walk(counts.first[kept], counts.second[kept], n)
    cut_off = np.minimum(below, whole - below)
    order = np.lexsort((kept[duel], -cut_off))
    return Bridges(kept[duel][order], cut_off[order])


def _forest(counts: PairCounts, which: BoolArray, keys: IntArray) -> IntArray:
    """Return the pairs of a spanning forest of some of them."""
    tree = minimum_spanning_tree(_graph(counts, which)).tocoo()
    return np.asarray(np.searchsorted(keys, tree.row.astype(np.int64) * counts.n_items + tree.col))


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
    """Separated data: without a prior some differences of scores would be infinite.

    n_groups: Strongly connected components of the graph with an edge from winner to loser; 1 where the likelihood has
        a finite maximum (Ford's condition).
    never_lost, never_won: Items that won, or lost, all of their decided votes.
    """

    n_groups: int
    never_lost: IntArray
    never_won: IntArray


def separation(counts: PairCounts) -> Separation:
    """Find groups of items between which all votes point one way."""
    won, lost = counts.wins > 0, counts.losses > 0
    winner = np.concatenate([counts.first[won], counts.second[lost]])
    loser = np.concatenate([counts.second[won], counts.first[lost]])
    graph = csr_array((np.ones(len(winner), np.int8), (winner, loser)), (counts.n_items,) * 2)
    n_groups, _ = connected_components(graph, directed=True, connection="strong")
    wins, losses = (np.bincount(items, minlength=counts.n_items) for items in (winner, loser))
    return Separation(
        int(n_groups), np.flatnonzero((losses == 0) & (wins > 0)), np.flatnonzero((wins == 0) & (losses > 0))
    )


def question_of_items(votes: Comparisons) -> IntArray | None:
    """Return the question of each item where each belongs to one of several, like answers to prompts; else None."""
    if len(votes.questions) < 2:
        return None
    low, high = np.full(votes.n_items, len(votes.questions)), np.full(votes.n_items, -1)
    for items in (votes.pair_first, votes.pair_second):
        np.minimum.at(low, items, votes.pair_question)
        np.maximum.at(high, items, votes.pair_question)
    return low if (low >= high).all() else None
