"""The tables of several files as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from jamrank.data.ids import as_column, as_text
from jamrank.data.parsing import REQUIRED
from jamrank.errors import InputError
from jamrank.io.given import StrPath
from jamrank.io.row_filters import refuse_bad_rows, with_all_rows
from jamrank.io.sources import source_name

JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
_SUFFIXES = {*JSON_SUFFIXES, ".csv", ".tsv", ".txt", ".parquet", ".pq", ".gz", ".zst"}
_IDS = (("annotator",), ("left", "right"), ("question",))


def file_names(paths: Sequence[StrPath]) -> list[str]:
    """Return what to call the annotator of each file that names none: file name, or path if names are equal."""
    stems = []
    for one in map(Path, paths):
        stem = one.name
        while stem != Path(stem).stem and Path(stem).suffix.lower() in _SUFFIXES:
            stem = Path(stem).stem
        stems.append(stem)
    times = Counter(stems)
    return [stem if times[stem] == 1 else source_name(one) for stem, one in zip(stems, paths, strict=True)]


# What votes may say beside who won; nothing where a table does not have it.
_MORE = (("p_left", pl.Float64()), ("grade", pl.Int8()))


def joined(frames: list[pl.DataFrame], covariates: Iterable[str] = ()) -> pl.DataFrame:
    """Return tables as one: ids are text where any of their kind is; no weight is 1, no question an empty one.

    ``covariates`` are further columns of numbers, which all tables have.
    """
    names = [
        *REQUIRED,
        *(
            name
            for name in ("weight", "question", "p_left", "grade")
            if any(name in frame.columns for frame in frames)
        ),
        *covariates,
    ]
    whole = [
        frame.with_columns(
            *([pl.lit(1.0).alias("weight")] if "weight" in names and "weight" not in frame.columns else []),
            *[pl.lit(None, kind).alias(name) for name, kind in _MORE if name in names and name not in frame.columns],
            *([pl.lit("").alias("question")] if "question" in names and "question" not in frame.columns else []),
        ).select(names)
        for frame in frames
    ]
    casts: dict[str, Any] = {"winner": pl.String(), **({"weight": pl.Float64()} if "weight" in names else {})}
    casts |= {name: kind for name, kind in _MORE if name in names}
    for kind in _IDS:
        own = [name for name in kind if name in names]
        types = {frame[name].dtype for frame in whole for name in own}
        if len(types) > 1:
            whole = [frame.with_columns(pl.Series(name, _text(frame[name])) for name in own) for frame in whole]
    try:
        return pl.concat([frame.cast(cast(Any, casts)) for frame in whole])
    except pl.exceptions.PolarsError:
        held = ", ".join(dict.fromkeys(f"{name} as {frame[name].dtype}" for frame in whole for name in casts))
        raise InputError(f"{held} cannot be read", "expected the winner as text, and numbers as weights") from None


def _text(ids: pl.Series) -> pl.Series:
    return as_text(as_column(ids))


def placed(error: InputError, parts: list[pl.DataFrame], sources: list[str]) -> InputError:
    """Return an error on a row of several tables as one on a row of the table that it came from."""
    if error.row is None:
        return error
    heights = [part.height for part in parts]
    ends = np.cumsum(heights)
    file = int(np.searchsorted(ends, error.row))
    begin = int(ends[file] - heights[file])
    rows = [row - begin for row in error.rows if begin < row <= ends[file]]
    return with_all_rows(
        error.but(source=sources[file], row=error.row - begin, rows=rows), parts[file], refuse_bad_rows
    )
