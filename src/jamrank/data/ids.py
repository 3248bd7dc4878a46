"""Ids of any kind to dense integer codes, in sorted order.

One rule says which ids are the same, wherever they come from. Ids of one role (items on the left and on the right, or
annotators, or questions; in all files together) are of one kind. If some are text and others whole numbers, all
become text: 7 and 7.0 become "7"; "07" and "7" remain two ids. Any other mixture of kinds is refused. Ids of
features, gold pairs and earlier models are compared in the same way.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.errors import InputError, UnknownItemError
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import extremes
from jamrank.text import unicode_text
from jamrank.typing import BoolArray, Int32Array, IntArray

# Who cast the votes of a file that does not say.
UNNAMED = "unnamed"

# Text stays with polars, which encodes it in threads; all else is numpy's.
Column = NDArray[Any] | pl.Series
Result = TypeVar("Result")

_PIECE = 1 << 21
# Ids below this, a power of two, are encoded in one pass.
_SMALL = 1 << 16
# Integers that numpy does not have; older polars have fewer of them.
_WIDE_INTEGERS = tuple(getattr(pl, name) for name in ("Int128", "UInt128") if hasattr(pl, name))
_TEXT, _WHOLE, _NUMBER = "text", "whole numbers", "numbers"
_REMEDY = "write all of them as text, or all as whole numbers"
# Up to this value every whole number has its own float.
_EXACT = 2.0**53


def as_column(values: Any) -> Column:
    """Return ``values`` as one column without changing any value: text in polars, the rest in numpy."""
    if isinstance(values, pl.Series):
        if values.dtype == pl.String:
            return values
        if values.dtype in (pl.Categorical, pl.Enum):
            return values.cast(pl.String)
        # With gaps, numpy would convert whole numbers to floats and confuse large ones.
        wide = values.dtype in _WIDE_INTEGERS
        gaps = wide or (values.dtype.is_integer() and values.null_count() > 0)
        values = values.to_list() if values.dtype == pl.Object or gaps else values.to_numpy()
    elif is_arrow_text(values):
        return pl.Series(values.array.__arrow_array__(), dtype=pl.String)
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray):
        return _from_objects(list(values))
    if values.ndim != 1:
        raise InputError(f"a column with {values.ndim} dimensions", "expected one value for each vote")
    if values.dtype.kind == "M":
        rounded = values.astype("datetime64[us]")
        if ((rounded != values) & ~np.isnat(values)).any():
            raise InputError("ids that are times finer than a microsecond", "write them as text")
        return rounded
    return _from_objects(values.tolist()) if values.dtype.kind in "OUST" else values


def is_arrow_text(values: Any) -> bool:
    """Return whether a column is pandas' text in arrow's memory, which polars takes over as it is."""
    return getattr(getattr(values, "dtype", None), "storage", None) == "pyarrow" and hasattr(values, "array")


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
        return text_series(values)
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


def text_series(values: Sequence[str | None], name: str = "") -> pl.Series:
    """Return text as a series; what UTF-8 cannot hold is escaped (:func:`jamrank.text.unicode_text`)."""
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(name, [None if text is None else unicode_text(text) for text in values], dtype=pl.String)


def first_missing(column: Column) -> int | None:
    """Return the position of the first missing value (None, NaN, NaT, NA), or None."""
    rows = missing_rows(column)
    return int(rows[0]) if len(rows) else None


def missing_rows(column: Column) -> IntArray:
    """Return the positions of the missing values (None, NaN, NaT, NA)."""
    if isinstance(column, pl.Series):
        missing = column.is_null().to_numpy() if column.null_count() else np.zeros(0, dtype=bool)
    elif column.dtype.kind == "f":
        missing = np.isnan(column)
    elif column.dtype.kind in "mM":
        missing = np.isnat(column)
    elif column.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, column), bool, len(column))
    else:
        missing = np.zeros(0, dtype=bool)
    return np.flatnonzero(missing)


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, or one that does not equal itself (NaN, NaT, NA)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA refuses to be true or false
        return True


def encode(*columns: Column) -> tuple[NDArray[Any], list[Int32Array]]:
    """Return the sorted distinct values of the columns together, and each column in codes.

    *columns: From :func:`as_column`, without missing values.
    Returns labels (sorted; integers, floats or dates keep their type, others become Python objects), codes
        (``labels[codes[c]]`` equals ``columns[c]``, or is its text where other ids are text).
    Raises InputError: If ids are of kinds that cannot be compared with each other.
    """
    columns = _of_one_kind(columns)
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


def _of_one_kind(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return columns whose ids can be compared: as they are, or all as text where some are."""
    kinds = set[str]().union(*map(_kinds_of, columns))
    if len(kinds) <= 1 or kinds == {_WHOLE, _NUMBER}:
        return columns
    if _TEXT in kinds and kinds <= {_TEXT, _WHOLE, _NUMBER}:
        return tuple(map(as_text, columns))
    raise InputError(f"ids of different kinds ({', '.join(sorted(kinds))})", _REMEDY)


def _kinds_of(column: Column) -> set[str]:
    if isinstance(column, pl.Series):
        return {_TEXT} if len(column) else set()
    types = set(map(type, column.tolist())) if column.dtype.kind == "O" else {column.dtype.type}
    return set(map(_kind_of, types)) if len(column) else set()


def _kind_of(kind: type) -> str:
    if issubclass(kind, str):
        return _TEXT
    if issubclass(kind, (bool, np.bool_)):
        return "true or false"
    if issubclass(kind, (int, np.integer)) and not issubclass(kind, np.timedelta64):
        return _WHOLE
    if issubclass(kind, (dt.datetime, np.datetime64)):
        return "times"
    return _NUMBER if issubclass(kind, (float, np.floating, Decimal, Fraction)) else kind.__name__


def as_text(column: Column, of_any_kind: bool = False) -> pl.Series:
    """Return ids as text, whole numbers as they are written; missing ones stay missing.

    column: From :func:`as_column`.
    of_any_kind: Whether ids may be of other kinds than text and whole numbers, as where no other id is text.
    Raises InputError: If one is of another kind, whose text is ambiguous.
    """
    if isinstance(column, pl.Series):
        return column
    if column.dtype.kind in "iu":
        return pl.Series(column).cast(pl.String)
    values = column.tolist()
    if not of_any_kind:
        for value in values:
            kind = _kind_of(type(value))
            if not is_missing(value) and kind not in (_TEXT, _WHOLE) and not (kind == _NUMBER and _is_whole(value)):
                raise InputError(f"the id {value!r} beside ids that are text", _REMEDY)
    return text_series([None if is_missing(value) else id_text(value) for value in values])


def id_text(value: Any) -> str:
    """Return an id as text: whole numbers without a point, whatever their type."""
    try:
        return str(int(value) if _kind_of(type(value)) == _NUMBER and _is_whole(value) else value)
    except ValueError as error:  # Python does not convert numbers of more than some thousand digits
        raise InputError(f"an id that cannot be written as text ({error})", "use shorter ids") from None


def _is_whole(value: Any) -> bool:
    return bool(-_EXACT < value < _EXACT and value == int(value))


def distinct(column: Column) -> Column:
    """Return the distinct values of a column without missing ones, in no particular order."""
    if isinstance(column, pl.Series):
        return _unique(column)
    if column.dtype.kind in "iu":
        return _encode_integers([column])[0]
    if column.dtype.kind != "O":
        return np.unique(column)
    try:
        return as_column(list(set(column.tolist())))
    except TypeError:
        raise InputError(f"the id {column[0]!r}", "expected ids that are text, numbers or dates") from None


def codes_in(labels: NDArray[Any], column: Column) -> Int32Array:
    """Return the codes of values that are all among the labels of :func:`encode`, possibly as text."""
    if labels.dtype.kind == "O" and isinstance(labels[0], str):
        column = as_text(column)
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


def places_in_categories(column: pl.Series, missing: int) -> NDArray[Any]:
    """Return the place of each value of a column of fixed categories among these, and another for missing ones."""
    places = column.to_physical()
    return (places.cast(pl.UInt32).fill_null(missing) if places.null_count() else places).to_numpy()


def as_objects(column: Column) -> NDArray[Any]:
    """Return a column as an array of Python objects."""
    objects = np.empty(len(column), dtype=object)
    objects[:] = column.to_list() if isinstance(column, pl.Series) else column.tolist()
    return objects


def _encode_integers(columns: list[NDArray[Any]]) -> tuple[NDArray[Any], list[Int32Array]]:
    small = _encode_small(columns)
    if small is not None:
        return small
    filled = [column for column in columns if len(column)]
    bounds = [int(bound) for column in filled for bound in extremes(column)]
    low, high = min(bounds, default=0), max(bounds, default=0)
    kind = np.result_type(*columns)
    if kind.kind == "f":  # of signed and unsigned ones of 64 bits, which numpy would round
        if high >= 2**63:
            labels, together = _encode_objects(np.concatenate([as_objects(column) for column in columns]))
            return labels, np.split(together, np.cumsum([len(column) for column in columns])[:-1])
        kind, columns = np.dtype(np.int64), [column.astype(np.int64) for column in columns]
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
    labels = (np.arange(len(seen)) if everything else np.flatnonzero(seen)) + low
    return labels.astype(kind), codes


def _encode_small(columns: list[NDArray[Any]]) -> tuple[NDArray[Any], list[Int32Array]] | None:
    """Encode small numbers from 0 on, as most ids are, in one pass over each column; return None for others."""
    if not all(column.dtype in (np.int32, np.int64) and column.flags.c_contiguous for column in columns):
        return None
    seen, threads = np.zeros(_SMALL, dtype=np.uint8), default_threads()
    codes = [np.empty(len(column), dtype=np.int32) for column in columns]
    if not all(kernels.take_ids(column, own, seen, threads) for column, own in zip(columns, codes, strict=True)):
        return None
    return _close_gaps(seen, codes).astype(np.result_type(*columns)), codes


def encode_small_pairs(left: Column, right: Column) -> tuple[NDArray[Any], list[Int32Array], bool] | None:
    """Encode the ids of pairs, small numbers from 0 on, in one pass over both; return None for others.

    Returns labels and codes as :func:`encode`, and whether the pairs are sorted and distinct, the lower id first.
    """
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.dtype == right.dtype):
        return None
    if left.dtype not in (np.int32, np.int64) or not (left.flags.c_contiguous and right.flags.c_contiguous):
        return None
    seen, codes = np.zeros(_SMALL, dtype=np.uint8), [np.empty(len(left), dtype=np.int32) for _ in range(2)]
    in_order = kernels.take_pairs(left, right, *codes, seen, default_threads())
    return None if in_order < 0 else (_close_gaps(seen, codes).astype(left.dtype), codes, in_order == 1)


def _close_gaps(seen: NDArray[np.uint8], codes: list[Int32Array]) -> NDArray[np.intp]:
    """Return the ids that were seen; where some from 0 on were not, ids that are codes become ranks."""
    # As truth values, which numpy finds much faster than numbers other than 0.
    labels = np.flatnonzero(seen.view(np.bool_))
    if len(labels) and labels[-1] >= len(labels):
        rank = np.cumsum(seen, dtype=np.int32) - np.int32(1)
        for own in codes:
            kernels.code_ids(own, 0, rank, own, default_threads())
    return labels


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
    """Call a function with the start and values of each piece of a column, in threads."""
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

    An id that differs from a label only in being text ("7") or a number (7, 7.0) is taken for it.
    """
    code_of = {label: code for code, label in enumerate(labels.tolist())}
    try:
        values = as_objects(as_column(wanted)).tolist()
        found = [code_of.get(value, -1) for value in values]
    except TypeError as error:
        raise UnknownItemError(f"an id that cannot be looked up ({error}); use the ids of the votes") from None
    if -1 in found:
        by_text = {str(label): code for label, code in code_of.items()}
        by_text |= {id_text(label): code for label, code in code_of.items()}
        found = [
            by_text.get(id_text(value), by_text.get(str(value), -1)) if code < 0 else code
            for code, value in zip(found, values, strict=True)
        ]
    return np.array(found, dtype=np.int64)


def keep_used(labels: NDArray[Any], *codes: NDArray[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return the labels that some code uses, and the codes into these."""
    used = np.zeros(len(labels), dtype=np.uint8)
    for column in codes:
        kernels.mark_ids(np.ascontiguousarray(column), 0, used, default_threads())
    if used.all():
        return labels, list(codes)
    new = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return labels[used > 0], [new[column] for column in codes]


def names_annotators(annotators: NDArray[Any]) -> bool:
    """Tell whether votes have annotators: those of a file that names none count as one annotator's."""
    return not (len(annotators) == 1 and str(annotators[0]) == UNNAMED)
