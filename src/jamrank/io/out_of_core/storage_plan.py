"""Plan of storing votes on disk: files, folder, memory and space."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from jamrank.data.parsing import require_columns
from jamrank.errors import InputError, ParameterError
from jamrank.io.documents import check_folder
from jamrank.io.parquet import ParquetFiles, is_parquet
from jamrank.io.private import check_private, own_scratch, refuse_shared

# The manifest of a scratch folder: its file and kind.
MANIFEST, KIND, VERSION = "votes.json", "scratch", 2
# Most memory per vote of a slice, or of a part, and the base memory of the process.
_SLICE_BYTES, _PART_BYTES, _PROCESS_BYTES = 160, 96, 400 << 20
_MOST_MEMORY = 2.0**62
_LEAST_MEMORY = 512 << 20
# The most space on disk that a vote takes: key and weight (of repeated votes), and once more as rows.
_KEY_BYTES, _ROW_BYTES = 16, 19
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_size(text: str | int) -> int:
    """Return the number of bytes that a text such as ``2GB``, ``512 MiB`` or ``4e9`` means."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]i?)?b?\s*", str(text), re.IGNORECASE)
    try:
        number = float(match[1]) if match else -1.0
    except ValueError:
        number = -1.0
    size = number * _UNITS[(match[2] or "").lower()] if match else number
    if not 0 <= size < _MOST_MEMORY:
        raise ParameterError(f"{text!r} is not an amount of memory; write 2GB or 512MB")
    return int(size)


@dataclass(frozen=True)
class StoragePlan:
    """Plan of storing votes, made before any vote is read."""

    table: ParquetFiles
    source: str
    folder: Path
    memory: int
    scratch_bytes: int

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.table)

    @property
    def done(self) -> bool:
        """Whether the folder has these votes already."""
        return (self.folder / MANIFEST).exists()

    @property
    def votes_in_memory(self) -> int:
        """How many votes of a part may be in memory at once."""
        return (self.memory - _PROCESS_BYTES) // _PART_BYTES

    @property
    def rows_in_slice(self) -> int:
        """How many rows of the files are read at once."""
        return min(max((self.memory - _PROCESS_BYTES) // _SLICE_BYTES, 10_000), 8_000_000)


def plan_storage(
    path: str | os.PathLike[str],
    scratch: str | os.PathLike[str] | None = None,
    memory: str | int = "2GB",
) -> StoragePlan:
    """Plan the storage of votes.

    path: A Parquet file in the canonical form, or a folder of them.
    scratch: Folder for the encoded votes; by default a private one in the user's cache.
    memory: Memory limit, such as ``"2GB"``.
    Raises InputError: If the files cannot be read, or the scratch folder is too small.
    Raises ParameterError: If the memory limit is too small.
    """
    allowed = parse_size(memory)
    if allowed < _LEAST_MEMORY:
        raise ParameterError(f"memory is {memory!r}; expected at least {_LEAST_MEMORY >> 20}MiB")
    if not is_parquet(path):
        convert = f"""python -c "import polars as pl; pl.scan_csv('{path}').sink_parquet('votes.parquet')\""""
        remedy = f"fits from disk read Parquet; convert the file first: {convert}"
        raise InputError("not a Parquet file or a folder of them", remedy, source=str(path))
    table = ParquetFiles.open(path)
    try:
        require_columns(list(table.columns))
    except InputError as error:
        raise error.within(str(path)) from None
    where = _where(scratch)
    needed = len(table) * (_KEY_BYTES + _ROW_BYTES)
    plan = StoragePlan(table, str(path), where / f"jamrank-{_fingerprint(table, allowed)}", allowed, needed)
    if os.path.lexists(plan.folder):
        check_private(plan.folder)
    nearest = next(parent for parent in (where, *where.absolute().parents) if parent.exists())
    free = shutil.disk_usage(nearest).free
    if not plan.done and free < needed:
        problem = f"the scratch folder has {free / 1e9:.1f} GB free, and these votes need about {needed / 1e9:.1f} GB"
        raise InputError(problem, "give another folder with --scratch", source=str(where))
    return plan


def _where(scratch: str | os.PathLike[str] | None) -> Path:
    """Return the private folder of scratch folders."""
    if scratch is None:
        return own_scratch()
    check_folder(scratch)
    where = Path(scratch).absolute()
    if where.exists():
        refuse_shared(where)
    return where


def _fingerprint(table: ParquetFiles, memory: int) -> str:
    """Return a name that changes with the files and with the size of the parts."""
    described = [f"{VERSION} {memory}"]
    for file in table.files:
        stat = file.stat()
        described.append(f"{file.resolve()} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.blake2b("\n".join(described).encode(), digest_size=8).hexdigest()
