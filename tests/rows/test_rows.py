from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jamrank.rows.rows as rows_module
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.rows import ROWS_BY, Patterns, RaggedVotes, Rows


@st.composite
def tables(draw, outcomes=(0.0, 1.0, 0.5, np.nan)):
    n_items = draw(st.integers(2, 6))
    row = st.tuples(
        st.integers(0, n_items - 1),
        st.integers(1, n_items - 1),
        st.integers(0, 3),
        st.sampled_from(outcomes),
        st.sampled_from([1.0, 1.0, 2.0, 0.5]),
        st.integers(0, 1),
    )
    left, step, who, outcome, weight, question = zip(*draw(st.lists(row, min_size=1, max_size=30)), strict=True)
    right = [(a + b) % n_items for a, b in zip(left, step, strict=True)]
    return Comparisons.from_arrays(left, right, who, outcome, weight, question)


def votes_of(votes: Comparisons, pair: int) -> list[tuple[int, bool, float]]:
    """Decided votes on a pair, as (annotator, first won, weight)."""
    at = slice(votes.vote_start[pair], votes.vote_start[pair + 1])
    columns = votes.vote_annotator[at], votes.vote_result[at], votes.vote_weight[at]
    return [(int(a), bool(r == FIRST), float(w)) for a, r, w in zip(*columns, strict=True) if r != TIE]


def votes_in(rows: Rows, row: int) -> list[tuple[int, bool, float]]:
    ballots = rows.ballots
    place = ballots.of_row[row] if isinstance(ballots, Patterns) else row
    at = slice(ballots.start[place], ballots.start[place + 1])
    vote_counts = ballots.vote[at]
    weight = ballots.weight[at] if len(ballots.weight) else np.ones(len(vote_counts))
    return list(zip((vote_counts // 2).tolist(), (vote_counts % 2 == 1).tolist(), weight.tolist(), strict=True))


def rows_of(votes: Comparisons, kind: str) -> Rows:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "few_patterns", lambda votes: kind == "patterns")
        return Rows._find_per_pair(votes, 1)


def pairs_of(rows: Rows, votes: Comparisons) -> np.ndarray:
    return np.arange(votes.n_pairs)[rows.pair]


KINDS = pytest.mark.parametrize("kind", ["patterns", "lists"])


@KINDS
@given(votes=tables())
def test_rows_give_back_the_votes_of_every_pair(kind, votes):
    rows = rows_of(votes, kind)
    assert pairs_of(rows, votes).tolist() == [pair for pair in range(votes.n_pairs) if votes_of(votes, pair)]
    for row, pair in enumerate(pairs_of(rows, votes)):
        assert votes_in(rows, row) == votes_of(votes, pair)
        assert (rows.first[row], rows.second[row]) == (votes.pair_first[pair], votes.pair_second[pair])


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


@given(tables())
def test_edges_are_where_each_pair_of_items_begins_whatever_the_question(votes):
    for rows in (Rows.per_pair(votes), Rows.per_vote(votes)):
        pairs = list(zip(rows.first.tolist(), rows.second.tolist(), strict=True))
        assert [pairs[at] for at in rows.edges] == sorted(set(pairs))
        assert [pairs.index(pair) for pair in sorted(set(pairs))] == rows.edges.tolist()


@given(tables())
def test_rows_about_ties_are_all_votes_by_whether_they_are_ties(votes):
    rows = ROWS_BY["tie"](votes, 1)
    assert rows.about == "tie" and rows.single_votes
    tied = votes.vote_result == TIE
    for said, chosen in enumerate((~tied, tied)):
        expected = np.bincount(votes.vote_annotator[chosen], votes.vote_weight[chosen], votes.n_annotators)
        np.testing.assert_allclose(rows.vote_counts[:, said], expected)
    decided = Rows.per_vote(votes)
    pairs = {(int(a), int(b)) for a, b in zip(rows.first, rows.second, strict=True)}
    assert {(int(a), int(b)) for a, b in zip(decided.first, decided.second, strict=True)} <= pairs


@pytest.mark.parametrize("kind", ["pair-by-side", "vote-by-side"])
@given(votes=tables())
def test_rows_by_side_have_two_coins_an_annotator(kind, votes):
    rows = ROWS_BY[kind](votes, 1)
    assert rows.n_confusion_groups == 2 * votes.n_annotators
    for side, shown in enumerate((~votes.vote_swapped, votes.vote_swapped)):
        for said in (0, 1):
            chosen = shown & (votes.vote_result == said)
            expected = np.bincount(votes.vote_annotator[chosen], votes.vote_weight[chosen], votes.n_annotators)
            np.testing.assert_allclose(rows.vote_counts[side::2, said], expected)
