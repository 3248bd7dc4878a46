"""CSV and Parquet tables, with no row lost or changed on the way.

polars fills up short rows, makes rows of blank lines and, in its older versions, swallows what follows an
unclosed quote. So it is given a CSV only after every line was seen to have its fields; any other file goes
through a slower reader that either understands it or says which row is wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from jamrank.errors import InputError
from jamrank.io.compression import decompressed
from jamrank.io.documents import read_bytes, shown
from jamrank.io.parquet import ParquetFiles, facts_of, refuse_broken, refuse_contradictions
from jamrank.kernels import default_threads, kernels

PARQUET_MAGIC = b"PAR1"
PARQUET_SUFFIXES = {".parquet", ".pq"}
_UTF8_BOM = b"\xef\xbb\xbf"
_FOREIGN = {
    b"\xff\xfe": ("this is UTF-16", "save the file as UTF-8"),
    b"\xfe\xff": ("this is UTF-16", "save the file as UTF-8"),
    b"PK\x03\x04": ("this is a zip archive or an Excel workbook", "save the table as CSV"),
    b"\xd0\xcf\x11\xe0": ("this is an Excel workbook", "save the table as CSV"),
}
_BINARY = ("this is neither text nor Parquet", "expected a CSV file in UTF-8, or Parquet")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v"))
_DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_HEAD = 1 << 16


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a CSV, TSV or Parquet file.

    path: Parquet by its suffix (``.parquet``, ``.pq``) or its content, or a folder of such files; tabs separate the
        columns of a ``.tsv``, commas those of anything else or, where the header has none, semicolons, tabs or bars.
        Text is UTF-8. The file may be compressed with gzip or zstd.
    Returns: Parquet as it is; of a CSV every column is text, null for an empty field. Blank lines are skipped.
    Raises InputError: If the file cannot be read whole and without doubt.
    """
    return load_table(path)[0]


def load_table(path: str | os.PathLike[str]) -> tuple[pl.DataFrame, bool]:
    """Read a table as :func:`read_table` does, and say whether its columns came with types.

    path: The file.
    Returns frame, typed (true for Parquet, False where all is text).
    """
    if Path(path).is_dir():
        table = ParquetFiles.open(path)
        return pl.concat(frame for _, _, frame in table.slices(list(table.columns), len(table))), True
    source = str(path)
    return parse_table(decompressed(read_bytes(path), source), source)


def parse_table(data: bytes, source: str) -> tuple[pl.DataFrame, bool]:
    """Return the table in the content of a file, as :func:`load_table` does.

    data: The content, decompressed.
    source: The name of the file, which tells TSV from CSV.
    Returns frame, typed.
    """
    if not data or data.isspace():
        raise InputError("the file is empty", "expected a header and at least one row", source=source)
    suffixes = _suffixes(source)
    typed = data.startswith(PARQUET_MAGIC) or bool(PARQUET_SUFFIXES & set(suffixes[-1:]))
    if typed:
        frame = _read_parquet(data, source)
    else:
        data = _trimmed(data)
        frame = _read_csv(data, "\t" if ".tsv" in suffixes[-2:] else _delimiter(data), source)
    if not frame.height:
        raise InputError("the table has no rows, only a header", "expected at least one row", source=source)
    return frame, typed


def _read_parquet(data: bytes, source: str) -> pl.DataFrame:
    if not data.startswith(PARQUET_MAGIC):
        raise InputError("the name says Parquet, the content is something else", "rename the file", source=source)
    facts = facts_of(data, source)
    with refuse_broken(source):
        frame = pl.read_parquet(BytesIO(data))
    refuse_contradictions(frame, facts, source, whole=True)
    return frame


def _delimiter(data: bytes) -> str:
    """Return the delimiter of the columns: commas unless the header has none, and has columns by one other mark."""
    split = [mark for mark in _DELIMITER_NAMES if _width(data, mark) > 1]
    return split[0] if len(split) == 1 else ","


def _width(data: bytes, delimiter: str) -> int:
    """Return the number of columns in a header; 0 where it is unknown."""
    try:
        return len(_first_record(data, delimiter, "") or ())
    except (InputError, UnicodeDecodeError):
        return 0


def plain_header(line: bytes, source: str) -> tuple[list[str], str] | None:
    """Return the columns of a CSV and their delimiter from its first line; None where this line does not say."""
    line = line.removeprefix(_UTF8_BOM)
    if b"\r" in line.rstrip(b"\r\n") or b"\0" in line:
        return None
    delimiter = "\t" if ".tsv" in _suffixes(source)[-2:] else _delimiter(line)
    try:
        return _read_header(line, delimiter, source), delimiter
    except (InputError, UnicodeDecodeError):
        return None


def _suffixes(source: str) -> list[str]:
    return [suffix.lower() for suffix in Path(source).suffixes]


def _read_csv(data: bytes, delimiter: str, source: str) -> pl.DataFrame:
    _check_encoding(data, delimiter, source)
    header = _read_header(data, delimiter, source)
    n_rows = _count_regular_rows(data, delimiter.encode(), len(header))
    frame = None if n_rows is None else _parse_quickly(data, delimiter, header, n_rows)
    return _parse_carefully(data.decode("utf-8"), delimiter, source) if frame is None else frame


def _trimmed(data: bytes) -> bytes:
    """Return a text without blank lines at its ends, closed by a newline; as it is where it is that already."""
    data = data.removeprefix(_UTF8_BOM)
    ends = data[-2:]
    if data[:1] not in (b"\n", b"\r") and ends[-1:] == b"\n" and ends[:1] not in (b"\n", b"\r"):
        return data
    return data.strip(b"\r\n") + b"\n"


def _check_encoding(data: bytes, delimiter: str, source: str) -> None:
    for magic, (problem, remedy) in _FOREIGN.items():
        if data.startswith(magic):
            raise InputError(problem, remedy, source=source)
    if b"\0" in data:
        raise InputError(*_BINARY, source=source)
    if data.isascii():
        return
    try:
        data.decode("utf-8")
        return
    except UnicodeDecodeError as error:
        bad = error.start
    if len(data[:4096].translate(None, _CONTROLS)) < len(data[:4096]):
        raise InputError(*_BINARY, source=source)
    row = _row_at_end(data[:bad].decode("utf-8"), delimiter)
    where = "" if row else " in the header"
    problem = f"byte 0x{data[bad]:02X}{where} is not UTF-8"
    raise InputError(problem, "save the file as UTF-8", source=source, row=row or None)


def _row_at_end(text: str, delimiter: str) -> int:
    """Return the row in which a text breaks off; 0 is the header."""
    row = -1
    try:
        for _ in _records(text + "?\n", delimiter, ""):
            row += 1
    except InputError:  # it breaks off inside a quoted field, which belongs to a row of its own
        row += 1
    return row


def _first_record(data: bytes, delimiter: str, source: str) -> list[str | None] | None:
    # All but the oddest headers are in the first lines; a large file need not be decoded for it.
    head = data[: data.find(b"\n", _HEAD) + 1] or data
    try:
        return next(_records(head.decode("utf-8"), delimiter, source), None)
    except InputError:
        return next(_records(data.decode("utf-8"), delimiter, source), None)


def _read_header(data: bytes, delimiter: str, source: str) -> list[str]:
    first = _first_record(data, delimiter, source)
    if first is None:
        raise InputError("the file is empty", "expected a header and at least one row", source=source)
    header = [name or "" for name in first]
    twice = first_repeated(header)
    if twice is not None:
        raise InputError(f"the column {shown(twice)} is listed twice", "rename or remove one", source=source)
    other = next((mark for mark in _DELIMITER_NAMES if len(header) == 1 and _width(data, mark) > 1), None)
    if other is not None:
        problem = f"the columns seem to be separated by {_DELIMITER_NAMES[other]}"
        remedy = f"use {_DELIMITER_NAMES[delimiter]}" + (" or name the file .tsv" if other == "\t" else "")
        raise InputError(problem, remedy, source=source)
    return header


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that has occurred before; None where all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _count_regular_rows(data: bytes, delimiter: bytes, width: int) -> int | None:
    """Return the number of rows of a CSV whose every line plainly has ``width`` fields; None in any doubt."""
    if width == 1:  # a blank line would look like a row
        return None
    text = np.frombuffer(data, dtype=np.uint8)
    n_lines = kernels.regular_lines(text, delimiter[0], width, default_threads())
    return n_lines - 1 if n_lines > 0 else None


def _parse_quickly(data: bytes, delimiter: str, header: list[str], n_rows: int) -> pl.DataFrame | None:
    """Let polars read a regular CSV; None where it does not see the same table."""
    quote = '"' if b'"' in data else None
    try:
        frame = pl.read_csv(BytesIO(data), separator=delimiter, quote_char=quote, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (n_rows, len(header)):
        return None
    frame.columns = header
    if quote and b'""' in data:  # many writers quote every field, the empty ones too
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())
    return frame


def _parse_carefully(text: str, delimiter: str, source: str) -> pl.DataFrame:
    records = _records(text, delimiter, source)
    header = [name or "" for name in next(records)]
    columns: list[list[str | None]] = [[] for _ in header]
    for row, record in enumerate(records, start=1):
        if len(record) != len(header):
            raise _ragged(record, len(header), delimiter, source, row)
        for column, value in zip(columns, record, strict=True):
            column.append(value)
    return pl.DataFrame([pl.Series(name, v, dtype=pl.String) for name, v in zip(header, columns, strict=True)])


def _ragged(record: list[str | None], width: int, delimiter: str, source: str, row: int) -> InputError:
    fields = "1 field" if len(record) == 1 else f"{len(record)} fields"
    remedy = f"write {width} fields, and quote those that contain {_DELIMITER_NAMES[delimiter]}"
    return InputError(f"{fields} where the header has {width}", remedy, source=source, row=row)


def _records(text: str, delimiter: str, source: str) -> Iterator[list[str | None]]:
    """Yield the fields of each line that is not blank, None for an empty field."""
    field = re.compile(rf'(?:"((?:[^"]++|"")*+)"|((?!")[^{delimiter}\r\n]*+))([{delimiter}]|\r\n|\r|\n)')
    record: list[str | None] = []
    position = row = 0
    while position < len(text):
        match = field.match(text, position)
        if match is None:
            remedy = "close it, and double a quote that belongs to the text"
            problem = "a quoted field is not closed, or goes on after it"
            raise InputError(problem, remedy, source=source, row=row or None)
        quoted, plain, end = match.groups()
        record.append((plain if quoted is None else quoted.replace('""', '"')) or None)
        position = match.end()
        if end == delimiter:
            continue
        if len(record) > 1 or plain != "":
            yield record
            row += 1
        record = []
