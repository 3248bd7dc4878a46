"""Arrays on disk as raw bytes in private files, read into existing memory."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import ScratchError
from jamrank.io.private import private_open

# Checksum of a file: its size in bytes and its CRC-32.
Stamp = list[int]

_CHUNK = 1 << 20


def write_private(path: Path, content: bytes | memoryview) -> Stamp:
    """Write a file; a reader sees either nothing or all of it."""
    temporary = path.with_suffix(".tmp")
    with private_open(temporary, "wb") as file:
        file.write(content)
    temporary.replace(path)
    return [len(content), zlib.crc32(content)]


def write_array(path: Path, array: NDArray[Any]) -> Stamp:
    """Write an array as :func:`write_private` does."""
    return write_private(path, _bytes_of(np.ascontiguousarray(array)))


def append_array(path: Path, array: NDArray[Any]) -> None:
    """Add an array to the end of a file."""
    with private_open(path, "ab") as file:
        file.write(_bytes_of(np.ascontiguousarray(array)))


def read_array(path: Path, dtype: Any) -> NDArray[Any]:
    """Return all of a file as an array."""
    try:
        size = path.lstat().st_size
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    array = np.empty(size // np.dtype(dtype).itemsize, dtype=dtype)
    if array.nbytes != size:
        raise _damaged(path, "its length is wrong")
    read_into(path, array)
    return array


def read_into(path: Path, array: NDArray[Any]) -> None:
    """Fill an array from a file of exactly that size."""
    view, done = _bytes_of(array), 0
    try:
        with private_open(path, "rb", buffering=0) as file:
            while done < len(view) and (count := file.readinto(view[done:])):  # type: ignore[attr-defined]
                done += count
            whole = done == len(view) and not file.read(1)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    if not whole:
        raise _damaged(path, "its length is wrong")


def stamp_of(path: Path) -> Stamp:
    """Return the checksum of a file, reading all of it.

    Raises ScratchError: If there is no such file, or it cannot be read.
    """
    size, checksum = 0, 0
    try:
        with private_open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                size, checksum = size + len(chunk), zlib.crc32(chunk, checksum)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    return [size, checksum]


def _damaged(path: Path, why: str) -> ScratchError:
    return ScratchError(f"a scratch file is damaged ({why})", "delete its folder and start again", source=str(path))


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(array.data).cast("B")
