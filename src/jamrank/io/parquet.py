"""Parquet: one file or a folder of them, checked before polars reads it, a slice of rows at a time."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.footer import Facts, examine
from jamrank.io.thrift import Buffer

_SUFFIXES = (".parquet", ".pq")
# What else votes come in, file by file.
_OTHERS = tuple(f".{kind}{packed}" for kind in ("csv", "tsv", "jsonl", "json") for packed in ("", ".gz", ".zst"))
# Of longer columns the range is not looked at again, which would take time.
_FEW_ROWS = 1_000_000
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is Parquet by its name; folders are assumed to contain Parquet files."""
    return Path(path).is_dir() or Path(path).suffix.lower() in _SUFFIXES


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder, by name, or the one file that is named.

    Raises InputError: If there are none.
    """
    where = Path(path)
    if not where.exists():
        raise InputError("there is no such file or folder", "check the name", source=str(path))
    if not where.is_dir():
        return [where]
    found = sorted(file for file in where.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
    if not found:
        other = next((end for end in _OTHERS if any(where.glob(f"*{end}"))), None)
        remedy = f"name its files: {where}/*{other}" if other else f"expected names that end in {_SUFFIXES[0]}"
        raise InputError("the folder has no Parquet files", remedy, source=str(path))
    return found


@dataclass(frozen=True)
class ParquetFiles:
    """The files of one table, with the columns that all of them have and the number of rows of each."""

    files: list[Path]
    columns: dict[str, pl.DataType]
    rows: list[int]
    facts: list[dict[tuple[str, ...], Facts]]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ParquetFiles:
        """Open the files without reading their rows.

        Raises InputError: If one is damaged, or has other columns than the first.
        """
        files = parquet_files(path)
        schemas, rows, facts = [], [], []
        for file in files:
            facts.append(_facts_of_file(file))
            with refuse_broken(str(file)):
                table = pl.scan_parquet(file, glob=False)
                schemas.append(dict(table.collect_schema()))
                rows.append(int(table.select(pl.len()).collect().item()))
        for file, schema in zip(files, schemas, strict=True):
            other = next((name for name in schemas[0] if schema.get(name) != schemas[0][name]), None)
            if other is not None:
                here, there = schema.get(other, "missing"), schemas[0][other]
                problem = f"column {other!r} is {here} here and {there} in {files[0].name}"
                raise InputError(problem, "use the same column types in all files", source=str(file))
        if not sum(rows):
            raise InputError("the table has no rows", "expected at least one", source=str(path))
        return cls(files, schemas[0], rows, facts)

    def __len__(self) -> int:
        return sum(self.rows)

    def slices(self, columns: list[str], longest: int) -> Iterator[tuple[Path, int, pl.DataFrame]]:
        """Yield the rows in order: file, number of rows of it that came before, and the next ones."""
        for file, rows, facts in zip(self.files, self.rows, self.facts, strict=True):
            for begin in range(0, rows, longest):
                with refuse_broken(str(file)):
                    frame = pl.scan_parquet(file, glob=False).select(columns).slice(begin, longest).collect()
                refuse_contradictions(frame, facts, str(file), whole=longest >= rows)
                yield file, begin, frame


def _facts_of_file(file: Path) -> dict[tuple[str, ...], Facts]:
    try:
        if not file.stat().st_size:  # which cannot be mapped
            return facts_of(b"", str(file))
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return facts_of(data, str(file))
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror or error})"
        raise InputError(problem, "check the name and the permissions", source=str(file)) from None


def facts_of(data: Buffer, source: str) -> dict[tuple[str, ...], Facts]:
    """Return what a Parquet file says of its columns.

    Raises InputError: If the file is inconsistent.
    """
    facts = examine(data)
    if facts is None:
        raise InputError("the Parquet file is damaged or cut off", "write it again", source=source)
    return facts


def refuse_contradictions(
    frame: pl.DataFrame, facts: dict[tuple[str, ...], Facts], source: str, *, whole: bool
) -> None:
    """Refuse rows of a file, or all of them (`whole`), whose gaps and ranges are not those that the file declares."""
    odd = next((path for path, own in facts.items() if not _agrees(frame, path, own, whole)), None)
    if odd is not None:
        problem = f"the Parquet file is damaged ({shown('.'.join(odd))} does not match its declaration)"
        raise InputError(problem, "write it again", source=source)


def _agrees(frame: pl.DataFrame, path: tuple[str, ...], own: Facts, whole: bool) -> bool:
    """Return whether a column, or a field of records, has the gaps and the range that the file says it has."""
    if path[0] not in frame.columns:
        return True
    column = frame[path[0]]
    for name in path[1:]:
        if not isinstance(column.dtype, pl.Struct) or column.null_count() or name not in column.struct.fields:
            return True
        column = column.struct.field(name)
    if column.dtype.is_nested():
        return True
    missing = column.null_count()
    if own.missing is not None and (missing != own.missing if whole else missing > own.missing):
        return False
    if column.dtype != pl.String or len(column) > _FEW_ROWS:
        return True
    # The range may have been rounded outwards, where texts are long.
    ends = [str(end).encode() for end in (column.min(), column.max()) if end is not None]
    return not ends or ((own.low is None or own.low <= ends[0]) and (own.high is None or ends[-1] <= own.high))


@contextmanager
def refuse_broken(source: str) -> Iterator[None]:
    """Convert any error of polars on a damaged file to one typed error."""
    try:
        yield
    except _BROKEN as error:
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
        problem = f"the Parquet file is damaged or of an unknown kind ({detail})"
        raise InputError(problem, "write it again", source=source) from None


def columns_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the columns of a Parquet file or a folder of them; none if there is no such file."""
    return list(ParquetFiles.open(path).columns) if Path(path).exists() else []


def count_rows(path: str | os.PathLike[str]) -> int:
    """Return how many rows a Parquet file or a folder of them has, from the footers alone."""
    return len(ParquetFiles.open(path))
