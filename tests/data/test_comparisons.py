from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, SECOND, TIE
from tests.data.votes import ARRAYS, LABELS, assert_same, ballots, of, told


def test_votes_are_spelled_out_by_pair_annotator_side_and_result():
    votes = Comparisons.from_arrays(
        ["b", "c", "a", "b"], ["a", "a", "b", "c"], ["y", "x", "x", "x"], [1, 0.5, 0, 1], weight=[1, 2, 3, 4]
    )
    assert told(votes) == [
        ("a", "b", "x", SECOND, False, 3.0),
        ("a", "b", "y", SECOND, True, 1.0),
        ("a", "c", "x", TIE, True, 2.0),
        ("b", "c", "x", FIRST, False, 4.0),
    ]


@given(ballots())
def test_pairs_are_in_canonical_order_and_votes_tile_them(rows):
    votes = of(rows)
    assert (votes.pair_first < votes.pair_second).all()
    keys = list(zip(votes.pair_first, votes.pair_second, votes.pair_question, strict=True))
    assert keys == sorted(set(keys))
    assert votes.vote_start[0] == 0
    assert votes.vote_start[-1] == len(votes.vote_result)
    assert (np.diff(votes.vote_start) >= 0).all()
    for begin, end in zip(votes.vote_start[:-1], votes.vote_start[1:], strict=True):
        assert (np.diff(votes.vote_annotator[begin:end]) >= 0).all()
    np.testing.assert_array_equal(votes.vote_pair, np.repeat(np.arange(votes.n_pairs), np.diff(votes.vote_start)))


@given(ballots(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert_same(of(rows), of(shuffled))


@given(st.lists(st.just(0.0) | st.floats(1e-100, 10), min_size=3, max_size=20), st.randoms(use_true_random=False))
def test_row_order_changes_no_bit_of_folded_weights(weight, random):
    column = [["a"] * len(weight), ["b"] * len(weight), ["x"] * len(weight), [1] * len(weight)]
    shuffled = random.sample(weight, len(weight))
    assert_same(Comparisons.from_arrays(*column, weight), Comparisons.from_arrays(*column, shuffled))


@given(ballots(), st.data())
def test_swapping_sides_with_the_outcome_turned_over_changes_only_the_side_shown(rows, data):
    swap = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    turned = [
        (right, left, who, 1 - outcome, weight, question) if flip else (left, right, who, outcome, weight, question)
        for flip, (left, right, who, outcome, weight, question) in zip(swap, rows, strict=True)
    ]
    a, b = of(rows), of(turned)
    for name in ("pair_first", "pair_second", "pair_question"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.items.tolist() == b.items.tolist()

    def regardless_of_side(votes):
        totals = {}
        columns = votes.vote_pair, votes.vote_annotator, votes.vote_result, votes.vote_weight
        for pair, who, result, weight in zip(*(column.tolist() for column in columns), strict=True):
            totals[pair, who, result] = totals.get((pair, who, result), 0.0) + weight
        return totals

    assert regardless_of_side(a) == regardless_of_side(b)


def test_the_side_shown_is_kept_and_keeps_votes_apart():
    votes = Comparisons.from_arrays(["a", "b", "a"], ["b", "a", "b"], ["x"] * 3, [1, 0, 1])
    assert told(votes) == [("a", "b", "x", FIRST, False, 2.0), ("a", "b", "x", FIRST, True, 1.0)]


@given(ballots())
def test_to_frame_gives_votes_that_encode_to_the_same(rows):
    voted = [row for row in rows if row[3] == row[3]]
    if not voted:
        return
    votes = of(voted)
    frame = votes.to_frame()
    if not votes.has_questions:
        frame = frame.with_columns(question=pl.lit(votes.questions[0]))
    assert_same(votes, Comparisons.from_frame(frame), but=("n_votes",))


def test_a_pair_with_only_missing_votes_stays_without_votes():
    votes = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "a"], ["x", "x", "y"], [1, np.nan, None])
    assert votes.n_pairs == 3
    assert np.diff(votes.vote_start).tolist() == [1, 0, 0]
    assert (votes.n_votes, votes.n_missing) == (1, 2)
    assert votes.annotators.tolist() == ["x", "y"]


def test_the_same_items_in_two_questions_are_two_pairs():
    votes = Comparisons.from_arrays(["a", "b"], ["b", "a"], ["x", "x"], [1, 1], question=["q", "p"])
    assert votes.pair_question.tolist() == [0, 1]
    assert votes.questions.tolist() == ["p", "q"]
    assert votes.vote_result.tolist() == [SECOND, FIRST]
    assert votes.has_questions


@pytest.mark.parametrize(
    "question",
    [
        ["q", None, None],
        ["q", float("nan"), None],
        pd.Series(["q", None, None], dtype=object),
        pd.Series(["q", None, None], dtype="string"),
        pl.Series(["q", None, None]),
        ["q", pd.NA, pd.NaT],
    ],
)
def test_missing_questions_are_one_question_of_their_own(question):
    votes = Comparisons.from_arrays(["a", "a", "a"], ["b"] * 3, ["x"] * 3, [1, 1, 1], question=question)
    assert (votes.n_pairs, len(votes.questions)) == (2, 2)
    assert sorted(votes.vote_weight.tolist()) == [1.0, 2.0]


def test_one_question_for_all_is_the_same_as_none():
    rows = ["a", "b"], ["b", "c"], ["x", "x"], [1, 0]
    named = Comparisons.from_arrays(*rows, question=["q", "q"])
    assert not named.has_questions
    np.testing.assert_array_equal(named.vote_result, Comparisons.from_arrays(*rows).vote_result)


@st.composite
def matrices(draw):
    n_items, n_annotators = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    pair = st.tuples(st.integers(0, n_items - 1), st.integers(1, n_items - 1))
    pairs = draw(st.lists(pair, min_size=1, max_size=8))
    left = np.array([a for a, _ in pairs])
    right = (left + np.array([step for _, step in pairs])) % n_items
    cell = st.sampled_from([0.0, 1.0, 0.5, np.nan])
    row = st.lists(cell, min_size=n_annotators, max_size=n_annotators)
    outcomes = np.array(draw(st.lists(row, min_size=len(pairs), max_size=len(pairs))))
    annotators = draw(st.permutations([f"w{k}" for k in range(n_annotators)]))
    return left, right, outcomes, annotators


def spelled_out(left, right, outcomes, annotators) -> Comparisons:
    n_pairs, n_annotators = outcomes.shape
    return Comparisons.from_arrays(
        np.repeat(left, n_annotators),
        np.repeat(right, n_annotators),
        list(annotators) * n_pairs,
        outcomes.ravel(),
    )


@given(matrices())
def test_a_matrix_equals_its_votes_spelled_out(matrix):
    assert_same(Comparisons.from_matrix(*matrix), spelled_out(*matrix))


@given(matrices())
def test_minus_one_in_an_integer_matrix_equals_nan(matrix):
    left, right, outcomes, annotators = matrix
    outcomes = np.where(outcomes == 0.5, np.nan, outcomes)
    codes = np.where(np.isnan(outcomes), -1, outcomes).astype(np.int8)
    assert_same(
        Comparisons.from_matrix(left, right, codes, annotators),
        Comparisons.from_matrix(left, right, outcomes, annotators),
    )


def test_a_pair_listed_in_both_directions_of_a_matrix_is_one_pair():
    votes = Comparisons.from_matrix(["a", "b"], ["b", "a"], [[1, 0], [0, -1]], ["x", "y"])
    assert told(votes) == [
        ("a", "b", "x", FIRST, False, 1.0),
        ("a", "b", "x", FIRST, True, 1.0),
        ("a", "b", "y", SECOND, False, 1.0),
    ]
    assert votes.n_missing == 1


def test_matrix_columns_are_numbered_without_annotators():
    assert Comparisons.from_matrix(["a"], ["b"], [[True, False]]).annotators.tolist() == [0, 1]


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2, 3],
        [10**30, 2, 3],
        ["a", "b", "c"],
        [0.5, 1.5, -2.0],
        [1, 2, 2.5],
        [(1, 2), (1, 3), (0, 5)],
        [dt.date(2024, 1, 1), dt.date(2023, 1, 1), dt.date(2025, 1, 1)],
        np.array(["2024-01-01", "2023-01-01", "2025-01-01"], dtype="datetime64[D]"),
        np.array([200, 3, 7], dtype=np.uint8),
    ],
    ids=str,
)
def test_ids_of_any_kind_come_back_as_they_are(ids):
    a, b, c = ids
    votes = Comparisons.from_arrays([a, b, c], [b, c, a], [a, b, c], [1, 1, 1])
    assert set(votes.items.tolist()) == set(votes.annotators.tolist()) == set(np.asarray([*ids, None], object)[:3])
    winners = {
        votes.items[(votes.pair_second, votes.pair_first)[result][pair]]
        for pair, result in zip(votes.vote_pair, votes.vote_result, strict=True)
    }
    assert len(winners) == 3


def test_small_signed_integers_keep_their_values():
    items = np.array([-100, 100, 45], dtype=np.int8)
    votes = Comparisons.from_arrays(items, np.roll(items, 1), ["x"] * 3, [1, 1, 1])
    assert votes.items.tolist() == [-100, 45, 100]


def test_arrays_are_read_only():
    for votes in (
        Comparisons.from_arrays(["a"], ["b"], ["x"], [1]),
        Comparisons.from_matrix(["a"], ["b"], [[1]]),
    ):
        for name in LABELS + ARRAYS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(votes, name)[0] = getattr(votes, name)[0]


def test_the_callers_arrays_stay_their_own():
    left, right, outcome, weight = np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0.0]), np.ones(2)
    Comparisons.from_arrays(left, right, left, outcome, weight)
    Comparisons.from_matrix(left, right, outcome[:, None])
    for array in (left, right, outcome, weight):
        array[0] = 7
