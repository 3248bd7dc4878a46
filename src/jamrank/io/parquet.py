"""Tables too large for memory: Parquet, one file or a folder of them, a slice of rows at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from jamrank.errors import InputError

__all__ = ["ParquetFiles", "columns_of", "count_rows", "is_parquet", "parquet_files", "unless_it_panics"]

_SUFFIXES = (".parquet", ".pq")
# What else votes come in, file by file.
_OTHERS = tuple(f".{kind}{packed}" for kind in ("csv", "tsv", "jsonl", "json") for packed in ("", ".gz", ".zst"))
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file is Parquet; a folder is taken for one of Parquet files."""
    return Path(path).is_dir() or Path(path).suffix.lower() in _SUFFIXES


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder, by name, or the one file that is named.

    Raises
    ------
    InputError
        If there are none.
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

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ParquetFiles:
        """Look at the files without reading their rows.

        Raises
        ------
        InputError
            If one is damaged, or has other columns than the first.
        """
        files = parquet_files(path)
        schemas, rows = [], []
        for file in files:
            with _readable(file):
                table = pl.scan_parquet(file)
                schemas.append(dict(table.collect_schema()))
                rows.append(int(table.select(pl.len()).collect().item()))
        for file, schema in zip(files, schemas, strict=True):
            other = next((name for name in schemas[0] if schema.get(name) != schemas[0][name]), None)
            if other is not None:
                here, there = schema.get(other, "missing"), schemas[0][other]
                problem = f"column {other!r} is {here} here and {there} in {files[0].name}"
                raise InputError(problem, "write the files alike", source=str(file))
        if not sum(rows):
            raise InputError("the table has no rows", "expected at least one", source=str(path))
        return cls(files, schemas[0], rows)

    def __len__(self) -> int:
        return sum(self.rows)

    def slices(self, columns: list[str], longest: int) -> Iterator[tuple[Path, int, pl.DataFrame]]:
        """Yield the rows in order: file, number of rows of it that came before, and the next ones."""
        for file, rows in zip(self.files, self.rows, strict=True):
            for begin in range(0, rows, longest):
                with _readable(file):
                    frame = pl.scan_parquet(file).select(columns).slice(begin, longest).collect()
                yield file, begin, frame


@contextmanager
def unless_it_panics() -> Iterator[None]:
    """Keep back what is written to standard error, and drop it where polars panics: it says so there by itself."""
    try:
        before = os.dup(2)
    except OSError:  # there is none
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        panicked = False
        try:
            yield
        except pl.exceptions.PanicException:
            panicked = True
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
            held.seek(0)
            said = held.read()
            if said and not panicked:
                os.write(2, said)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        with unless_it_panics():
            yield
    except _BROKEN as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
        raise InputError(
            f"the Parquet file is damaged or of an unknown kind ({told})", "write it again", source=str(file)
        ) from None


def columns_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the columns of a Parquet file or a folder of them; none where there is no such file here."""
    return list(ParquetFiles.open(path).columns) if Path(path).exists() else []


def count_rows(path: str | os.PathLike[str]) -> int:
    """Return how many rows a Parquet file or a folder of them has, from the footers alone."""
    return len(ParquetFiles.open(path))
