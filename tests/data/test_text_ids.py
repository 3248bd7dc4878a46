"""Text ids from Python objects: coded as the general way codes them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jamrank as jr
from jamrank.data.ids import as_column, encode, is_arrow_text
from jamrank.data.text_ids import encode_text
from jamrank.kernels import compiled, kernels, twin

texts = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=60)


def kinds(values):
    pd = pytest.importorskip("pandas")
    yield values
    yield np.array(values, dtype=object)
    yield pd.Series(values)
    yield pd.Series(values, dtype=object)
    yield pd.Series(values).astype("category")
    yield pl.Series(values, dtype=pl.Enum([*dict.fromkeys(values), "not there"]))
    if not any(value.endswith("\0") for value in values):
        yield np.array(values)


@settings(deadline=None, max_examples=60)
@given(texts, texts)
def test_codes_are_those_of_the_general_way(left, right):
    labels, codes = encode(as_column(list(left)), as_column(list(right)))
    for one, other in zip(kinds(left), kinds(right), strict=False):
        found = encode_text(one, other)
        if found is None:
            assert is_arrow_text(one) or not all(value.isprintable() for value in left + right)
            found = encode(as_column(one), as_column(other))
        assert found[0].tolist() == labels.tolist()
        assert [own.tolist() for own in found[1]] == [own.tolist() for own in codes]


@pytest.mark.parametrize("value", [None, 7, 1.5, float("nan"), "\ud800", b"a"])
def test_other_values_are_left_to_the_general_way(value):
    assert encode_text(["a", value]) is None
    assert encode_text(np.array(["a", value], dtype=object)) is None


def test_other_columns_are_left_to_the_general_way():
    assert encode_text(("a", "b")) is None
    assert encode_text(np.array([1, 2])) is None
    assert encode_text(np.array([b"a"])) is None
    assert encode_text(np.array([["a"]])) is None
    assert encode_text(["a"], [1]) is None


def test_text_of_either_byte_order_and_any_width_is_the_same():
    left, right = np.array(["b", "a"]), np.array(["longer than it", "b"])
    for one in (left, left.astype(">U1"), np.array(["b", "x", "a", "x"])[::2]):
        votes = jr.Comparisons.from_arrays(one, right, ["z", "y"], [1, 0])
        assert votes.items.tolist() == ["a", "b", "longer than it"]


def test_unused_categories_are_no_items():
    pd = pytest.importorskip("pandas")
    column = pd.Series(pd.Categorical(["a", "b"], categories=["never", "b", "a"]))
    labels, (codes,) = encode_text(column)
    assert labels.tolist() == ["a", "b"] and codes.tolist() == [0, 1]


def test_errors_name_row_and_column_as_before():
    with pytest.raises(jr.errors.InputError, match=r"row 2: right is missing"):
        jr.Comparisons.from_arrays(["a", "b"], ["b", None], ["z", "z"], [1, 0])
    with pytest.raises(jr.errors.InputError, match="different length"):
        jr.Comparisons.from_arrays(["a", "b"], ["b"], ["z", "z"], [1, 0])
    with pytest.raises(jr.errors.InputError, match="compared with itself"):
        jr.Comparisons.from_arrays(["a", "b"], ["b", "b"], ["z", "z"], [1, 0])


@pytest.mark.parametrize("module", [twin, *([kernels] if compiled else [])])
def test_objects_of_an_array_are_coded_where_they_are(module):
    column = np.array([f"item-{number % 17}" for number in range(300)] + [None, 1.5], dtype=object)
    for chosen in (column[:300], column[:300][::-3], column[1:1]):
        codes = np.empty(len(chosen), dtype=np.int32)
        distinct = module.code_strings(chosen, codes)
        assert [distinct[code] for code in codes] == chosen.tolist() and len(set(distinct)) == len(distinct)
    assert module.code_strings(column, np.empty(302, dtype=np.int32)) is None
    assert module.code_strings(np.empty(3, dtype=object), np.empty(3, dtype=np.int32)) is None


@pytest.mark.skipif(not compiled, reason="no compiled kernels")
def test_what_is_no_array_of_objects_is_refused():
    for other in (np.zeros(3), np.empty((1, 3), dtype=object)):
        with pytest.raises(ValueError, match="objects"):
            kernels.code_strings(other, np.empty(3, dtype=np.int32))


@pytest.mark.skipif(not compiled, reason="no compiled kernels")
def test_many_rows_are_coded_by_all_threads_as_their_twin_does():
    drawn = np.random.default_rng(0).integers(0, 3000, 50_000)
    column = np.array([f"item-{number}" for number in drawn])
    raw, width = column.view(np.uint8).ravel(), column.dtype.itemsize
    codes, first = np.empty(len(column), dtype=np.int32), np.empty(len(column), dtype=np.int64)
    n_codes = kernels.code_rows(raw, width, codes, first, 4)
    own = np.empty(len(column), dtype=np.int32)
    distinct = twin.code_strings(column.tolist(), own)
    assert n_codes == len(distinct) and codes.tolist() == own.tolist()
    assert column[first[:n_codes]].tolist() == distinct
    assert kernels.code_strings(column.tolist(), codes) == distinct and codes.tolist() == own.tolist()
    few = slice(0, 200 * width)
    n_few = twin.code_rows(raw[few], width, own[:200], first[:200], 1)
    assert own[:200].tolist() == codes[:200].tolist() and column[first[:n_few]].tolist() == distinct[:n_few]
