from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from jamrank.data.comparisons import Comparisons
from jamrank.errors import FeatureError, FeatureWarning
from jamrank.models import JAM
from jamrank.scorers import Features, align_features

ITEMS = np.array(["a", "b", "c"], dtype=object)


def refusal(features, items=ITEMS, expected=None) -> FeatureError:
    with pytest.raises(FeatureError) as caught:
        align_features(features, items, expected)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.remedy
    return caught.value


# -- measuring and standardising ----------------------------------------------------------------------------


def test_standardised_features_have_mean_zero_and_deviation_one():
    matrix = np.random.default_rng(0).normal(5, 3, (50, 4))
    standardised = Features.of(matrix, "wxyz").standardise(matrix)
    np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standardised.std(axis=0), 1)


def test_the_order_of_items_changes_no_bit_of_mean_and_scale():
    rng = np.random.default_rng(1)
    matrix = rng.normal(1e3, 1, (200, 3))
    matrix[rng.random((200, 3)) < 0.1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeatureWarning)
        a, b = Features.of(matrix, "xyz"), Features.of(rng.permutation(matrix), "xyz")
    assert a.mean.tobytes() == b.mean.tobytes()
    assert a.scale.tobytes() == b.scale.tobytes()


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e-200])
def test_a_constant_feature_is_warned_about_and_tells_nothing(value):
    matrix = np.column_stack([np.arange(30.0), np.full(30, value)])
    with pytest.warns(FeatureWarning, match="feature flat: constant"):
        measured = Features.of(matrix, ["steep", "flat"])
    assert (measured.standardise(matrix)[:, 1] == 0).all()
    assert measured.in_user_units(np.array([1.0, 5.0]))[1] == 0.0


def test_a_constant_feature_gets_no_weight_in_a_fit():
    votes = Comparisons.from_arrays(["a", "b", "c", "a"], ["b", "c", "a", "c"], ["x"] * 4, [1, 1, 0, 1])
    with pytest.warns(FeatureWarning, match="x1"):
        model = JAM().fit(votes, np.array([[3.0, 7.0], [2.0, 7.0], [1.0, 7.0]]))
    assert model.coef_[0] > 0
    assert model.coef_[1] == 0.0


def test_gaps_get_the_mean_of_the_others_and_are_warned_about():
    matrix = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 9.0]])
    with pytest.warns(FeatureWarning, match="feature holes: missing"):
        measured = Features.of(matrix, ["holes", "whole"])
    filled = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 9.0]])
    np.testing.assert_array_equal(measured.standardise(matrix), measured.standardise(filled))
    assert measured.mean[0] == 2.0


def test_nothing_is_warned_about_whole_and_varied_features():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Features.of(np.arange(6.0).reshape(3, 2), "xy")


def test_only_constant_features_are_refused():
    with pytest.warns(FeatureWarning), pytest.raises(FeatureError, match="constant"):
        Features.of(np.ones((4, 2)), "xy")


def test_weights_in_user_units_give_the_same_differences_of_scores():
    rng = np.random.default_rng(2)
    matrix = rng.normal(10, 4, (20, 3))
    measured, weights = Features.of(matrix, "xyz"), rng.standard_normal(3)
    standard, plain = measured.standardise(matrix) @ weights, matrix @ measured.in_user_units(weights)
    np.testing.assert_allclose(standard - standard[0], plain - plain[0])


# -- aligning -----------------------------------------------------------------------------------------------

TABLE = {"item": ["c", "a", "extra", "b"], "size": [3.0, 1.0, 9.0, 2.0], "age": [30, 10, 90, 20]}
WANTED = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]


@pytest.mark.parametrize(
    "features",
    [
        pl.DataFrame(TABLE),
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE)[["size", "item", "age"]],
        pd.DataFrame(TABLE).set_index("item"),
        pd.DataFrame(TABLE).set_index("item").rename_axis(None),
        pl.DataFrame(TABLE).rename({"item": "name"}),
        pl.DataFrame(TABLE).to_arrow(),
        {"c": [3, 30], "a": [1, 10], "b": [2, 20], "extra": [9, 90]},
        WANTED,
        np.array(WANTED, dtype=np.float32),
    ],
    ids=lambda features: type(features).__module__ + "." + type(features).__name__,
)
def test_features_from_any_container_are_put_in_the_order_of_the_items(features):
    matrix, names = align_features(features, ITEMS)
    assert matrix.tolist() == WANTED
    assert names in (["size", "age"], ["x0", "x1"])


def test_columns_are_put_in_the_order_of_an_earlier_fit():
    matrix, names = align_features(pl.DataFrame(TABLE), ITEMS, expected=("age", "size"))
    assert names == ["age", "size"]
    assert matrix[:, 0].tolist() == [10, 20, 30]
    assert "'weight'" in str(refusal(pl.DataFrame(TABLE), expected=("age", "weight")))
    assert "2 features instead of 3" in str(refusal(WANTED, expected=("x", "y", "z")))


@pytest.mark.parametrize(
    ("items", "ids"),
    [
        (np.array([1, 2, 10]), ["1", "2", "10"]),
        (np.array(["1", "2", "10"], dtype=object), [1, 2, 10]),
        (np.array([1, 2, 10]), [1.0, 2.0, 10.0]),
    ],
)
def test_numbers_and_their_spelling_are_the_same_item(items, ids):
    frame = pd.DataFrame({"f": [5.0, 6.0, 7.0]}, index=ids).iloc[::-1]
    assert align_features(frame, items)[0].ravel().tolist() == [5.0, 6.0, 7.0]


def test_pandas_columns_named_by_numbers_are_features():
    frame = pd.DataFrame({0: [1.0, 2.0, 3.0], 1: [10, 20, 30]}, index=list("abc"))
    matrix, names = align_features(frame, ITEMS)
    assert matrix.tolist() == WANTED
    assert names == ["0", "1"]
    assert align_features(frame, ITEMS, expected=("1", "0"))[0][:, 1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1.5, None, 2.0], dtype="Float64"),
        pd.array([1, None, 2], dtype="Int64"),
        pd.Series([1.5, None, 2.0], dtype=object).to_numpy(),
        pd.Series([1.5, pd.NA, 2.0], dtype=object).to_numpy(),
    ],
    ids=["Float64", "Int64", "None", "NA"],
)
def test_gaps_of_every_pandas_kind_are_gaps(column):
    matrix, _ = align_features(pd.DataFrame({"f": column}, index=list("abc")), ITEMS)
    assert np.isnan(matrix.ravel()).tolist() == [False, True, False]


def test_truth_values_are_numbers():
    frame = pl.DataFrame({"item": ["a", "b", "c"], "open": [True, False, True]})
    assert align_features(frame, ITEMS)[0].ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "column", [["x", "y", "z"], [dt.datetime(2024, 1, d) for d in (1, 2, 3)], [[1], [2], [3]]], ids=str
)
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_feature_that_is_not_numeric_is_named(column, library):
    error = refusal(library.DataFrame({"item": ["a", "b", "c"], "size": [1, 2, 3], "colour": column}))
    assert "'colour'" in str(error)


@pytest.mark.parametrize("features", [{"a": ["x"], "b": ["y"], "c": ["z"]}, {}, [["x"], ["y"], ["z"]]], ids=str)
def test_what_is_no_number_in_a_mapping_or_array_is_refused(features):
    refusal(features)


def test_two_columns_of_one_name_are_refused():
    refusal(pd.DataFrame([[1, 2], [3, 4], [5, 6]], index=list("abc"), columns=["f", "f"]))


def test_an_item_with_two_rows_is_named():
    frame = pl.DataFrame({"item": ["a", "b", "c", "b"], "f": [1, 2, 3, 4]})
    assert "item b " in str(refusal(frame))


def test_an_item_without_features_is_named_and_counted():
    frame = pl.DataFrame({"item": ["a"], "f": [1]})
    assert "2 of 3 items, among them b" in str(refusal(frame))


def test_a_row_without_an_item_is_told():
    assert refusal(pl.DataFrame({"item": ["a", None, "c"], "f": [1, 2, 3]})).row == 2


def test_an_infinite_value_is_told_with_item_and_feature():
    frame = pl.DataFrame({"item": ["c", "b", "a"], "f": [1.0, float("inf"), 3.0]})
    error = refusal(frame)
    assert "'f'" in str(error)
    assert "item b " in str(error)


@pytest.mark.parametrize("shape", [(2, 3), (4, 1), (3, 2, 1)])
def test_an_array_of_the_wrong_shape_is_refused(shape):
    assert str(shape) in str(refusal(np.ones(shape)))


def test_a_frame_without_features_is_refused():
    refusal(pl.DataFrame({"item": ["a", "b", "c"]}))


def test_a_mapping_of_uneven_lists_is_refused():
    refusal({"a": [1], "b": [1, 2], "c": [1]})


def test_the_callers_array_stays_as_it_was():
    given = np.array(WANTED)
    matrix, _ = align_features(given, ITEMS)
    matrix[0, 0] = 99
    assert given[0, 0] == 1.0
