"""Numpy twins of what is asked of long arrays before they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.typing import Int32Array, IntArray


def extremes(values: NDArray[Any], threads: int) -> tuple[Any, Any]:
    """Return the smallest and the largest of some values, of which there is one at least and none is NaN."""
    return values.min().item(), values.max().item()


def any_equal(one: NDArray[Any], other: NDArray[Any], threads: int) -> bool:
    """Return whether two arrays have the same value at the same place, anywhere."""
    return bool((one == other).any())


def in_order(first: Int32Array, second: Int32Array, threads: int) -> bool:
    """Return whether pairs are sorted and distinct, and name the lower item first."""
    falls = (np.diff(first) < 0) | ((np.diff(first) == 0) & (np.diff(second) <= 0))
    return not (falls.any() or (first >= second).any())


def copy_bounded(source: NDArray[np.int8], target: NDArray[np.int8], threads: int) -> tuple[int, int]:
    """Copy an array, and return its extremes."""
    target[:] = source
    return extremes(source, threads)


def pack_verdicts(
    source: NDArray[np.int8], annotators: int, said: NDArray[np.uint8], times: IntArray, threads: int
) -> bool:
    """Pack a matrix of pairs by at most eight annotators, and return whether all is 0 or 1.

    If so, ``said`` gets each row as one number, a bit each, the first highest, and ``times`` how often each occurs.
    """
    place = 1 << np.arange(annotators - 1, -1, -1)
    said[:] = ((source.reshape(-1, annotators) & 1) * place).sum(axis=1)
    times[:] = np.bincount(said, minlength=len(times))
    return bool((source & ~1 == 0).all())


def unpack_verdicts(said: NDArray[np.uint8], annotators: int, target: NDArray[np.int8], threads: int) -> None:
    """Write the matrix that was packed."""
    target[:] = (said[:, None] >> np.arange(annotators - 1, -1, -1) & 1).ravel()
