"""Tables too large for memory: Parquet, one file or a folder of them, a slice of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from jamrank.errors import InputError

__all__ = ["ParquetFiles", "count_rows", "is_parquet", "parquet_files"]

_SUFFIXES = (".parquet", ".pq")
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
        raise InputError(
            "the folder has no Parquet files", f"expected names that end in {_SUFFIXES[0]}", source=str(path)
        )
    return found


def count_rows(path: str | os.PathLike[str]) -> int:
    """Return how many rows a file or a folder has, from what stands at the end of each file."""
    return len(ParquetFiles.open(path))


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
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
        raise InputError(
            f"the Parquet file is damaged or of an unknown kind ({told})", "write it again", source=str(file)
        ) from None
