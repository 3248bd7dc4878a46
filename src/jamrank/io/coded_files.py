"""CSV and Parquet in jamrank's own form as codes, a part of the rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError
from jamrank.io.coded import KINDS, Coded, add_part, useful_columns, votes_of
from jamrank.io.parquet import ParquetFiles
from jamrank.io.records import looks_like_json
from jamrank.io.tables import PARQUET_MAGIC, PARQUET_SUFFIXES, is_text, plain_header
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import extremes
from jamrank.typing import Int32Array

_PART = 1 << 24
_ROWS = 1 << 21
# A column with more distinct texts than this, and than half of its rows, is not worth coding.
_FEW = 10_000
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
    parts: dict[str, list[NDArray[Any]]] = {}

    def kinds(header: list[str]) -> list[int] | None:
        names = useful_columns(header)
        parts.update({name: [] for name in names or ()})
        return None if names is None else [KINDS.get(name, -1) for name in header]

    found = scan_csv(path, kinds, lambda name, own: add_part(parts, name, own))
    if found is None or not parts["left"]:
        return None
    return Coded(parts, {KINDS[name]: found.words(KINDS[name]) for name in parts}, True)


class _Codes:
    """The codes of a column, in as few bytes as they need and in one block, which is given back as a whole."""

    def __init__(self) -> None:
        self._codes: NDArray[Any] = np.empty(0, dtype=np.int8)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, own: Int32Array, high: int) -> None:
        """Append codes from -1 to `high`."""
        # One number more stands for an empty field.
        kind = np.promote_types(self._codes.dtype, np.min_scalar_type(-high - 2))
        size = self._size + len(own)
        if kind != self._codes.dtype or size > len(self._codes):
            grown = np.empty(max(size, len(self._codes), 2 * self._size), dtype=kind)
            grown[: self._size] = self._codes[: self._size]
            self._codes = grown
        self._codes[self._size : size] = own
        self._size = size

    def in_categories(self, name: str, words: list[str]) -> pl.Series:
        """Return the column as categories."""
        codes, values = self._codes[: self._size], pl.Series(name, [*words, None], dtype=pl.Enum(words))
        codes[codes < 0] = len(words)
        return values.gather(pl.Series(codes))


def code_table(path: str | os.PathLike[str]) -> pl.DataFrame | None:
    """Return a CSV in categories; None where any of it is in doubt, or a column hardly repeats itself."""
    columns: dict[str, _Codes] = {}

    def kinds(header: list[str]) -> list[int] | None:
        columns.update({name: _Codes() for name in header})
        # In a single column, a blank line would look like a row.
        return list(range(len(header))) if len(header) > 1 else None

    def keep(name: str, own: Int32Array) -> bool:
        high = int(extremes(own)[1])
        columns[name].add(own, high)
        return high < max(len(columns[name]) // 2, _FEW)

    found = scan_csv(path, kinds, keep)
    if found is None or not any(columns.values()):
        return None
    names = list(columns)
    return pl.DataFrame([columns.pop(name).in_categories(name, found.words(kind)) for kind, name in enumerate(names)])


def scan_csv(
    path: str | os.PathLike[str],
    kinds: Callable[[list[str]], list[int] | None],
    keep: Callable[[str, Int32Array], bool],
) -> Any:
    """Code the fields of a CSV, part by part.

    kinds: Returns for a header which columns share their codes (-1: is not coded), or None where it is of no use.
    keep: Called with the name and codes of each column that is coded in each part; False to give up.
    Returns: What knows the words by kind and code; None where it was given up, or any of the file is in doubt.
    """
    try:
        with Path(path).open("rb") as file:
            if not file.seekable():
                return None
            head = file.readline(_PART)
            found = None if looks_like_json(head) else plain_header(head, str(path))
            kind_of = None if found is None else kinds(found[0])
            if found is None or kind_of is None:
                return None
            codes, threads = kernels.FieldCodes(ord(found[1]), kind_of), default_threads()
            for part in _parts(file):
                n_lines = codes.scan(part, threads) if len(part) and is_text(part) else -1
                if n_lines < 0:
                    return None
                for place, name in enumerate(found[0]):
                    if kind_of[place] < 0:
                        continue
                    own = np.empty(n_lines, dtype=np.int32)
                    codes.column(place, own, threads)
                    if not keep(name, own):
                        return None
            return codes
    except OSError:
        return None


def _parts(file: Any) -> Iterator[NDArray[np.uint8]]:
    """Yield the rest of a file in parts of whole lines, each in the memory of the one before.

    A part that is empty is the last, where a line is too long.
    """
    data, filled = bytearray(_PART), 0
    while more := file.readinto(memoryview(data)[filled:]):
        filled += more
        end = _end_of_lines(data, filled)
        if end:
            yield np.frombuffer(data, np.uint8, end)
            rest = bytes(data[end:filled])
            filled = len(rest)
            data[:filled] = rest
        elif filled > 4 * _PART:
            yield np.empty(0, dtype=np.uint8)
            return
        elif filled == len(data):
            data = data + bytes(filled)
    if filled:
        yield np.frombuffer(bytes(data[:filled]) + _NEWLINE, np.uint8)


def _end_of_lines(data: bytearray, filled: int) -> int:
    """Return where the last line ends that ends outside quotes."""
    end = data.rfind(_NEWLINE, 0, filled) + 1
    quoted = data.find(b'"', 0, end) >= 0
    while end and quoted and np.count_nonzero(np.frombuffer(data, np.uint8, end) == _QUOTE) % 2:
        end = data.rfind(_NEWLINE, 0, end - 1) + 1
    return end


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
        if column.dtype not in (pl.Int32, pl.Int64) or column.null_count():
            return False
        parts[column.name].append(column.to_numpy())
        return True
    own = np.empty(len(column), dtype=np.int32)
    coder.code(column if column.dtype == pl.String else column.cast(pl.String), own, default_threads())
    return add_part(parts, column.name, own)
