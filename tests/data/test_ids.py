from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.data.ids import as_array, as_column, codes_in, encode, first_missing, locate
from jamrank.errors import InputError, UnknownItemError

KINDS = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "near": st.integers(-50, 50),
    "text": st.text(max_size=4),
    "float": st.floats(allow_nan=False),
    "tuple": st.tuples(st.integers(0, 3), st.integers(0, 3)),
    "date": st.dates(),
    "huge": st.integers(-(2**80), 2**80),
    "bytes": st.binary(max_size=3),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_codes_point_back_at_every_value(kind, data):
    left = data.draw(st.lists(KINDS[kind], min_size=1, max_size=12))
    right = data.draw(st.lists(KINDS[kind], min_size=1, max_size=12))
    labels, (left_code, right_code) = encode(as_column(left), as_column(right))
    assert [labels.tolist()[code] for code in left_code] == left
    assert [labels.tolist()[code] for code in right_code] == right
    assert set(labels.tolist()) == {*left, *right}
    assert left_code.dtype == np.int32


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_labels_are_sorted(kind, data):
    labels, _ = encode(as_column(data.draw(st.lists(KINDS[kind], min_size=1, max_size=12))))
    assert labels.tolist() == sorted(labels.tolist())


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_labels_do_not_depend_on_the_order_of_values(kind, data):
    values = data.draw(st.lists(KINDS[kind], min_size=1, max_size=12))
    shuffled = data.draw(st.permutations(values))
    assert encode(as_column(values))[0].tolist() == encode(as_column(shuffled))[0].tolist()


@given(st.data())
def test_every_width_of_integer_keeps_its_values(data):
    dtype = data.draw(st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint64]))
    info = np.iinfo(dtype)
    values = data.draw(st.lists(st.integers(int(info.min), int(info.max)), min_size=1, max_size=10))
    labels, (codes,) = encode(np.array(values, dtype=dtype))
    assert labels.tolist() == sorted(set(values))
    assert labels[codes].tolist() == values


@pytest.mark.parametrize("values", [[0], [3, 0, 3], [7, 5], [2**16 - 1, 0], [2**16, 1], [-1, 2], []])
def test_small_numbers_with_and_without_gaps(values):
    for dtype in (np.int32, np.int64):
        left, right = np.array(values, dtype=dtype), np.array(values[::-1], dtype=np.int64)
        labels, (left_code, right_code) = encode(left, right)
        assert labels.tolist() == sorted(set(values))
        assert labels.dtype == np.int64
        assert labels[left_code].tolist() == values
        assert labels[right_code].tolist() == values[::-1]


def test_numbers_equal_across_types_are_one_id():
    labels, (left, right) = encode(np.array([1, 2]), np.array([2.0, 3.5]))
    assert labels.tolist() == [1, 2, 3.5]
    assert (left.tolist(), right.tolist()) == ([0, 1], [1, 2])


numbers_and_text = st.lists(st.one_of(st.integers(-12, 12), st.integers(-12, 12).map(str), st.text(max_size=2)))


@given(numbers_and_text.filter(bool), numbers_and_text.filter(bool))
def test_whole_numbers_beside_text_are_the_text_that_spells_them(left, right):
    kinds = {type(value) for value in left + right}
    expected = [value if len(kinds) == 1 else str(value) for value in left + right]
    labels, codes = encode(as_column(left), as_column(right))
    assert labels.tolist() == sorted(set(expected))
    assert [labels.tolist()[code] for code in np.concatenate(codes)] == expected
    for column, own in zip((left, right), codes, strict=True):
        np.testing.assert_array_equal(codes_in(labels, as_column(column)), own)


@pytest.mark.parametrize(
    "number",
    [1, 1.0, np.int8(1), np.uint64(1), np.float32(1), Decimal(1), Fraction(1)],
    ids=lambda number: type(number).__name__,
)
def test_every_type_of_whole_number_is_its_text(number):
    labels, (left, right) = encode(as_column([number, number]), as_column(["1", "2"]))
    assert labels.tolist() == ["1", "2"]
    assert (left.tolist(), right.tolist()) == ([0, 0], [0, 1])
    assert locate(labels, [number]).tolist() == [0]
    assert locate(as_array([number]), ["1"]).tolist() == [0]


def test_other_ways_to_write_a_number_stay_other_ids():
    labels, _ = encode(as_column([7]), as_column(["07", "7.0", " 7", "7"]))
    assert labels.tolist() == [" 7", "07", "7", "7.0"]


@pytest.mark.parametrize(
    "other",
    [2.5, True, b"1", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), (1,), float("inf"), 2.0**60],
    ids=repr,
)
def test_ids_of_kinds_that_cannot_be_compared_are_refused(other):
    with pytest.raises(InputError, match="write all of them as text, or all as whole numbers"):
        encode(as_column([other]), as_column(["1"]))
    with pytest.raises(InputError, match="write all of them as text, or all as whole numbers"):
        encode(as_column([other, "1"]))


def test_true_is_not_the_number_one():
    with pytest.raises(InputError, match="true or false, whole numbers"):
        encode(np.array([True, False]), np.array([1, 2]))


def test_large_numbers_are_not_rounded_into_each_other():
    large = 2**53
    signed, unsigned = np.array([large, large + 1, -1]), np.array([large, large + 1], dtype=np.uint64)
    assert encode(signed, unsigned)[0].tolist() == [-1, large, large + 1]
    assert encode(signed, np.array([2**64 - 1], dtype=np.uint64))[0].tolist() == [-1, large, large + 1, 2**64 - 1]
    with_gap = as_column(pl.Series([large, large + 1, None]))
    assert with_gap.tolist() == [large, large + 1, None]


def test_times_are_not_rounded_into_each_other():
    times = np.array([1, 2], dtype="datetime64[ns]")
    with pytest.raises(InputError, match="finer than a microsecond"):
        as_column(times)
    assert len(as_column(np.array([1000, 2000], dtype="datetime64[ns]"))) == 2


def test_a_number_too_long_to_write_is_refused():
    with pytest.raises(InputError, match="cannot be written as text"):
        encode(as_column([10**5000]), as_column(["a"]))


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["a", "b"], dtype="category"),
        pd.Series(["a", "b"], dtype="string"),
        pd.Index(["a", "b"]),
        pl.Series(["a", "b"]),
        pl.Series(["a", "b"], dtype=pl.Categorical),
        pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
        np.array(["a", "b"]),
        ("a", "b"),
        {"a": 1, "b": 2}.keys(),
    ],
    ids=lambda values: type(values).__module__ + str(getattr(values, "dtype", "")),
)
def test_a_column_of_text_is_the_same_from_any_container(values):
    column = as_array(values)
    assert column.tolist() == ["a", "b"]
    assert all(type(value) is str for value in column)
    assert isinstance(as_column(values), pl.Series)


def test_whole_numbers_beside_floats_are_left_as_they_are():
    assert [type(v) for v in as_column([1, 2.5, "x"]).tolist()] == [int, float, str]


@pytest.mark.parametrize(
    ("values", "at"),
    [
        (["a", None], 1),
        ([float("nan"), "a"], 0),
        (["a", pd.NA], 1),
        ([dt.date(2024, 1, 1), pd.NaT], 1),
        ([1.0, 2.0, float("nan")], 2),
        (np.array(["NaT"], dtype="timedelta64[s]"), 0),
        (["", 0, False, ()], None),
        ([1, 2], None),
        (np.array([True, False]), None),
    ],
    ids=str,
)
def test_the_first_missing_value_is_found(values, at):
    assert first_missing(as_column(values)) == at


def test_an_id_that_cannot_be_hashed_is_refused():
    with pytest.raises(InputError, match="unhashable"):
        encode(as_column([["a"], ["b"]]))


def test_locating_takes_text_for_the_number_it_spells():
    assert locate(np.array([5, 7, 9]), ["7", 9, "x", 5.0]).tolist() == [1, 2, -1, 0]
    assert locate(np.array(["5", "7"], dtype=object), [7, 5]).tolist() == [1, 0]


def test_locating_prefers_the_exact_id():
    labels = np.array([1, "1"], dtype=object)
    assert locate(labels, ["1", 1]).tolist() == [1, 0]


def test_locating_takes_tuples_as_ids():
    labels, _ = encode(as_column([("a", 1), ("b", 2), ("c", 3)]))
    assert locate(labels, as_column([("c", 3), ("a", 1), ("a", 2)])).tolist() == [2, 0, -1]
    assert locate(labels, [("c", 3), ("a", 1)]).tolist() == [2, 0]


def test_locating_something_unhashable_is_refused():
    with pytest.raises(UnknownItemError, match="unhashable"):
        locate(np.array([1, 2]), as_column([{}]))
