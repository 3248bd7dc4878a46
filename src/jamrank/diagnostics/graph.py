"""The comparison graph: components, bridges and separation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow, minimum_spanning_tree

from jamrank.data.comparisons import Comparisons
from jamrank.rows import PairCounts
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

# Groups of items that fewer votes join are weakly joined, if they have so many items each.
WELL_JOINED, _LEAST_GROUP, _MOST_GROUPS = 10, 3, 50
# Of more pairs, groups are not looked for: that takes long.
_MOST_PAIRS = 200_000


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


def weakly_joined(counts: PairCounts) -> IntArray | None:
    """Return the sizes of the groups of items that few votes join, largest first; None where there is one group.

    Items that are in no group of at least three do not count: they have few votes each.
    """
    if len(counts) > _MOST_PAIRS:
        return None
    label = _merged(counts, WELL_JOINED)
    sizes = np.bincount(label)
    large = np.flatnonzero(sizes >= _LEAST_GROUP)
    if not 1 < len(large) <= _MOST_GROUPS:
        return None
    apart: list[int] = []
    for group in large[np.argsort(-sizes[large], kind="stable")].tolist():
        if all(_flow(counts, label, group, other) < WELL_JOINED for other in apart):
            apart.append(group)
    return sizes[apart] if len(apart) > 1 else None


def _merged(counts: PairCounts, votes: int) -> Int32Array:
    """Return groups of items that stay joined whichever ``votes - 1`` votes are left out; there may be larger ones.

    Spanning forests are taken off, one after the other. The ends of what is left after ``votes - 1`` of them are
    joined by a path in each, and by the vote itself: they are in one group and are merged, until nothing is left.
    """
    label = np.arange(counts.n_items, dtype=np.int32)
    while True:
        pairs, left = _between(counts, label)
        n_groups = int(label.max(initial=0)) + 1
        for _ in range(votes - 1):
            there = np.flatnonzero(left > 0)
            graph = csr_array((np.arange(1, len(there) + 1), pairs[:, there]), (n_groups,) * 2)
            left[there[minimum_spanning_tree(graph).data.astype(np.int64) - 1]] -= 1.0
        joined = csr_array((np.ones((left > 0).sum(), np.int8), pairs[:, left > 0]), (n_groups,) * 2)
        if not joined.nnz:
            return label
        label = np.asarray(connected_components(joined, directed=False)[1], dtype=np.int32)[label]


def _between(counts: PairCounts, label: Int32Array) -> tuple[Int32Array, FloatArray]:
    """Return the pairs of groups with votes between them, and how many."""
    ends = np.sort([label[counts.first], label[counts.second]], axis=0)
    apart = ends[0] != ends[1]
    pairs, place = np.unique(ends[:, apart], axis=1, return_inverse=True)
    return pairs, np.bincount(place.ravel(), counts.votes[apart], pairs.shape[1]).astype(np.float64)


def _flow(counts: PairCounts, label: Int32Array, one: int, other: int) -> int:
    """Return how many votes have to be left out so that two groups are not joined, at most 1,000."""
    pairs, votes = _between(counts, label)
    room = np.minimum(np.floor(votes), 1000).astype(np.int32)
    ends = np.concatenate([pairs, pairs[::-1]], axis=1)
    graph = csr_array((np.concatenate([room, room]), ends), (int(label.max()) + 1,) * 2)
    return int(maximum_flow(graph, one, other).flow_value)


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
