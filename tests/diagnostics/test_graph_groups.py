"""Groups of items that few votes join: in the graph, and in what check says of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import jamrank as jr
from jamrank.diagnostics import graph
from jamrank.diagnostics.graph import weakly_joined
from jamrank.rows import PairCounts


def counts_of(n_items: int, votes: dict[tuple[int, int], float]) -> PairCounts:
    first, second = np.array(sorted(votes), dtype=np.int32).T
    weight = np.array([votes[pair] for pair in sorted(votes)], dtype=np.float64)
    return PairCounts(first, second, weight / 2, weight, n_items)


def brute_force(counts: PairCounts, votes: int) -> np.ndarray:
    """Return groups of items that no cut of fewer votes separates, by all cuts."""
    together = np.ones((counts.n_items, counts.n_items), dtype=bool)
    for cut in range(1, 2 ** (counts.n_items - 1)):
        side = np.array([cut >> item & 1 for item in range(counts.n_items)], dtype=bool)
        if counts.votes[side[counts.first] != side[counts.second]].sum() < votes:
            together &= side[:, None] == side
    return together


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("votes", [2, 4])
def test_no_small_cut_separates_a_group_and_flows_are_the_smallest_cuts(seed, votes):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(8), 2) if rng.random() < 0.45] or [(0, 1)]
    counts = counts_of(8, {pair: float(rng.integers(1, 5)) for pair in pairs})
    label, together = graph._merged(counts, votes), brute_force(counts, votes)
    assert together[label[:, None] == label].all()
    for one, other in combinations(np.unique(label), 2):
        inside = together[np.ix_(label == one, label == other)]
        assert (graph._flow(counts, label, one, other) >= votes) == inside.all() == inside.any()


def test_groups_that_many_items_with_few_votes_join_are_joined():
    votes = dict.fromkeys((*combinations(range(3), 2), *combinations(range(3, 6), 2)), 20.0)
    votes |= {(end, item): 1.0 for item in range(6, 30) for end in (0, 3)}
    assert weakly_joined(counts_of(30, votes)) is None
    few = {pair: count for pair, count in votes.items() if pair[1] < 12}
    assert weakly_joined(counts_of(30, few)).tolist() == [3, 3]


def league(rng: np.random.Generator, items: list[str], n_votes: int) -> list[tuple[str, str, str]]:
    pairs = (rng.choice(items, 2, replace=False) for _ in range(n_votes))
    return [("all", *map(str, pair)) for pair in pairs]


@pytest.mark.parametrize(("across", "weak"), [(1, True), (6, True), (40, False)])
def test_leagues_that_few_matches_join_are_named(across, weak):
    rng = np.random.default_rng(across)
    one, other = [f"a{k}" for k in range(8)], [f"b{k}" for k in range(8)]
    rows = league(rng, one, 300) + league(rng, other, 300)
    rows += [("all", str(rng.choice(one)), str(rng.choice(other))) for _ in range(across)]
    who, left, right = zip(*rows, strict=True)
    votes = jr.Comparisons.from_arrays(left, right, who, rng.random(len(rows)) < 0.5 + 0.2 * (np.array(left) < right))
    assert (weakly_joined(PairCounts.decided(votes)) is not None) == weak
    sentences = " ".join(jr.check(votes).sentences)
    assert ("rests mostly on the assumption that the groups are equally strong" in sentences) == weak
    assert ("if the groups that few votes join are equally strong" in sentences) == weak


def test_items_with_few_votes_are_no_groups():
    votes = jr.simulate(300, 5, 1500, random_state=0).votes
    assert weakly_joined(PairCounts.decided(votes)) is None
    star = jr.Comparisons.from_arrays(["base"] * 60, [f"c{k % 6}" for k in range(60)], ["x"] * 60, [1, 0] * 30)
    assert weakly_joined(PairCounts.decided(star)) is None
