"""Circular triads: how far majorities are from one order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from jamrank.rows import PairCounts
from jamrank.typing import FloatArray, IntArray

# Chains of two wins that are counted by a sparse product; of more, a dense matrix for so many items, else a sample.
_MOST_CHAINS, _SAMPLE = 60_000_000, 1 << 20
_MOST_ITEMS_DENSE, _BLOCK = 3000, 256


@dataclass(frozen=True)
class Triads:
    """Numbers of circular triads (a over b, b over c, c over a) and of ordered ones.

    circular, ordered: By group.
    exact: Whether all were counted, rather than estimated from a sample.
    """

    circular: FloatArray
    ordered: FloatArray
    exact: bool


def majorities(counts: PairCounts) -> tuple[IntArray, IntArray]:
    """Return the winner and the loser of each pair with a majority."""
    margin = counts.margin
    decided = margin != 0
    first_won = margin[decided] > 0
    first, second = counts.first[decided].astype(np.int64), counts.second[decided].astype(np.int64)
    return np.where(first_won, first, second), np.where(first_won, second, first)


def count_triads(winner: IntArray, loser: IntArray, group: IntArray, n_groups: int) -> Triads:
    """Count circular and ordered triads within groups.

    Where all pairs within the groups were compared, the number of wins of each item determines the result. Otherwise
    chains of two wins are examined for the pair that closes them.

    winner, loser: One entry for each pair within a group; no item is in two groups.
    group: The group of each item.
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
    """Count by products of the dense matrix; integers this small are exact in single precision."""
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
    """Estimate from chains of two wins drawn uniformly."""
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
