from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from jamrank.data.comparisons import Comparisons
from tests.data.votes import columns, refusal


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
    assert "0, or a number from" in str(error)


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
