from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.rows import Rows
from tests.rows.votes import KINDS, rows_of, tables, votes_in


@KINDS
@given(votes=tables(), data=st.data())
def test_clusters_keep_the_votes_and_give_each_annotator_a_coin_within_each(kind, votes, data):
    rows, n_clusters = rows_of(votes, kind), 3
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    cluster = np.array(drawn, dtype=np.int32)
    clustered = rows.clustered(cluster, n_clusters)
    assert clustered.n_confusion_groups == votes.n_annotators * n_clusters
    for row in range(len(rows)):
        expected = [(who * n_clusters + cluster[row], won, w) for who, won, w in votes_in(rows, row)]
        assert votes_in(clustered, row) == expected


@given(tables())
def test_one_cluster_changes_nothing(votes):
    rows = Rows.per_pair(votes)
    clustered = rows.clustered(np.zeros(len(rows), dtype=np.int32), 1)
    assert clustered.n_confusion_groups == rows.n_confusion_groups
    for row in range(len(rows)):
        assert votes_in(clustered, row) == votes_in(rows, row)


@pytest.mark.parametrize("kind", ["patterns", "lists", "votes"])
@pytest.mark.parametrize("power", [1, 2])
@given(votes=tables())
def test_sums_over_votes_add_up(kind, power, votes):
    rows = Rows.per_vote(votes) if kind == "votes" else rows_of(votes, kind)
    values = np.arange(1.0, len(rows) + 1)
    expected = np.zeros((votes.n_annotators, 2))
    for row in range(len(rows)):
        weight_of_row = rows.weight[row] if len(rows.weight) else 1.0
        for who, won, weight in votes_in(rows, row):
            expected[who, int(won)] += values[row] * weight_of_row * weight**power
    np.testing.assert_allclose(rows.over_votes(values, power), expected)
    np.testing.assert_allclose(rows.vote_counts, rows.over_votes(np.ones(len(rows))))
