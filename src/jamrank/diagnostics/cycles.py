"""How far votes can be put into one order: circular triads, and votes against the best order found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from jamrank.rows.duels import Duels
from jamrank.typing import FloatArray, Int32Array, IntArray

__all__ = ["BestOrder", "Triads", "best_order", "count_triads", "majorities"]


# Chains of two wins that are followed one by one; where there are more, of so few items a matrix, else a sample.
_MOST_CHAINS, _SAMPLE = 60_000_000, 1 << 20
_MOST_ITEMS_DENSE, _BLOCK = 3000, 256
# Visits of an item's opponents that the search for an order may take, and sweeps over all items.
_MOST_VISITS, _MOST_SWEEPS = 12_000_000, 50


@dataclass(frozen=True)
class Triads:
    """Three items, each preferred to one of the others, or in an order.

    Attributes
    ----------
    circular, ordered : ndarray
        How many, by group.
    exact : bool
        Whether they were all counted; else estimated from a sample.
    """

    circular: FloatArray
    ordered: FloatArray
    exact: bool


def majorities(duels: Duels) -> tuple[IntArray, IntArray]:
    """Return winner and loser of each duel that has one."""
    margin = duels.margin
    decided = margin != 0
    first_won = margin[decided] > 0
    first, second = duels.first[decided].astype(np.int64), duels.second[decided].astype(np.int64)
    return np.where(first_won, first, second), np.where(first_won, second, first)


def count_triads(winner: IntArray, loser: IntArray, group: IntArray, n_groups: int) -> Triads:
    """Count circular and ordered triads within groups.

    Where all items of all groups were compared with each other, the wins of each item are enough. Otherwise chains
    of two wins are followed, to see whether and how they are closed.

    Parameters
    ----------
    winner, loser : ndarray
        Of each two items within a group, at most once; no item is in two groups.
    group : ndarray
        The group of each item.
    n_groups : int
    """
    n_items = len(group)
    wins, losses = np.bincount(winner, minlength=n_items), np.bincount(loser, minlength=n_items)
    sizes = np.bincount(group[(wins + losses) > 0], minlength=n_groups)
    held = np.bincount(group[winner], minlength=n_groups)
    if (held == sizes * (sizes - 1) // 2).all():
        in_order = np.asarray(np.bincount(group, wins * (wins - 1) / 2, n_groups), dtype=np.float64)
        return Triads(np.asarray(sizes * (sizes - 1) * (sizes - 2) / 6 - in_order), in_order, True)
    beats = csr_array((np.ones(len(winner), np.int32), (winner, loser)), (n_items, n_items))
    if float((wins.astype(np.float64) * losses).sum()) <= _MOST_CHAINS:
        chains = beats @ beats
        circular, ordered = (
            np.asarray(chains.multiply(closing).sum(axis=1), dtype=np.float64).ravel() for closing in (beats.T, beats)
        )
        by_group = [np.bincount(group, count, n_groups).astype(np.float64) for count in (circular, ordered)]
        return Triads(by_group[0] / 3, by_group[1], True)
    if n_groups == 1 and n_items <= _MOST_ITEMS_DENSE:
        return _count_densely(winner, loser, n_items)
    return _sample_triads(beats, wins, losses, group, n_groups)


def _count_densely(winner: IntArray, loser: IntArray, n_items: int) -> Triads:
    """Count by products of the matrix itself; whole numbers this small are exact in single precision."""
    beats = np.zeros((n_items, n_items), dtype=np.float32)
    beats[winner, loser] = 1.0
    circular = ordered = 0.0
    for begin in range(0, n_items, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        chains = beats[block] @ beats
        circular += float((chains * beats[:, block].T).sum(dtype=np.float64))
        ordered += float((chains * beats[block]).sum(dtype=np.float64))
    return Triads(np.array([circular / 3]), np.array([ordered]), True)


def _sample_triads(beats: csr_array, wins: IntArray, losses: IntArray, group: IntArray, n_groups: int) -> Triads:
    """Estimate from chains of two wins that are drawn with equal chances."""
    rng = np.random.default_rng(0)
    chains = wins.astype(np.float64) * losses
    middle = np.searchsorted(np.cumsum(chains), rng.uniform(0, chains.sum(), _SAMPLE), side="right")
    loses_to = beats.T.tocsr()
    top = loses_to.indices[loses_to.indptr[middle] + rng.integers(0, losses[middle])]
    bottom = beats.indices[beats.indptr[middle] + rng.integers(0, wins[middle])]
    beats.sort_indices()
    n_items = len(group)
    keys = np.repeat(np.arange(n_items), np.diff(beats.indptr)).astype(np.int64) * n_items + beats.indices

    def closed(a: IntArray, b: IntArray) -> FloatArray:
        wanted = a.astype(np.int64) * n_items + b
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        share = np.bincount(group[middle], keys[at] == wanted, n_groups) / _SAMPLE
        return np.asarray(share * chains.sum())

    return Triads(closed(bottom, top) / 3, closed(top, bottom), False)


@dataclass(frozen=True)
class BestOrder:
    """The best order of the items that was found: there may be a better one.

    Attributes
    ----------
    items : ndarray
        Codes, best first.
    against : float
        Votes that go against it, by weight.
    settled : bool
        Whether moving any single item makes it no better.
    """

    items: IntArray
    against: float
    settled: bool


def best_order(duels: Duels) -> BestOrder:
    """Look for the order that fewest votes contradict: along majorities, then by moving items one at a time.

    Where majorities form no circle it is the best there is. An item is moved to the place among its opponents where
    fewest votes are against it, item by item, until nothing changes. Only places among opponents matter, so a place
    is a number between those of two of them.
    """
    n = duels.n_items
    ends = np.concatenate([duels.first, duels.second])
    by_item = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[by_item], np.arange(n + 1))
    opponent = np.concatenate([duels.second, duels.first])[by_item]
    margin = np.concatenate([duels.margin, -duels.margin])[by_item]
    order = _first_order(duels)
    place = np.empty(n)
    place[order] = np.arange(n)
    sweeps = int(np.clip(_MOST_VISITS // max(2 * len(duels), 1), 1, _MOST_SWEEPS))
    settled = False
    for _ in range(sweeps):
        moved = [_move(item, start, opponent, margin, place) for item in order]
        order = np.argsort(place, kind="stable")
        place[order] = np.arange(n)
        settled = not any(moved)
        if settled:
            break
    first_above = place[duels.first] < place[duels.second]
    return BestOrder(order, float(np.where(first_above, duels.losses, duels.wins).sum()), settled)


def _move(item: int, start: IntArray, opponent: Int32Array, margin: FloatArray, place: FloatArray) -> bool:
    """Move an item to its best place; tell whether that is another one."""
    own = slice(start[item], start[item + 1])
    if own.start == own.stop:
        return False
    places = place[opponent[own]]
    order = np.argsort(places, kind="stable")
    places = places[order]
    # Passing an opponent on the way down costs the margin over it.
    cost = np.concatenate([[0.0], np.cumsum(margin[own][order])])
    here = int(np.searchsorted(places, place[item]))
    best = int(cost.argmin())
    if cost[best] >= cost[here] - 1e-9:
        return False
    if best == 0:
        place[item] = places[0] - 1.0
    elif best == len(places):
        place[item] = places[-1] + 1.0
    else:
        place[item] = (places[best - 1] + places[best]) / 2
    return True


def _first_order(duels: Duels) -> IntArray:
    """Order the items along their majorities where these form no circle, and within circles by least squares.

    Items are in one circle where majorities lead from each to each; between such groups majorities lead one way only,
    and no order is better than one that follows them.
    """
    votes = duels.wins + duels.losses
    total = duels.by_item(votes, votes)
    between = csr_array((votes, (duels.first, duels.second)), (duels.n_items,) * 2)
    laplacian = diags_array(total + 1.0) - between - between.T
    net = duels.by_item(duels.margin, -duels.margin)
    scores, _ = cg(laplacian, net, rtol=1e-6, maxiter=100)
    winner, loser = majorities(duels)
    beats = csr_array((np.ones(len(winner), np.int8), (winner, loser)), (duels.n_items,) * 2)
    _, group = connected_components(beats, directed=True, connection="strong")
    level = _levels(group[winner], group[loser], int(group.max(initial=-1)) + 1)[group]
    return np.lexsort((-net, -np.round(scores, 9), group, level))


def _levels(above: IntArray, below: IntArray, n: int) -> IntArray:
    """Return for each node of a graph without circles the length of the longest way to it."""
    between = above != below
    key = np.unique(above[between].astype(np.int64) * n + below[between])
    above, below = key // max(n, 1), key % max(n, 1)
    start = np.searchsorted(above, np.arange(n + 1))
    waiting, level = np.bincount(below, minlength=n), np.zeros(n, dtype=np.int64)
    ready, depth = np.flatnonzero(waiting == 0), 0
    while len(ready):
        level[ready] = depth
        lengths = start[ready + 1] - start[ready]
        at = np.arange(int(lengths.sum())) + np.repeat(start[ready] - (np.cumsum(lengths) - lengths), lengths)
        reached, times = np.unique(below[at], return_counts=True)
        waiting[reached] -= times
        ready, depth = reached[waiting[reached] == 0], depth + 1
    return level
