from __future__ import annotations

import numpy as np
from hypothesis import given

from jamrank.data.comparisons import Comparisons
from jamrank.rows import Patterns, RaggedVotes, Rows
from tests.rows.votes import tables, votes_in


@given(tables())
def test_rows_with_equal_votes_share_a_pattern(votes):
    rows = Rows.per_pair(votes)
    distinct = {tuple(votes_in(rows, row)) for row in range(len(rows))}
    assert len(distinct) == len(set(rows.ballots.of_row.tolist()))


def test_a_jury_has_few_patterns_however_many_pairs():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(60, 1)
    rows = Rows.per_pair(Comparisons.from_matrix(first, second, rng.integers(0, 2, (len(first), 3))))
    assert len(rows) == 1770
    assert isinstance(rows.ballots, Patterns)
    assert len(rows.ballots) == 8


def test_a_crowd_has_a_list_for_each_pair():
    rng = np.random.default_rng(0)
    first, second = (np.repeat(side, 3) for side in np.triu_indices(100, 1))
    votes = Comparisons.from_arrays(first, second, rng.integers(0, 500, len(first)), rng.integers(0, 2, len(first)))
    assert isinstance(Rows.per_pair(votes).ballots, RaggedVotes)
