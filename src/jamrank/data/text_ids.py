"""Text ids as users have them in Python, coded where they are: each is looked at once, none is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.ids import is_arrow_text, keep_used
from jamrank.kernels import default_threads, kernels
from jamrank.typing import Int32Array

Coded = tuple[list[str], NDArray[Any]]


def encode_text(*columns: Any) -> tuple[NDArray[Any], list[Int32Array]] | None:
    """Return the sorted distinct ids of the columns together, and each column in codes, where all ids are text.

    *columns: Lists, numpy arrays of text or of objects, and columns of pandas and polars.
    Returns: As :func:`jamrank.data.ids.encode` returns them; None where a column is of another type, or an id not
        text.
    """
    coded: list[Coded] = []
    for column in columns:
        own = _coded(column)
        # Among what is not printable are halves of surrogate pairs, which are refused where text is copied.
        if own is None or not _printable(own[0]):
            return None
        coded.append(own)
    distinct = sorted(set[str]().union(*(own for own, _ in coded)))
    rank = {label: code for code, label in enumerate(distinct)}
    labels = np.empty(len(distinct), dtype=object)
    labels[:] = distinct
    return labels, [_ranked(own, codes, rank) for own, codes in coded]


def _printable(labels: list[Any]) -> bool:
    """Return whether all labels are text of characters that can be printed."""
    try:
        return "".join(labels).isprintable()
    except TypeError:
        return False


def _coded(column: Any) -> Coded | None:
    """Return distinct values and the code of each value; None where a column is of another type."""
    if isinstance(column, pl.Series) and isinstance(column.dtype, pl.Enum) and not column.null_count():
        return _used(column.dtype.categories.to_list(), column.to_physical().to_numpy())
    if is_arrow_text(column):
        column = pl.Series(column.array.__arrow_array__(), dtype=pl.String)
    if isinstance(column, pl.Series):
        return _of_arrow(column) if column.dtype == pl.String and not column.null_count() else None
    if type(column).__module__.startswith("pandas"):
        values = column.array
        if hasattr(values, "categories"):
            codes = values.codes
            some = len(codes) and codes.min() >= 0
            return _used(values.categories.tolist(), codes) if some else None
        column = column.to_numpy()
    if isinstance(column, np.ndarray) and column.ndim == 1:
        if column.dtype.kind == "U" and column.dtype.isnative and column.dtype.itemsize:
            return _of_rows(np.ascontiguousarray(column))
        if column.dtype.kind != "O":
            return None
    elif not isinstance(column, list):
        return None
    codes = np.empty(len(column), dtype=np.int32)
    distinct = kernels.code_strings(column, codes)
    return None if distinct is None else (distinct, codes)


def _used(categories: list[Any], codes: NDArray[np.integer]) -> Coded:
    """Return the categories that some value has, and codes into these."""
    labels = np.empty(len(categories), dtype=object)
    labels[:] = categories
    kept, (own,) = keep_used(labels, codes)
    return kept.tolist(), own


def _of_arrow(column: pl.Series) -> Coded:
    codes, coder = np.empty(len(column), dtype=np.int32), kernels.TextCodes()
    coder.code(column, codes, default_threads())
    return coder.words(), codes


def _of_rows(column: NDArray[np.str_]) -> Coded:
    codes, first = np.empty(len(column), dtype=np.int32), np.empty(len(column), dtype=np.int64)
    raw = column.view(np.uint8).ravel()
    n_codes = kernels.code_rows(raw, column.dtype.itemsize, codes, first, default_threads())
    return column[first[:n_codes]].tolist(), codes


def _ranked(labels: list[str], codes: NDArray[Any], rank: dict[str, int]) -> Int32Array:
    """Return the codes of a column among the labels of all columns."""
    ranks = np.fromiter(map(rank.__getitem__, labels), np.int32, len(labels))
    found = np.empty(len(codes), dtype=np.int32)
    kernels.code_ids(codes, 0, ranks, found, default_threads())
    return found
