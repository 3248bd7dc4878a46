"""Arrays on disk as bare bytes, read into memory that is already there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import InputError

__all__ = ["append_array", "read_array", "read_into", "write_array"]


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; a reader sees either nothing or all of it."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        file.write(_bytes_of(np.ascontiguousarray(array)))
    temporary.replace(path)


def append_array(path: Path, array: NDArray[Any]) -> None:
    """Add an array to the end of a file."""
    with path.open("ab") as file:
        file.write(_bytes_of(np.ascontiguousarray(array)))


def read_array(path: Path, dtype: Any) -> NDArray[Any]:
    """Return all of a file as an array."""
    array = np.empty(path.stat().st_size // np.dtype(dtype).itemsize, dtype=dtype)
    read_into(path, array)
    return array


def read_into(path: Path, array: NDArray[Any]) -> None:
    """Fill an array from a file that holds exactly as much."""
    with path.open("rb", buffering=0) as file:
        view, done = _bytes_of(array), 0
        while done < len(view):
            count = file.readinto(view[done:])
            if not count:
                raise InputError(
                    "a scratch file is cut off", "delete the scratch folder and start again", source=str(path)
                )
            done += count


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(array.data).cast("B")
