from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.data.comparisons import Comparisons
from jamrank.rows import Rows
from tests.rows.votes import KINDS, pairs_of, rows_of, tables, votes_in, votes_of


@KINDS
@given(votes=tables())
def test_rows_give_back_the_votes_of_every_pair(kind, votes):
    rows = rows_of(votes, kind)
    assert pairs_of(rows, votes).tolist() == [pair for pair in range(votes.n_pairs) if votes_of(votes, pair)]
    for row, pair in enumerate(pairs_of(rows, votes)):
        assert votes_in(rows, row) == votes_of(votes, pair)
        assert (rows.first[row], rows.second[row]) == (votes.pair_first[pair], votes.pair_second[pair])


@KINDS
@given(votes=tables())
def test_the_share_is_wins_plus_one_over_votes_plus_two(kind, votes):
    rows = rows_of(votes, kind)
    for row, pair in enumerate(pairs_of(rows, votes)):
        vote_counts = votes_of(votes, pair)
        wins, total = sum(w for _, won, w in vote_counts if won), sum(w for *_, w in vote_counts)
        assert rows.share[row] == pytest.approx((wins + 1) / (total + 2), rel=1e-14)


@given(tables())
def test_per_vote_has_a_row_for_what_each_annotator_said_of_each_pair(votes):
    rows = Rows.per_vote(votes)
    weight = rows.weight if len(rows.weight) else np.ones(len(rows))
    told = {}
    for row in range(len(rows)):
        ((who, won, one),) = votes_in(rows, row)
        assert one == 1.0
        kind = int(pairs_of(rows, votes)[row]), who, won
        told[kind] = told.get(kind, 0.0) + float(weight[row])
    expected = {}
    for pair in range(votes.n_pairs):
        for who, won, vote_counts in votes_of(votes, pair):
            expected[pair, who, won] = expected.get((pair, who, won), 0.0) + vote_counts
    assert told == pytest.approx({key: vote_counts for key, vote_counts in expected.items() if vote_counts > 0})


@given(tables(), st.integers(0, 3))
def test_per_vote_of_one_annotator_keeps_only_theirs(votes, name):
    if name not in votes.annotators:
        return
    who = votes.annotators.tolist().index(name)
    everyone, theirs = Rows.per_vote(votes), Rows.per_vote(votes, annotator=who)
    mine = everyone.ballots.of_row // 2 == who
    assert pairs_of(theirs, votes).tolist() == pairs_of(everyone, votes)[mine].tolist()
    assert theirs.first_won.tolist() == everyone.first_won[mine].tolist()
    weights = [rows.weight if len(rows.weight) else np.ones(len(rows)) for rows in (theirs, everyone)]
    assert weights[0].tolist() == weights[1][mine].tolist()


@given(tables())
def test_rows_are_sorted_by_their_first_item(votes):
    for rows in (Rows.per_pair(votes), Rows.per_vote(votes)):
        assert (np.diff(rows.first) >= 0).all()


@given(tables())
def test_per_side_counts_the_votes_for_either_item_of_each_pair(votes):
    rows = Rows.per_side(votes)
    told = {}
    for row in range(len(rows)):
        ((confusion_group, won, one),) = votes_in(rows, row)
        assert (confusion_group, one) == (0, 1.0)
        told[int(pairs_of(rows, votes)[row]), won] = float(rows.weight[row])
    expected = {}
    for pair in range(votes.n_pairs):
        for _, won, vote_counts in votes_of(votes, pair):
            expected[pair, won] = expected.get((pair, won), 0.0) + vote_counts
    assert told == pytest.approx({key: vote_counts for key, vote_counts in expected.items() if vote_counts > 0})
    assert (np.diff(rows.first) >= 0).all()


def test_only_ties_leave_no_rows():
    votes = Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [0.5, 0.5])
    assert len(Rows.per_pair(votes)) == len(Rows.per_vote(votes)) == 0


@pytest.mark.parametrize("outcome", [0.5, 1.0])
def test_a_vote_of_no_weight_makes_no_row(outcome):
    votes = Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "x"], [outcome, 1], weight=[0, 1])
    assert pairs_of(Rows.per_pair(votes), votes).tolist() == [1]
    assert pairs_of(Rows.per_vote(votes), votes).tolist() == [1]
