"""CSV and Parquet in jamrank's own form as codes, a part of the rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError
from jamrank.io.coded import KINDS, Coded, Codes, in_doubt, useful_columns, votes_of
from jamrank.io.parquet import ParquetFiles
from jamrank.io.records import looks_like_json
from jamrank.io.tables import PARQUET_MAGIC, PARQUET_SUFFIXES, plain_header
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import extremes

# So many bytes of a text, or rows of Parquet, are read at a time; and no line is longer.
_PART = 1 << 23
_ROWS = 1 << 21
# Codes of so many texts are in cache until they are kept.
_CODED = 1 << 18
# By the rows in so many bytes, the columns are chosen that are read.
_SAMPLE = 1 << 16
# A column with more distinct texts than this, and than half of its rows, is not worth coding.
_FEW = 10_000
_NEWLINE = ord("\n")


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
    columns: dict[str, Codes | list[NDArray[Any]]] = {}

    def kinds(header: list[str]) -> list[int] | None:
        names = useful_columns(header)
        columns.update({name: Codes() for name in names or ()})
        return None if names is None else [KINDS.get(name, -1) for name in header]

    found = scan_csv(path, kinds, lambda *found: _add(columns, *found))
    if found is None or not columns["left"]:
        return None
    return Coded(columns, {KINDS[name]: found.words(KINDS[name]) for name in columns}, True)


def _add(columns: dict[str, Any], name: str, own: NDArray[Any], low: int, high: int, expected: int) -> bool:
    columns[name].add(own, low, high, expected)
    return not in_doubt(name, low, high)


def code_table(
    path: str | os.PathLike[str], needed: Callable[[pl.DataFrame], Collection[str]] | None = None
) -> pl.DataFrame | None:
    """Return a CSV in categories; None where any of it is in doubt, or a column hardly repeats itself.

    needed: Returns, given the first rows of a long file, the columns to read; others are null. All without it.
    """
    sample = None if needed is None else _code_table(path, None, _SAMPLE)
    return _code_table(path, None if needed is None or sample is None else needed(sample), None)


def _code_table(
    path: str | os.PathLike[str], needed: Collection[str] | None, most: int | None
) -> pl.DataFrame | None:
    """Return the columns that are needed (None: all), of the whole lines in so many bytes after the header."""
    columns: dict[str, Codes] = {}

    def kinds(header: list[str]) -> list[int] | None:
        columns.update({name: Codes() for name in header})
        # In a single column, a blank line would look like a row.
        if len(header) == 1:
            return None
        return [kind if needed is None or name in needed else -1 for kind, name in enumerate(header)]

    def keep(name: str, own: NDArray[Any], low: int, high: int, expected: int) -> bool:
        columns[name].add(own, low, high, expected)
        return most is not None or high < max(len(columns[name]) // 2, _FEW)

    found = scan_csv(path, kinds, keep, most)
    n_rows = max(map(len, columns.values()), default=0)
    if found is None or not n_rows:
        return None
    coded = {name: kind for kind, name in enumerate(columns) if len(columns[name])}
    return pl.DataFrame(
        [
            _in_categories(columns.pop(name), name, found.words(coded[name]))
            if name in coded
            else pl.Series(name, [None]).new_from_index(0, n_rows)
            for name in list(columns)
        ]
    )


def _in_categories(column: Codes, name: str, words: list[str]) -> pl.Series:
    codes, values = column.codes, pl.Series(name, [*words, None], dtype=pl.Enum(words))
    if column.low < 0:
        codes[codes < 0] = len(words)
    return values.gather(pl.Series(codes))


def scan_csv(
    path: str | os.PathLike[str],
    kinds: Callable[[list[str]], list[int] | None],
    keep: Callable[[str, NDArray[Any], int, int, int], bool],
    most: int | None = None,
) -> Any:
    """Code the fields of a CSV, part by part.

    kinds: Returns for a header which columns share their codes (-1: is not coded), or None where it is of no use.
    keep: Called with the name, codes and bounds of these of each column that is coded in each part, and how many rows
        the file may have; False to give up.
    most: How many bytes to read, of a longer file.
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
            size, n_bytes, n_lines = os.fstat(file.fileno()).st_size, 0, 0
            for scanned in _scanned(file, codes, threads) if most is None else _scanned_first(file, codes, most):
                n_bytes, n_lines = n_bytes + scanned, n_lines + codes.n_lines
                for place, name in enumerate(found[0]):
                    if kind_of[place] < 0:
                        continue
                    own = np.empty(codes.n_lines, dtype=_smallest(codes.n_words(kind_of[place])))
                    low, high = codes.column(place, own, threads)
                    if not keep(name, own, low, high, n_lines * size // max(n_bytes, 1)):
                        return None
            return codes
    except (OSError, UnicodeDecodeError, _DoubtError):
        return None


class _DoubtError(Exception):
    """A file that is left to the reader of the whole table."""


def _smallest(n_codes: int) -> Any:
    """Return the smallest type of codes, -1 among them."""
    return next(kind for kind in (np.int8, np.int16, np.int32) if n_codes <= np.iinfo(kind).max)


def _scanned(file: Any, codes: Any, threads: int) -> Iterator[int]:
    """Scan the rest of a file part by part, and yield how many bytes each has; the next part is read meanwhile."""
    buffers = [np.empty(2 * _PART, dtype=np.uint8) for _ in range(2)]
    with ThreadPoolExecutor(1) as pool:
        coming, rest = pool.submit(file.readinto, buffers[0][_PART:]), buffers[0][:0]
        for turn in count():
            own, other = buffers[turn % 2], buffers[1 - turn % 2]
            begin, end = _PART - len(rest), _PART + coming.result()
            own[begin:_PART] = rest
            last = end == _PART
            if last and len(rest):
                own[end] = _NEWLINE
                end += 1
            coming = pool.submit(file.readinto, other[_PART:]) if not last else coming
            size = codes.scan(own[begin:end], threads)
            if size < 0 or (last and size < end - begin) or end - begin - size > _PART:
                raise _DoubtError
            _check_text(codes, own[begin : begin + size])
            yield size
            if last:
                return
            rest = own[begin + size : end]


def _scanned_first(file: Any, codes: Any, most: int) -> Iterator[int]:
    """Scan the whole lines among the next bytes of a file that has more than these, and yield how many they have."""
    text = np.frombuffer(file.read(most), dtype=np.uint8)
    size = codes.scan(text, 1) if len(text) == most else -1
    if size <= 0:
        raise _DoubtError
    _check_text(codes, text[:size])
    yield size


def _check_text(codes: Any, text: NDArray[np.uint8]) -> None:
    """Make sure that lines that were scanned are UTF-8."""
    if not codes.ascii:
        text.tobytes().decode("utf-8")


def code_parquet(path: str | os.PathLike[str]) -> Coded | None:
    """Return the columns of Parquet, one read after another; None where they are of another form, or in doubt."""
    try:
        table = ParquetFiles.open(path)
        names = useful_columns(list(table.columns))
        if names is None or table.columns["left"] != table.columns["right"]:
            return None
        coders = {KINDS[name]: kernels.TextCodes() for name in names if _is_text(table.columns[name])}
        if KINDS["winner"] not in coders:
            return None
        columns: dict[str, Any] = {name: Codes() if KINDS[name] in coders else [] for name in names}
        for name in names:
            for _, _, frame in table.slices([name], _ROWS):
                if not _add_column(coders.get(KINDS[name]), frame[name], columns, len(table)):
                    return None
    except InputError:
        return None
    return Coded(columns, {kind: coder.words() for kind, coder in coders.items()}, False)


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical, pl.Enum)


def _add_column(coder: Any, column: pl.Series, columns: dict[str, Any], n_rows: int) -> bool:
    """Keep the codes of texts, or whole numbers as they are; False where there are gaps, or other values."""
    if coder is None:
        if column.dtype not in (pl.Int32, pl.Int64) or column.null_count():
            return False
        columns[column.name].append(column.to_numpy())
        return True
    texts, threads = column if column.dtype == pl.String else column.cast(pl.String), default_threads()
    room = np.empty(min(_CODED, len(texts)), dtype=np.int32)
    for begin in range(0, len(texts), _CODED):
        own = room[: len(texts) - begin]
        coder.code(texts.slice(begin, len(own)), own, threads)
        low, high = extremes(own)
        if not _add(columns, column.name, own, int(low), int(high), n_rows):
            return False
    return True
