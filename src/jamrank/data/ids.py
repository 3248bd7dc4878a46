"""Ids of any kind to dense integer codes, in sorted order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.errors import InputError, UnknownItemError
from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, Int32Array, IntArray

__all__ = [
    "Column",
    "Int32Array",
    "as_array",
    "as_column",
    "as_objects",
    "codes_in",
    "distinct",
    "encode",
    "first_missing",
    "is_missing",
    "locate",
    "take",
]

# Text stays with polars, which encodes it in threads; all else is numpy's.
Column = NDArray[Any] | pl.Series
Result = TypeVar("Result")

_PIECE = 1 << 21


def as_column(values: Any) -> Column:
    """Return ``values`` as one column without changing what any of them is: text for polars, the rest for numpy."""
    if isinstance(values, pl.Series):
        if values.dtype == pl.String:
            return values
        if values.dtype in (pl.Categorical, pl.Enum):
            return values.cast(pl.String)
        values = values.to_list() if values.dtype == pl.Object else values.to_numpy()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray):
        return _from_objects(list(values))
    if values.ndim != 1:
        raise InputError(f"a column with {values.ndim} dimensions", "expected one value for each vote")
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    return _from_objects(values.tolist()) if values.dtype.kind in "OUST" else values


def as_array(values: Any) -> NDArray[Any]:
    """Return ``values`` as a numpy array, text as objects."""
    column = as_column(values)
    return as_objects(column) if isinstance(column, pl.Series) else column


def take(column: Column, chosen: BoolArray) -> Column:
    """Return the chosen values of a column."""
    return column.filter(pl.Series(chosen)) if isinstance(column, pl.Series) else column[chosen]


def _from_objects(values: list[Any]) -> Column:
    """Return text, integers or floats where all values are, and untouched objects otherwise."""
    kinds = set(map(type, values))
    if kinds and kinds <= {str, type(None)}:
        return pl.Series(values, dtype=pl.String)
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    elif kinds and kinds <= {float, np.float64}:
        return np.array(values, dtype=np.float64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def first_missing(column: Column) -> int | None:
    """Return the position of the first missing value (None, NaN, NaT, NA), or None."""
    if isinstance(column, pl.Series):
        return column.is_null().arg_max() if column.null_count() else None
    if column.dtype.kind == "f":
        missing = np.isnan(column)
    elif column.dtype.kind in "mM":
        missing = np.isnat(column)
    elif column.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, column), bool, len(column))
    else:
        return None
    return int(missing.argmax()) if missing.any() else None


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for no value: None, or one that does not equal itself (NaN, NaT, NA)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA refuses to be true or false
        return True


def encode(*columns: Column) -> tuple[NDArray[Any], list[Int32Array]]:
    """Return the sorted distinct values of the columns together, and each column in codes.

    Parameters
    ----------
    *columns : ndarray or polars.Series
        From :func:`as_column`, without missing values.

    Returns
    -------
    labels : ndarray
        Sorted; integers, floats or dates keep their type, all else is a Python object.
    codes : list of ndarray of int32
        ``labels[codes[c]]`` equals ``columns[c]``.
    """
    texts = [column for column in columns if isinstance(column, pl.Series)]
    if len(texts) == len(columns):
        return _encode_text(texts)
    arrays = [as_objects(column) if isinstance(column, pl.Series) else column for column in columns]
    if all(array.dtype.kind in "iu" for array in arrays):
        return _encode_integers(arrays)
    if len({array.dtype.kind for array in arrays}) > 1:
        arrays = [as_objects(array) for array in arrays]
    together = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
    if together.dtype.kind == "O":
        labels, codes = _encode_objects(together)
    else:
        labels, inverse = np.unique(together, return_inverse=True)
        codes = inverse.astype(np.int32)
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    return labels, np.split(codes, ends)


def distinct(column: Column) -> Column:
    """Return the distinct values of a column without missing ones, in no particular order."""
    if isinstance(column, pl.Series):
        return _unique(column)
    if column.dtype.kind in "iu":
        return _encode_integers([column])[0]
    return as_column(list(set(column.tolist()))) if column.dtype.kind == "O" else np.unique(column)


def codes_in(labels: NDArray[Any], column: Column) -> Int32Array:
    """Return the codes of values that all are among the labels of :func:`encode`."""
    if isinstance(column, pl.Series):
        return _codes_of_text(pl.Enum(labels.tolist()), column)
    if labels.dtype.kind == "O":
        code_of = {label: code for code, label in enumerate(labels.tolist())}
        return np.fromiter((code_of[value] for value in column.tolist()), np.int32, len(column))
    if labels.dtype.kind in "iu" and int(labels[-1]) - int(labels[0]) < max(4 * len(labels), 1 << 20):
        table = np.zeros(int(labels[-1]) - int(labels[0]) + 1, dtype=np.int32)
        table[labels - labels[0]] = np.arange(len(labels), dtype=np.int32)
        return np.asarray(table[column - labels[0]])
    return np.searchsorted(labels, column).astype(np.int32)


def as_objects(column: Column) -> NDArray[Any]:
    """Return a column as an array of Python objects."""
    objects = np.empty(len(column), dtype=object)
    objects[:] = column.to_list() if isinstance(column, pl.Series) else column.tolist()
    return objects


def _encode_integers(columns: list[NDArray[Any]]) -> tuple[NDArray[Any], list[Int32Array]]:
    filled = [column for column in columns if len(column)]
    low, high = min((int(c.min()) for c in filled), default=0), max((int(c.max()) for c in filled), default=0)
    kind = np.result_type(*columns)
    if high - low > max(4 * sum(map(len, columns)), 1 << 20) or high >= 2**63:
        labels, inverse = np.unique(np.concatenate(columns), return_inverse=True)
        ends = np.cumsum([len(column) for column in columns])[:-1]
        return labels, np.split(inverse.astype(np.int32), ends)
    ids = [column if column.dtype in (np.int32, np.int64) else column.astype(np.int64) for column in columns]
    ids = [np.ascontiguousarray(column) for column in ids]
    seen, threads = np.zeros(high - low + 1, dtype=np.uint8), default_threads()
    for column in ids:
        kernels.mark_ids(column, low, seen, threads)
    everything = bool(seen.all())
    rank = np.cumsum(seen if not everything else seen[:0], dtype=np.int32) - np.int32(1)
    codes = [np.empty(len(column), dtype=np.int32) for column in ids]
    for column, own in zip(ids, codes, strict=True):
        kernels.code_ids(column, low, rank, own, threads)
    labels = np.arange(low, high + 1) if everything else np.flatnonzero(seen) + low
    return labels.astype(kind), codes


def _encode_text(columns: list[pl.Series]) -> tuple[NDArray[Any], list[Int32Array]]:
    distinct = pl.concat([_unique(column) for column in columns]).unique().sort()
    kind = pl.Enum(distinct)
    return as_objects(distinct), [_codes_of_text(kind, column) for column in columns]


def _unique(column: pl.Series) -> pl.Series:
    return pl.concat(_by_piece(column, lambda start, piece: piece.unique())).unique()


def _codes_of_text(kind: pl.Enum, column: pl.Series) -> Int32Array:
    codes = np.empty(len(column), dtype=np.int32)

    def code(start: int, piece: pl.Series) -> None:
        codes[start : start + len(piece)] = piece.cast(kind).to_physical().to_numpy()

    _by_piece(column, code)
    return codes


def _by_piece(column: pl.Series, call: Callable[[int, pl.Series], Result]) -> list[Result]:
    """Call with the start and the values of each piece of a column, in threads: polars takes but one for a column."""
    starts = range(0, len(column), _PIECE)
    if len(starts) <= 1:
        return [call(0, column)]
    with ThreadPoolExecutor(default_threads()) as pool:
        return list(pool.map(lambda start: call(start, column.slice(start, _PIECE)), starts))


def _encode_objects(column: NDArray[Any]) -> tuple[NDArray[Any], Int32Array]:
    values = column.tolist()
    try:
        distinct_values = _sorted(set(values))
    except TypeError as error:
        raise InputError(f"an id that cannot be compared or hashed ({error})", "use strings or numbers") from None
    code_of = {value: code for code, value in enumerate(distinct_values)}
    labels = np.empty(len(distinct_values), dtype=object)
    labels[:] = distinct_values
    return labels, np.fromiter((code_of[value] for value in values), np.int32, len(values))


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def locate(labels: NDArray[Any], wanted: Sequence[Any] | NDArray[Any]) -> IntArray:
    """Return the code of each wanted id in ``labels``, -1 where it is unknown.

    An id that differs from a label only in being text ("7") or a number (7) is taken for it.
    """
    code_of = {label: code for code, label in enumerate(labels.tolist())}
    as_text = {str(label): code for label, code in code_of.items()}
    try:
        values = as_objects(as_column(wanted)).tolist()
        found = [code_of.get(value, as_text.get(str(value), -1)) for value in values]
    except TypeError as error:
        raise UnknownItemError(f"an id that cannot be looked up ({error}); use the ids of the votes") from None
    return np.array(found, dtype=np.int64)
