from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jamrank.data import folding
from jamrank.data.comparisons import Comparisons
from jamrank.data.folding import mixed_radix
from jamrank.data.storage import FIRST, SECOND, TIE
from jamrank.errors import InputError

LABELS = ("items", "annotators", "questions")
ARRAYS = (
    "pair_first",
    "pair_second",
    "pair_question",
    "vote_start",
    "vote_annotator",
    "vote_result",
    "vote_swapped",
    "vote_weight",
)


def assert_same(a: Comparisons, b: Comparisons, but: tuple[str, ...] = ()) -> None:
    for name in LABELS:
        assert getattr(a, name).tolist() == getattr(b, name).tolist(), name
    for name in ARRAYS:
        if name not in but:
            x, y = getattr(a, name), getattr(b, name)
            assert x.dtype == y.dtype, name
            np.testing.assert_array_equal(x, y, err_msg=name)
    if "n_votes" not in but:
        assert (a.n_votes, a.n_missing) == (b.n_votes, b.n_missing)


def refusal(build, *args, **kwargs) -> InputError:
    with pytest.raises(InputError) as caught:
        build(*args, **kwargs)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.remedy
    return caught.value


def told(votes: Comparisons) -> list[tuple]:
    """Spell out the folded votes as (pair, annotator, result, swapped, weight)."""
    rows = []
    for pair in range(votes.n_pairs):
        first, second = votes.items[votes.pair_first[pair]], votes.items[votes.pair_second[pair]]
        for v in range(votes.vote_start[pair], votes.vote_start[pair + 1]):
            who = votes.annotators[votes.vote_annotator[v]]
            result, swapped = int(votes.vote_result[v]), bool(votes.vote_swapped[v])
            rows.append((first, second, who, result, swapped, float(votes.vote_weight[v])))
    return rows


@st.composite
def ballots(draw, most: int = 30):
    """Rows of (left, right, annotator, outcome, weight, question)."""
    n_items = draw(st.integers(2, 6))
    row = st.tuples(
        st.integers(0, n_items - 1),
        st.integers(1, n_items - 1),
        st.integers(0, 3),
        st.sampled_from([0.0, 1.0, 0.5, np.nan]),
        st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.5]),
        st.sampled_from(["p", "q"]),
    )
    rows = draw(st.lists(row, min_size=1, max_size=most))
    return [(left, (left + step) % n_items, *rest) for left, step, *rest in rows]


def of(rows) -> Comparisons:
    left, right, who, outcome, weight, question = (list(column) for column in zip(*rows, strict=True))
    return Comparisons.from_arrays(left, right, who, outcome, weight, question)


# -- canonical form -----------------------------------------------------------------------------------------


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


@given(st.lists(st.floats(0, 10), min_size=3, max_size=20), st.randoms(use_true_random=False))
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


# -- folding ------------------------------------------------------------------------------------------------


@given(ballots(), st.data())
def test_weight_two_equals_the_vote_written_twice(rows, data):
    chosen = data.draw(st.integers(0, len(rows) - 1))
    left, right, who, outcome, weight, question = rows[chosen]
    doubled = [*rows]
    doubled[chosen] = (left, right, who, outcome, 2 * weight, question)
    assert_same(of(doubled), of([*rows, rows[chosen]]), but=("n_votes",))


def test_equal_votes_fold_into_a_weight_and_are_still_counted():
    votes = Comparisons.from_arrays(["a"] * 3, ["b"] * 3, ["x"] * 3, [1, 1, 0])
    assert told(votes) == [("a", "b", "x", SECOND, False, 1.0), ("a", "b", "x", FIRST, False, 2.0)]
    assert votes.n_votes == 3


def test_ties_are_kept_as_ties_whichever_side_was_shown():
    votes = Comparisons.from_arrays(["a", "b"], ["b", "a"], ["x", "y"], [0.5, 0.5])
    assert votes.vote_result.tolist() == [TIE, TIE]
    assert votes.n_ties == 2.0


def test_a_pair_with_only_missing_votes_stays_without_votes():
    votes = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "a"], ["x", "x", "y"], [1, np.nan, None])
    assert votes.n_pairs == 3
    assert np.diff(votes.vote_start).tolist() == [1, 0, 0]
    assert (votes.n_votes, votes.n_missing) == (1, 2)
    assert votes.annotators.tolist() == ["x", "y"]


# -- questions ----------------------------------------------------------------------------------------------


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


# -- matrices -----------------------------------------------------------------------------------------------


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


# -- ratings ------------------------------------------------------------------------------------------------


@st.composite
def ratings(draw):
    """Rows of (item, annotator, rating, question); an item may be rated more than once."""
    rating = st.sampled_from([1.0, 2.0, 2.5, 3.0, np.nan, None])
    row = st.tuples(st.sampled_from("edcba"), st.sampled_from("zyx"), rating, st.sampled_from(["p", "q", None]))
    return draw(st.lists(row, min_size=1, max_size=25))


def rated(rows) -> Comparisons:
    item, annotator, rating, question = (list(column) for column in zip(*rows, strict=True))
    return Comparisons.from_ratings(item, annotator, rating, question)


def pair_by_pair(rows) -> list[tuple]:
    """Spell out the votes (left, right, annotator, outcome, question) of ratings by a double loop."""
    known = [(item, who, rating, question or "") for item, who, rating, question in rows if rating == rating]
    known = [row for row in known if row[2] is not None]
    return [
        (left, right, who, 0.5 if high == low else float(high > low), question)
        for left, who, high, question in known
        for right, other, low, topic in known
        if left < right and (who, question) == (other, topic)
    ]


@given(ratings())
def test_ratings_are_a_vote_for_every_two_items_of_an_annotator(rows):
    votes = pair_by_pair(rows)
    if not votes:
        refusal(rated, rows)
        return
    left, right, who, outcome, question = (list(column) for column in zip(*votes, strict=True))
    assert_same(rated(rows), Comparisons.from_arrays(left, right, who, outcome, question=question))


@given(ratings(), st.randoms(use_true_random=False))
def test_the_order_of_ratings_changes_nothing(rows, random):
    if pair_by_pair(rows):
        assert_same(rated(rows), rated(random.sample(rows, len(rows))))


def test_the_higher_rating_wins_and_equal_ratings_tie():
    votes = Comparisons.from_ratings(["b", "a", "c", "a", "c"], ["x", "x", "x", "y", "y"], [5, 3, 5, 2, 1])
    assert told(votes) == [
        ("a", "b", "x", SECOND, False, 1.0),
        ("a", "c", "x", SECOND, False, 1.0),
        ("a", "c", "y", FIRST, False, 1.0),
        ("b", "c", "x", TIE, False, 1.0),
    ]
    assert (votes.n_votes, votes.n_missing, votes.n_ties) == (4, 0, 1.0)


def test_an_item_rated_twice_is_compared_twice_but_not_with_itself():
    votes = Comparisons.from_ratings(["a", "b", "a"], ["x"] * 3, [1, 2, 3])
    assert told(votes) == [("a", "b", "x", SECOND, False, 1.0), ("a", "b", "x", FIRST, False, 1.0)]


def test_what_is_compared_with_nothing_is_not_there():
    votes = Comparisons.from_ratings(
        ["a", "b", "alone", "unrated"], ["x", "x", "single", "x"], [1.0, 2.0, 3.0, np.nan], ["q", "q", "r", "q"]
    )
    assert votes.items.tolist() == ["a", "b"]
    assert votes.annotators.tolist() == ["x"]
    assert votes.questions.tolist() == ["q"]
    assert (votes.n_votes, votes.n_missing) == (1, 0)


def test_ratings_are_compared_within_a_question_only():
    votes = Comparisons.from_ratings([1, 2, 2, 3], ["x"] * 4, [5, 4, 1, 2], question=["p", "p", "q", "q"])
    assert told(votes) == [(1, 2, "x", FIRST, False, 1.0), (2, 3, "x", SECOND, False, 1.0)]
    assert votes.questions[votes.pair_question].tolist() == ["p", "q"]


@pytest.mark.parametrize(
    "rating",
    [
        [2, 1, None],
        pd.Series([2, 1, None], dtype="Int64"),
        pl.Series([2, 1, None]),
        pl.Series([2, 1, None], dtype=pl.UInt8),
        [Decimal(2), Fraction(1, 2), float("nan")],
        np.array([2.0, 1.0, np.nan], dtype=np.float16),
        [True, False, pd.NA],
    ],
    ids=lambda rating: type(rating).__name__,
)
def test_ratings_of_any_kind_of_number_may_be_missing(rating):
    votes = Comparisons.from_ratings(["a", "b", "c"], ["x"] * 3, rating)
    assert told(votes) == [("a", "b", "x", FIRST, False, 1.0)]


def test_whole_ratings_are_compared_as_they_are():
    for rating in ([2**60 + 1, 2**60], np.array([200, 100], dtype=np.uint8), np.array([True, False])):
        assert told(Comparisons.from_ratings(["a", "b"], ["x"] * 2, rating))[0][3] == FIRST


# -- ids and frames -----------------------------------------------------------------------------------------


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


def columns(**extra):
    return {
        "left": ["a", "b", "c"],
        "right": ["b", "c", "a"],
        "annotator": ["x", "y", "x"],
        "winner": ["left", "tie", None],
        **extra,
    }


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"weight": [1.0, 2.0, 0.5]},
        {"question": ["q", None, "p"]},
        {"question": [3, None, 4]},
        {"left": [1, 2, 3], "right": [2, 3, 1]},
        {"annotator": [dt.datetime(2024, 1, d) for d in (1, 2, 3)]},
    ],
    ids=str,
)
def test_pandas_polars_and_arrow_frames_say_the_same(extra):
    from_polars = Comparisons.from_frame(pl.DataFrame(columns(**extra)))
    from_pandas = Comparisons.from_frame(pd.DataFrame(columns(**extra)))
    from_arrow = Comparisons.from_frame(pa.table(columns(**extra)))
    assert_same(from_polars, from_pandas)
    assert_same(from_polars, from_arrow)


@pytest.mark.parametrize("kind", ["string", "category", object])
def test_any_pandas_text_column_may_leave_the_winner_open(kind):
    frame = pd.DataFrame(columns()).astype({"winner": kind})
    assert_same(Comparisons.from_frame(frame), Comparisons.from_frame(pl.DataFrame(columns())))


def test_answers_come_in_the_kind_of_frame_that_was_given():
    assert isinstance(Comparisons.from_frame(pd.DataFrame(columns())).to_frame(), pd.DataFrame)
    assert isinstance(Comparisons.from_frame(pl.DataFrame(columns())).to_frame(), pl.DataFrame)


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


# -- refusals -----------------------------------------------------------------------------------------------


def test_an_item_against_itself_is_refused():
    error = refusal(Comparisons.from_arrays, ["a", "b"], ["b", "b"], ["x", "x"], [1, 1])
    assert error.row == 2
    assert str(error).startswith("row 2: b is compared with itself")
    assert refusal(Comparisons.from_matrix, [1, 2], [2, 2], [[1], [1]]).row == 2


@pytest.mark.parametrize("winner", ["LEFT", "a", "", 1, 0.5, True])
def test_an_unknown_winner_is_refused_never_taken_for_a_tie(winner):
    table = {name: np.array(values, dtype=object) for name, values in columns(winner=["left", winner, "tie"]).items()}
    error = refusal(Comparisons.from_frame, pd.DataFrame(table))
    assert error.row == 2
    assert f"winner is {winner!r}" in str(error)
    assert "'left', 'right' or 'tie'" in str(error)


def test_a_missing_column_is_named_with_those_that_are_there():
    table = columns()
    del table["annotator"], table["winner"]
    error = refusal(Comparisons.from_frame, pl.DataFrame(table))
    assert "'annotator', 'winner'" in str(error)
    assert "among 'left', 'right'" in str(error)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")], ids=repr)
@pytest.mark.parametrize("place", ["left", "right", "annotator"])
def test_a_missing_id_is_refused(missing, place):
    rows = {"left": ["a", "b"], "right": ["b", "c"], "annotator": ["x", "y"], "outcome": [1, 1]}
    rows[place] = [rows[place][0], missing]
    error = refusal(Comparisons.from_arrays, **rows)
    assert error.row == 2
    assert place in error.problem


def test_missing_ids_of_typed_columns_are_refused():
    for column in (
        pd.Series([1, None], dtype="Int64"),
        pl.Series([1, None]),
        pd.Series(["a", None], dtype="string"),
        np.array([1.0, np.nan]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
    ):
        assert refusal(Comparisons.from_arrays, column, ["p", "q"], ["x", "y"], [1, 1]).row == 2


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), None, "heavy"])
def test_a_weight_that_is_no_number_from_zero_up_is_refused(weight):
    error = refusal(Comparisons.from_arrays, ["a", "b"], ["b", "c"], ["x", "x"], [1, 1], weight=[1, weight])
    assert error.row == 2
    assert repr(weight) in str(error)
    assert "at least 0" in str(error)


@pytest.mark.parametrize("outcome", [2, -1, float("inf")])
def test_an_outcome_outside_its_range_is_refused(outcome):
    error = refusal(Comparisons.from_arrays, ["a", "b"], ["b", "c"], ["x", "x"], [1, outcome])
    assert error.row == 2
    assert f"outcome {outcome:g}" in str(error)


def test_an_outcome_that_is_no_number_is_refused_with_row_and_value():
    error = refusal(Comparisons.from_arrays, ["a", "b"], ["b", "c"], ["x", "x"], [1, "left"])
    assert error.row == 2
    assert "'left'" in str(error)


@pytest.mark.parametrize("matrix", [[[1, 0], [1, 2]], [[1, 0], [1, -2]], [[1.0, 0.0], [1.0, 1.3]]])
def test_a_bad_cell_of_a_matrix_is_refused_with_row_and_value(matrix):
    error = refusal(Comparisons.from_matrix, ["a", "b"], ["b", "c"], matrix)
    assert error.row == 2
    assert f"outcome {matrix[1][1]}" in str(error)


@pytest.mark.parametrize(
    "matrix", [[1, 0], [["left"], ["right"]], [[1, 0], [1]]], ids=["one-dimensional", "text", "ragged"]
)
def test_what_is_no_matrix_of_outcomes_is_refused(matrix):
    refusal(Comparisons.from_matrix, ["a", "b"], ["b", "c"], matrix)


def test_lengths_that_differ_are_told():
    error = refusal(Comparisons.from_arrays, ["a", "b"], ["b"], ["x"], [1], weight=[1, 1, 1])
    for part in ("left 2", "right 1", "weight 3"):
        assert part in str(error)
    assert "outcomes 1" in str(refusal(Comparisons.from_matrix, ["a", "b"], ["b", "c"], [[1]]))
    assert "annotators 2" in str(refusal(Comparisons.from_matrix, ["a"], ["b"], [[1]], ["x", "y"]))


def test_no_votes_at_all_is_refused():
    refusal(Comparisons.from_arrays, [], [], [], [])
    refusal(Comparisons.from_matrix, [], [], np.empty((0, 3)))
    refusal(Comparisons.from_frame, pl.DataFrame(columns()).clear())


def test_two_matrix_columns_of_one_annotator_are_refused():
    refusal(Comparisons.from_matrix, ["a"], ["b"], [[1, 0]], ["x", "x"])


def test_a_column_with_two_dimensions_is_refused():
    refusal(Comparisons.from_arrays, np.zeros((2, 2)), ["a", "b"], ["x", "x"], [1, 1])


@pytest.mark.parametrize(
    "rating", ["good", "4", b"4", float("inf"), -float("inf"), 10**400, 1 + 2j, (1, 2), dt.date(2024, 1, 1)], ids=str
)
def test_a_rating_that_is_no_finite_number_is_refused_with_row_and_value(rating):
    error = refusal(Comparisons.from_ratings, ["a", "b", "c"], ["x"] * 3, [1, rating, 3])
    assert error.row == 2
    assert f"rating is {rating!r}" in str(error)
    assert "finite number" in str(error)


def test_ratings_of_no_two_items_are_refused_with_what_is_needed():
    for item, annotator, rating in (
        (["a", "b"], ["x", "y"], [1, 2]),
        (["a", "a"], ["x", "x"], [1, 2]),
        (["a", "b"], ["x", "x"], [1.0, np.nan]),
        (["a", "b"], ["x", "x"], [None, None]),
        ([1, 2], [1.5, 1.5], [None, None]),
    ):
        error = refusal(Comparisons.from_ratings, item, annotator, rating)
        assert "at least two different items" in error.remedy
        assert "question" not in error.remedy
    error = refusal(Comparisons.from_ratings, ["a", "b"], ["x", "x"], [1, 2], ["p", "q"])
    assert "within one question" in error.remedy


def test_ratings_that_are_none_at_all_or_of_other_lengths_are_refused():
    assert "no ratings" in str(refusal(Comparisons.from_ratings, [], [], []))
    assert "rating 1" in str(refusal(Comparisons.from_ratings, ["a", "b"], ["x", "x"], [1]))
    assert "question 3" in str(refusal(Comparisons.from_ratings, ["a", "b"], ["x", "x"], [1, 2], [1, 2, 3]))


@pytest.mark.parametrize("place", ["item", "annotator"])
def test_a_rating_without_an_id_is_refused_even_if_it_is_missing(place):
    rows = {"item": ["a", "b", "c"], "annotator": ["x"] * 3, "rating": [1, None, 2]}
    rows[place] = [rows[place][0], None, rows[place][2]]
    error = refusal(Comparisons.from_ratings, **rows)
    assert error.row == 2
    assert place in error.problem


# -- keys ---------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.data())
def test_mixed_radix_sorts_like_the_digits_even_past_63_bits(data):
    radices = data.draw(st.lists(st.sampled_from([2, 1000, 2**31 - 1, 2**31, 2**40]), min_size=1, max_size=5))
    n = data.draw(st.integers(1, 8))
    rows = [tuple(data.draw(st.sampled_from([0, 1, r // 2, r - 1])) for r in radices) for _ in range(n)]
    digits = [(np.array([row[d] for row in rows], dtype=np.int64), radix) for d, radix in enumerate(radices)]
    key, bound = mixed_radix(digits)
    assert key.dtype == np.int64
    assert (key >= 0).all()
    assert bound <= 2**63
    assert (key < bound).all()
    for a in range(n):
        for b in range(n):
            assert (key[a] < key[b], key[a] == key[b]) == (rows[a] < rows[b], rows[a] == rows[b])


def test_folding_does_not_depend_on_how_wide_the_key_is(monkeypatch):
    rng = np.random.default_rng(1)
    left, step, who, outcome, question = rng.integers(0, [[9], [8], [5], [2], [4]], (5, 400))
    rows = left, (left + 1 + step) % 9, who, outcome, np.ones(400), question
    plain = Comparisons.from_arrays(*rows)
    monkeypatch.setattr(folding, "mixed_radix", lambda digits: mixed_radix([(d, max(r, 2**31)) for d, r in digits]))
    assert_same(plain, Comparisons.from_arrays(*rows))


def test_so_many_pairs_and_annotators_that_even_the_ranks_of_pairs_are_wide():
    n = (1 << 20) + 1
    left, right, who = np.arange(n) * 2, np.arange(n) * 2 + 1, np.arange(n)[::-1]
    turned = np.arange(n) % 3 == 0
    votes = Comparisons.from_arrays(np.where(turned, right, left), np.where(turned, left, right), who, ~turned)
    assert votes.n_pairs == n
    np.testing.assert_array_equal(votes.pair_first, left)
    np.testing.assert_array_equal(votes.vote_annotator, who)
    np.testing.assert_array_equal(votes.vote_swapped, turned)
    assert (votes.vote_result == FIRST).all()


def test_more_items_questions_and_annotators_than_fit_in_one_key():
    n = 40_000
    votes = Comparisons.from_arrays(
        np.arange(n) * 2, np.arange(n) * 2 + 1, np.arange(n)[::-1], np.ones(n), question=np.arange(n)
    )
    assert votes.n_pairs == n
    np.testing.assert_array_equal(votes.pair_question, np.arange(n))
    np.testing.assert_array_equal(votes.vote_annotator, np.arange(n)[::-1])
