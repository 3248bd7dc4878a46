"""Votes and item features in jamrank's own format."""

from __future__ import annotations

import os

import numpy as np
import polars as pl

from jamrank.data.ids import as_column
from jamrank.data.parsing import bad_weights, fill_questions
from jamrank.data.soft import parse_grades, parse_soft
from jamrank.errors import FeatureError, InputError
from jamrank.io.documents import shown
from jamrank.io.tables import load_table

# Columns with the same kind of id become integers together or not at all.
_ID_COLUMNS = (("annotator",), ("left", "right"), ("question",))


def with_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of text with weights as numbers, and ids as integers where all are written so."""
    numbers = [name for name in ("p_left", "grade", "weight") if name in frame.columns]
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in numbers if frame[name].dtype == pl.Enum)
    for names in _ID_COLUMNS:
        if set(names) <= set(frame.columns):
            frame = _with_integer_ids(frame, names)
    for name, parse in (("p_left", parse_soft), ("grade", parse_grades)):
        if name in frame.columns and frame[name].dtype == pl.String:
            frame = frame.with_columns(pl.Series(name, parse(frame[name]), nan_to_null=True))
    if "weight" in frame.columns and frame["weight"].dtype == pl.String:
        return frame.with_columns(_parse_weights(frame["weight"]))
    return frame


def with_questions(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which rows without a question share one."""
    if "question" not in frame.columns or not frame["question"].null_count():
        return frame
    return frame.with_columns(pl.Series("question", fill_questions(as_column(frame["question"]))))


def read_gold(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read pairs of known truth from a CSV or Parquet file, for the ``gold`` of a fit.

    Parameters
    ----------
    path : path-like
        A table with the columns ``left``, ``right`` and ``winner`` (``left`` or ``right``), optionally ``question``.

    Returns
    -------
    polars.DataFrame
        Ids of a CSV are text; a fit treats 7 and "7" as equal.

    Raises
    ------
    InputError
        If a column is missing.
    """
    frame, _ = load_table(path)
    missing = [name for name in ("left", "right", "winner") if name not in frame.columns]
    if missing:
        raise InputError(
            f"no column {', '.join(map(repr, missing))} among {', '.join(map(repr, frame.columns))}",
            "needed: left, right, winner; optional: question",
            source=str(path),
        )
    return frame


def read_families(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the families of annotators from a CSV or Parquet file, for the ``families`` of :class:`jamrank.FamilyBT`.

    Parameters
    ----------
    path : path-like
        A table with the columns ``annotator`` and ``family``; an empty family is none.

    Returns
    -------
    dict of str to str
        The family by annotator.

    Raises
    ------
    InputError
        If a column is missing, or an annotator comes twice.
    """
    frame, _ = load_table(path)
    missing = [name for name in ("annotator", "family") if name not in frame.columns]
    if missing:
        raise InputError(
            f"no column {', '.join(map(repr, missing))} among {', '.join(map(repr, frame.columns))}",
            "needed: annotator, family",
            source=str(path),
        )
    found: dict[str, str] = {}
    for annotator, family in frame.select("annotator", "family").iter_rows():
        if str(annotator) in found:
            raise InputError(f"annotator {annotator!s} comes twice", "expected one family each", source=str(path))
        if family is not None and str(family):
            found[str(annotator)] = str(family)
    return found


def read_features(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read the features of items from a CSV or Parquet file.

    Parameters
    ----------
    path : path-like
        A table with the ids in a column ``item``, or in the first one, and a number in every other column; an
        empty field (or NaN) is a missing value.

    Returns
    -------
    polars.DataFrame
        ``item`` first, then the features as floats, null where one is missing.

    Raises
    ------
    FeatureError
        If a feature is not a number, an id is missing or duplicate, or there are no features.
    InputError
        If the file cannot be read as a table.
    """
    frame, typed = load_table(path)
    try:
        return _as_features(frame, typed)
    except InputError as error:
        raise error.within(str(path)) from None


def _with_integer_ids(frame: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """Turn the columns into integers if each of their values is written exactly as an integer is."""
    if any(_begins_with_text(frame[name]) for name in names):
        return frame
    columns = [integers(frame[name]) for name in names]
    return frame if any(column is None for column in columns) else frame.with_columns(columns)


def integers(given: pl.Series) -> pl.Series | None:
    """Return a column of text as integers; None unless each of its values is written exactly as an integer is."""
    if isinstance(given.dtype, pl.Enum):
        categories = integers(given.dtype.categories)
        return None if categories is None else categories.gather(given.to_physical()).alias(given.name)
    whole = given.cast(pl.Int64, strict=False)
    # "007", "+7" and numbers too large for 64 bits would change when written back.
    same = given.is_null() | (whole.cast(pl.String) == given).fill_null(False)
    return whole if same.all() else None


def _begins_with_text(column: pl.Series) -> bool:
    """Return whether the first value shows that a column is not integers; False if unknown."""
    first = column[0] if len(column) else None
    return isinstance(first, str) and not first.lstrip("-").isdigit()


def _parse_weights(column: pl.Series) -> pl.Series:
    weights = column.cast(pl.Float64, strict=False)
    if weights.null_count():
        rows = weights.is_null().arg_true().to_numpy().astype(np.int64)
        first = column[int(rows[0])]
        raise bad_weights("empty" if first is None else shown(first), rows)
    return weights


def _as_features(frame: pl.DataFrame, typed: bool) -> pl.DataFrame:
    if "item" not in frame.columns:
        frame = frame.rename({frame.columns[0]: "item"})
    if frame.width == 1:
        raise FeatureError("no columns beside the items", "expected a column of numbers for each feature")
    if not typed:
        frame = _with_integer_ids(frame, ("item",))
    _check_items(frame["item"])
    features = [_parse_feature(column) for column in frame.drop("item")]
    return pl.DataFrame([frame["item"], *features])


def _check_items(items: pl.Series) -> None:
    if items.dtype.is_nested():
        raise FeatureError(f"the column of the items holds {items.dtype}", "expected strings or numbers")
    missing = items.is_null()
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise FeatureError("the item is missing", "every row needs an id", row=row + 1)
    repeated = ~items.is_first_distinct()
    if repeated.any():
        row = int(repeated.arg_max() or 0)
        raise FeatureError(f"the item {shown(items[row])} is listed twice", "keep one of its rows", row=row + 1)


def _parse_feature(column: pl.Series) -> pl.Series:
    # polars would convert a date to its number of days.
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean, pl.Null)):
        remedy = "expected numbers; leave the column out if it is not a feature"
        raise FeatureError(f"the column {shown(column.name)} holds {column.dtype}", remedy)
    numbers = column.cast(pl.Float64, strict=False)
    bad = (numbers.is_null() & column.is_not_null()) | numbers.is_infinite().fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        remedy = "expected a number or nothing; leave the column out if it is not a feature"
        raise FeatureError(f"{shown(column.name)} is {shown(column[row])}", remedy, row=row + 1)
    return numbers.fill_nan(None)
