"""Ids of any kind to dense integer codes, in sorted order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.errors import InputError, UnknownItemError

__all__ = ["Codes", "as_column", "encode", "first_missing", "is_missing", "locate"]

Codes = NDArray[np.int32]


def as_column(values: Any) -> NDArray[Any]:
    """Return ``values`` as a one-dimensional numpy array without changing what any of them is."""
    if isinstance(values, pl.Series):
        values = values.to_list() if values.dtype in (pl.String, pl.Categorical, pl.Object) else values.to_numpy()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray):
        return _from_objects(list(values))
    if values.ndim != 1:
        raise InputError(f"a column with {values.ndim} dimensions", "expected one value for each vote")
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    return _from_objects(values.tolist()) if values.dtype.kind in "OUST" else values


def _from_objects(values: list[Any]) -> NDArray[Any]:
    """Return an array of integers or floats where all values are, and of untouched objects otherwise."""
    kinds = set(map(type, values))
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


def first_missing(column: NDArray[Any]) -> int | None:
    """Return the position of the first missing value (None, NaN, NaT, NA), or None."""
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


def encode(*columns: NDArray[Any]) -> tuple[NDArray[Any], list[Codes]]:
    """Return the sorted distinct values of the columns together, and each column in codes.

    Parameters
    ----------
    *columns : ndarray
        From :func:`as_column`, without missing values.

    Returns
    -------
    labels : ndarray
        Sorted; integers, floats or dates keep their type, all else is a Python object.
    codes : list of ndarray of int32
        ``labels[codes[c]]`` equals ``columns[c]``.
    """
    if len({column.dtype.kind for column in columns}) > 1:
        columns = tuple(_as_objects(column) for column in columns)
    together = np.concatenate(columns) if len(columns) > 1 else columns[0]
    if together.dtype.kind in "iu":
        labels, codes = _encode_integers(together)
    elif together.dtype.kind == "O":
        labels, codes = _encode_objects(together)
    else:
        labels, inverse = np.unique(together, return_inverse=True)
        codes = inverse.astype(np.int32)
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return labels, np.split(codes, ends)


def _as_objects(column: NDArray[Any]) -> NDArray[Any]:
    objects = np.empty(len(column), dtype=object)
    objects[:] = column.tolist()
    return objects


def _encode_integers(column: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if high - low > max(4 * len(column), 1 << 20) or high >= 2**63:
        labels, inverse = np.unique(column, return_inverse=True)
        return labels, inverse.astype(np.int32)
    offset = column.astype(np.int64) - low
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[offset] = True
    rank = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return (np.flatnonzero(seen) + low).astype(column.dtype), rank[offset]


def _encode_objects(column: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    values = column.tolist()
    if set(map(type, values)) <= {str}:
        series = pl.Series(values, dtype=pl.String)
        distinct = series.unique().sort()
        codes = series.cast(pl.Enum(distinct)).to_physical().to_numpy()
        return _as_objects(np.array(distinct.to_list(), dtype=object)), codes.astype(np.int32)
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


def locate(labels: NDArray[Any], wanted: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the code of each wanted id in ``labels``, -1 where it is unknown.

    An id that differs from a label only in being text ("7") or a number (7) is taken for it.
    """
    code_of = {label: code for code, label in enumerate(labels.tolist())}
    as_text = {str(label): code for label, code in code_of.items()}
    try:
        values = as_column(wanted).tolist()
        found = [code_of.get(value, as_text.get(str(value), -1)) for value in values]
    except TypeError as error:
        raise UnknownItemError(f"an id that cannot be looked up ({error}); use the ids of the votes") from None
    return np.array(found, dtype=np.int64)
