from __future__ import annotations

import numpy as np
import pytest

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics.graph import components, find_bridges, separation
from jamrank.rows import PairCounts


def counts(pairs, n_items: int, outcomes=None) -> PairCounts:
    """PairCounts of items 0, 1, 2, …; all of them exist, whether compared or not."""
    first, second = np.sort(np.asarray(pairs).reshape(-1, 2), axis=1).T
    order = np.lexsort((second, first))
    won = np.ones(len(order)) if outcomes is None else np.asarray(outcomes, dtype=float)
    return PairCounts(
        first[order].astype(np.int32), second[order].astype(np.int32), won[order], np.ones(len(won)), n_items
    )


def bridges_by_removal(of: PairCounts) -> dict[int, int]:
    """Take away each duel in turn and see what falls apart."""
    found = {}
    whole = components(of).max()
    for k in range(len(of)):
        rest = np.arange(len(of)) != k
        parts = components(PairCounts(of.first[rest], of.second[rest], of.wins[rest], of.votes[rest], of.n_items))
        if parts.max() > whole:
            sizes = [int((parts == parts[end[k]]).sum()) for end in (of.first, of.second)]
            found[k] = min(sizes)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_bridges_are_the_duels_without_which_items_fall_apart(seed):
    rng = np.random.default_rng(seed)
    n = 14
    pairs = np.unique(np.sort(rng.integers(0, n, (16, 2)), axis=1), axis=0)
    of = counts(pairs[pairs[:, 0] != pairs[:, 1]], n)
    found = find_bridges(of)
    assert dict(zip(found.duel.tolist(), found.cut_off.tolist(), strict=True)) == bridges_by_removal(of)
    assert (np.diff(found.cut_off) <= 0).all()


def test_a_chain_is_all_bridges_and_a_ring_has_none():
    chain = [(k, k + 1) for k in range(9)]
    assert find_bridges(counts(chain, 10)).cut_off.tolist() == [5, 4, 4, 3, 3, 2, 2, 1, 1]
    assert not len(find_bridges(counts([*chain, (0, 9)], 10)).duel)


def test_items_that_only_win_or_only_lose_are_separated():
    found = separation(counts([(0, 1), (1, 2), (0, 2), (2, 3)], 4, [1, 1, 1, 1]))
    assert found.never_lost.tolist() == [0]
    assert found.never_won.tolist() == [3]
    assert found.n_groups == 4
    # 0 > 1 > 2 > 0: nothing is separated.
    assert separation(counts([(0, 1), (1, 2), (0, 2)], 3, [1, 1, 0])).n_groups == 1


def test_duels_add_up_votes_over_annotators_and_questions():
    votes = Comparisons.from_arrays(
        ["a", "b", "a", "a"],
        ["b", "a", "b", "c"],
        ["x", "y", "x", "x"],
        [1, 1, 1, 0.5],
        question=["p", "p", "q", "q"],
    )
    of = PairCounts.decided(votes)
    assert (of.first.tolist(), of.second.tolist()) == ([0], [1])
    assert (of.wins.tolist(), of.losses.tolist()) == ([2.0], [1.0])
