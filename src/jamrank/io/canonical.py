"""Votes and item features from files in jamrank's own form."""

from __future__ import annotations

import os

import polars as pl

from jamrank.comparisons import Comparisons
from jamrank.errors import FeatureError, InputError, ParameterError
from jamrank.io.documents import shown
from jamrank.io.tables import load_table

__all__ = ["read_comparisons", "read_features", "read_gold", "read_groups"]

_FORMATS = ("canonical",)
# Columns that hold the same kind of id become integers together or not at all.
_ID_COLUMNS = (("annotator",), ("left", "right"), ("question",))


def read_comparisons(path: str | os.PathLike[str], format: str | None = None) -> Comparisons:
    """Read votes from a CSV or Parquet file, or a folder of Parquet files.

    Parameters
    ----------
    path : path-like
        A table with the columns ``annotator``, ``left``, ``right`` and ``winner`` (``left``, ``right``,
        ``tie`` or empty for no vote), optionally ``weight`` and ``question`` (empty: one for all).
    format : {"canonical"}, optional
        The form of the file; recognised without it.

    Returns
    -------
    Comparisons
        Ids of a CSV are integers where all of their column are written as such (left and right count as one).

    Raises
    ------
    InputError
        If something in the file is not as it should be; it names the row.
    """
    if format is not None and format not in _FORMATS:
        raise ParameterError(f"unknown format {format!r}; known: {', '.join(_FORMATS)}")
    try:
        return Comparisons.from_frame(_canonical_frame(path))
    except InputError as error:
        raise error if error.source else error.within(str(path)) from None


def _canonical_frame(path: str | os.PathLike[str]) -> pl.DataFrame:
    frame, typed = load_table(path)
    return _with_questions(frame if typed else _with_types(frame))


def read_groups(path: str | os.PathLike[str], by: str) -> tuple[Comparisons, dict[str, Comparisons]]:
    """Read votes as :func:`read_comparisons` does, and apart for each value of a further column.

    Parameters
    ----------
    path : path-like
        The file.
    by : str
        The column: the domain, the language, the question, the annotator.

    Returns
    -------
    votes : Comparisons
        All of them.
    groups : dict of str to Comparisons
        Those of each value, by its text; of rows where the column is empty, under ``(none)``.

    Raises
    ------
    InputError
        If there is no such column, or something in the file is not as it should be.
    """
    try:
        frame = _canonical_frame(path)
        if by not in frame.columns or by in ("winner", "weight"):
            there = [name for name in frame.columns if name not in ("winner", "weight")]
            raise InputError(f"no column {by!r} to group by", f"there are {', '.join(map(repr, there))}")
        votes = Comparisons.from_frame(frame)
        named = frame.with_columns(pl.col(by).cast(pl.String).fill_null("(none)").alias("\0group"))
        parts = named.partition_by("\0group", as_dict=True, include_key=False)
    except InputError as error:
        raise error if error.source else error.within(str(path)) from None
    return votes, {str(name): Comparisons.from_frame(parts[name,]) for (name,) in sorted(parts)}


def read_gold(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read pairs of known truth from a CSV or Parquet file, for the ``gold`` of a fit.

    Parameters
    ----------
    path : path-like
        A table with the columns ``left``, ``right`` and ``winner`` (``left`` or ``right``), optionally ``question``.

    Returns
    -------
    polars.DataFrame
        Ids of a CSV are text; a fit takes 7 and "7" for the same.

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
        If a feature is not a number, an id is missing or there twice, or there are no features.
    InputError
        If the file cannot be read as a table.
    """
    frame, typed = load_table(path)
    try:
        return _as_features(frame, typed)
    except InputError as error:
        raise error.within(str(path)) from None


def _with_types(frame: pl.DataFrame) -> pl.DataFrame:
    for names in _ID_COLUMNS:
        if set(names) <= set(frame.columns):
            frame = _with_integer_ids(frame, names)
    return frame.with_columns(_parse_weights(frame["weight"])) if "weight" in frame.columns else frame


def _with_integer_ids(frame: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """Turn the columns into integers if each of their values is written exactly as an integer is."""
    if any(_begins_with_text(frame[name]) for name in names):
        return frame
    integers = [frame[name].cast(pl.Int64, strict=False) for name in names]
    for name, integer in zip(names, integers, strict=True):
        given = frame[name]
        # Written back, "007", "+7" and numbers too large for 64 bits are not what was given.
        if not (given.is_null() | (integer.cast(pl.String) == given).fill_null(False)).all():
            return frame
    return frame.with_columns(integers)


def _begins_with_text(column: pl.Series) -> bool:
    """Tell from the first value whether a column is no integers, as most are not; False where that is not known."""
    first = column[0] if len(column) else None
    return isinstance(first, str) and not first.lstrip("-").isdigit()


def _with_questions(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the rows without a question one that they share."""
    if "question" not in frame.columns or not frame["question"].null_count():
        return frame
    return frame.with_columns(pl.col("question").cast(pl.String).fill_null(""))


def _parse_weights(column: pl.Series) -> pl.Series:
    weights = column.cast(pl.Float64, strict=False)
    if weights.null_count():
        row = int(weights.is_null().arg_max() or 0)
        value = "empty" if column[row] is None else shown(column[row])
        raise InputError(f"weight is {value}", "expected a number of at least 0", row=row + 1)
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
        raise FeatureError(f"the item {shown(items[row])} is there twice", "keep one of its rows", row=row + 1)


def _parse_feature(column: pl.Series) -> pl.Series:
    # polars would take a date for its number of days.
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
