"""CSV and Parquet in jamrank's own form as codes, a part of the rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError
from jamrank.io.coded import KINDS, Coded, add_part, useful_columns, votes_of
from jamrank.io.parquet import ParquetFiles
from jamrank.io.tables import PARQUET_MAGIC, PARQUET_SUFFIXES, is_text, plain_header
from jamrank.kernels import default_threads, kernels

_PART = 1 << 24
_ROWS = 1 << 20
_NEWLINE, _QUOTE = b"\n", ord('"')


def read_coded(path: str | os.PathLike[str]) -> Comparisons | None:
    """Return the votes of a file in jamrank's own form with nothing odd in it.

    path: A CSV, a Parquet file or a folder of these.
    Returns: The votes; None where anything is wrong or in doubt, which :func:`jamrank.io.reader.read_comparisons`
        then finds with all of the table before it.
    """
    if _is_parquet(Path(path)):
        coded = code_parquet(path)
    elif Path(path).suffix.lower() not in PARQUET_SUFFIXES:
        coded = code_csv(path)
    else:
        return None
    return None if coded is None else votes_of(coded)


def _is_parquet(path: Path) -> bool:
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            return file.seekable() and file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    except OSError:
        return False


def code_csv(path: str | os.PathLike[str]) -> Coded | None:
    """Return the columns of a CSV; None where it is not of jamrank's own form, or any of it is in doubt."""
    try:
        with Path(path).open("rb") as file:
            if not file.seekable():
                return None
            head = file.readline(_PART)
            found = plain_header(head, str(path))
            names = None if found is None else useful_columns(found[0])
            if found is None or names is None:
                return None
            header, delimiter = found
            codes = kernels.FieldCodes(ord(delimiter), [KINDS.get(name, -1) for name in header])
            parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
            places = {name: header.index(name) for name in names}
            for part in _parts(file):
                if not is_text(part) or not _add(codes, part, places, parts):
                    return None
    except OSError:
        return None
    words = {KINDS[name]: codes.words(KINDS[name]) for name in names}
    return Coded(parts, words, True) if parts["left"] else None


def _parts(file: Any) -> Iterator[bytes]:
    """Yield the rest of a file in parts of whole lines; a part without an end is the last."""
    rest = b""
    while more := file.read(_PART):
        data = rest + more
        end = _end_of_lines(data)
        rest = data[end:]
        if end:
            yield data[:end]
        elif len(rest) > 4 * _PART:
            break
    if rest:
        yield rest + _NEWLINE


def _end_of_lines(data: bytes) -> int:
    """Return where the last line ends that ends outside quotes."""
    end = data.rfind(_NEWLINE) + 1
    while end and b'"' in data and np.count_nonzero(np.frombuffer(data, np.uint8, end) == _QUOTE) % 2:
        end = data.rfind(_NEWLINE, 0, end - 1) + 1
    return end


def _add(codes: Any, part: bytes, places: dict[str, int], parts: dict[str, list[NDArray[Any]]]) -> bool:
    """Code the lines of a part; False where these are not regular, or an id is missing."""
    threads = default_threads()
    n_lines = codes.scan(np.frombuffer(part, np.uint8), threads)
    if n_lines < 0:
        return False
    for name, place in places.items():
        own = np.empty(n_lines, dtype=np.int32)
        codes.column(place, own, threads)
        if not add_part(parts, name, own):
            return False
    return True


def code_parquet(path: str | os.PathLike[str]) -> Coded | None:
    """Return the columns of Parquet, one read after another; None where they are of another form, or in doubt."""
    try:
        table = ParquetFiles.open(path)
        names = useful_columns(list(table.columns))
        if names is None or table.columns["left"] != table.columns["right"]:
            return None
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        coders = {KINDS[name]: kernels.TextCodes() for name in names if _is_text(table.columns[name])}
        if KINDS["winner"] not in coders:
            return None
        for name in names:
            for _, _, frame in table.slices([name], _ROWS):
                if not _add_column(coders.get(KINDS[name]), frame[name], parts):
                    return None
    except InputError:
        return None
    return Coded(parts, {kind: coder.words() for kind, coder in coders.items()}, False)


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical, pl.Enum)


def _add_column(coder: Any, column: pl.Series, parts: dict[str, list[NDArray[Any]]]) -> bool:
    """Keep the codes of texts, or whole numbers as they are; False where there are gaps, or other values."""
    if coder is None:
        parts[column.name].append(column.to_numpy())
        return column.dtype in (pl.Int32, pl.Int64) and not column.null_count()
    own = np.empty(len(column), dtype=np.int32)
    coder.code(column if column.dtype == pl.String else column.cast(pl.String), own, default_threads())
    return add_part(parts, column.name, own)
