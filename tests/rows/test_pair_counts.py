from __future__ import annotations

import numpy as np
from hypothesis import given

from jamrank.data.storage import FIRST, TIE
from jamrank.rows import PairCounts
from tests.rows.votes import tables


def counted(votes, ties: bool) -> dict[tuple[int, int], tuple[float, float]]:
    """Return wins of the first item and votes for each two items, vote by vote."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for pair, result, weight in zip(votes.vote_pair, votes.vote_result, votes.vote_weight, strict=True):
        if result != TIE or ties:
            items = int(votes.pair_first[pair]), int(votes.pair_second[pair])
            wins, total = found.get(items, (0.0, 0.0))
            won = 0.5 if result == TIE else float(result == FIRST)
            found[items] = wins + won * weight, total + weight
    return found


@given(tables())
def test_votes_are_counted_over_annotators_and_questions(votes):
    for ties, counts in ((True, PairCounts.of(votes)), (False, PairCounts.decided(votes))):
        expected = counted(votes, ties)
        assert list(zip(counts.first.tolist(), counts.second.tolist(), strict=True)) == sorted(expected)
        np.testing.assert_allclose(counts.wins, [expected[pair][0] for pair in sorted(expected)])
        np.testing.assert_allclose(counts.losses + counts.wins, [expected[pair][1] for pair in sorted(expected)])


@given(tables())
def test_components_are_what_votes_join(votes):
    counts = PairCounts.of(votes)
    component = np.arange(counts.n_items)
    for _ in range(counts.n_items):
        for a, b in zip(counts.first, counts.second, strict=True):
            component[[a, b]] = component[[a, b]].min()
    same = component[:, None] == component
    np.testing.assert_array_equal(counts.component[:, None] == counts.component, same)
    np.testing.assert_array_equal(counts.representatives, np.unique(component))
