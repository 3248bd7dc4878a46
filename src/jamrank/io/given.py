"""Votes that a user has in memory: data frames, columns and lists, as a table that the reader understands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.data.frames import open_frame
from jamrank.data.ids import is_missing
from jamrank.data.parsing import REQUIRED, check_lengths
from jamrank.errors import InputError, ParameterError
from jamrank.io.records import Record
from jamrank.io.sources import source_name

if TYPE_CHECKING:
    import narwhals as nw

StrPath = str | os.PathLike[str]
# A path or several, a data frame, columns by name, or a list of votes.
VoteSource = Any

# What the values of a vote in a list are, by how many there are.
_TUPLES = {
    2: ("candidate_chosen", "candidate_not_chosen"),
    3: ("left", "right", "winner"),
    4: REQUIRED,
}
_EXPECTED = (
    "expected jamrank.Comparisons, a path, a data frame, columns by name, or a list of votes: (winner, loser), "
    "(left, right, winner) or (annotator, left, right, winner)"
)


def is_path(given: Any) -> bool:
    """Return whether votes are given by a path or address."""
    return isinstance(given, str | os.PathLike)


def require_path(given: Any, user: str) -> None:
    """Make sure that something is a path, for a function that reads files only.

    Raises ParameterError: If it is not.
    """
    if not is_path(given):
        remedy = "expected the path of a Parquet file or folder; fit takes votes in memory"
        raise ParameterError(f"{user} got a {type(given).__name__}; {remedy}")


def listed(given: VoteSource) -> list[Any]:
    """Return the sources of votes one by one: paths, or the one thing in memory.

    Raises ParameterError: If there is none, or a file is given twice.
    """
    several = isinstance(given, Sequence) and not is_path(given) and all(map(is_path, given))
    sources = list(given) if several else [given]
    if not sources:
        raise ParameterError("no files to read; expected at least one")
    seen = set()
    for one in filter(is_path, sources):
        try:
            real = os.path.realpath(one)
            Path(real).is_dir()
        except (ValueError, OSError):
            raise InputError(f"{source_name(one)!r} cannot be the name of a file", "give the file's path") from None
        if real in seen:
            name = source_name(one)
            raise ParameterError(f"{name} is given twice, and its votes would count double; give each file once")
        seen.add(real)
    return sources


def given_name(given: Any) -> str:
    """Return what messages call a source of votes."""
    if is_path(given):
        return source_name(given)
    return "the votes" if isinstance(given, Comparisons | Mapping | Sequence | np.ndarray) else "the data frame"


def of_pandas(given: Any) -> bool:
    """Return whether votes come as a pandas frame: results are then pandas frames too."""
    if isinstance(given, Comparisons):
        return given.frames == "pandas"
    return type(given).__module__.partition(".")[0] == "pandas"


def load_given(given: Any) -> pl.DataFrame | list[Record]:
    """Return votes in memory as a table or as records.

    Raises ParameterError: If they cannot be votes.
    Raises InputError: If columns differ in length, or votes in a list are not alike.
    """
    if isinstance(given, Comparisons):
        given = given.to_frame()
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Mapping):
        columns = {str(name): _values(values, str(name)) for name, values in given.items()}
        check_lengths(columns)
        return pl.DataFrame([_series(name, values) for name, values in columns.items()])
    if isinstance(given, Sequence) and not is_path(given):
        return _of_list(list(given))
    try:
        frame = open_frame(given, InputError)
    except InputError:
        raise ParameterError(f"votes is a {type(given).__name__}; {_lazy(given) or _EXPECTED}") from None
    return _of_frame(frame)


def _lazy(given: Any) -> str:
    return "call collect() first" if hasattr(given, "collect") else ""


def _of_list(votes: list[Any]) -> pl.DataFrame | list[Record]:
    if not votes:
        raise InputError("no votes", "expected at least one")
    if all(isinstance(vote, dict) for vote in votes):
        return votes
    lengths = {len(vote) if isinstance(vote, tuple | list) else 0 for vote in votes}
    if len(lengths) > 1 or not lengths & set(_TUPLES):
        first = len(votes[0]) if isinstance(votes[0], tuple | list) else 0
        row = next((k for k, vote in enumerate(votes) if not _is_like(vote, first)), 0)
        raise InputError(f"a vote in the list is {votes[row]!r}", _EXPECTED, row=row + 1, rows=())
    names = _TUPLES[lengths.pop()]
    return pl.DataFrame([_series(name, values) for name, values in zip(names, zip(*votes, strict=True), strict=True)])


def _is_like(vote: Any, length: int) -> bool:
    return isinstance(vote, tuple | list) and length in _TUPLES and len(vote) == length


def _of_frame(frame: nw.DataFrame[Any]) -> pl.DataFrame:
    if frame.implementation.is_polars():
        polars: pl.DataFrame = frame.to_native()
        return polars
    columns = {}
    for name in frame.columns:
        if not isinstance(name, str):
            raise InputError(f"a column is called {name!r}", "expected names that are text")
        columns[name] = _series(name, frame.get_column(name).to_native())
    return pl.DataFrame(list(columns.values()))


def _values(values: Any, name: str) -> Any:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(f"the column {name!r} is a {type(values).__name__}", "expected a list of values")
    return values


def _series(name: str, values: Any) -> pl.Series:
    """Return any column as one of polars, with gaps as null."""
    if isinstance(values, pl.Series):
        return values.alias(name)
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    if isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "biufM":
        return pl.Series(name, array, nan_to_null=True)
    plain = [None if is_missing(value) else value for value in list(array)]
    try:
        return pl.Series(name, plain, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, plain, dtype=pl.Object)
