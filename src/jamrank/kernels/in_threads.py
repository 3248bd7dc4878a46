"""Long arrays in threads: numpy over blocks that stay in cache, which do not depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels import default_threads, kernels

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_BLOCK = 1 << 18
# Types that a kernel knows.
_KERNEL_TYPES = (np.int8, np.int32, np.float64)

_Found = TypeVar("_Found")


def over_blocks(length: int, work: Callable[[slice], _Found], threads: int | None = None) -> list[_Found]:
    """Return what ``work`` returns for each block of a range, in order.

    numpy releases the GIL while it works on a block. Blocks are the same for any number of threads, and so are sums.
    """
    blocks = [slice(begin, min(begin + _BLOCK, length)) for begin in range(0, length, _BLOCK)]
    threads = min(threads or default_threads(), len(blocks))
    if threads <= 1:
        return [work(block) for block in blocks]
    # Few tasks: starting one takes as long as a block.
    ends = [len(blocks) * thread // threads for thread in range(threads + 1)]
    tasks = [blocks[begin:end] for begin, end in pairwise(ends)]
    found = _pool(threads, os.getpid()).map(lambda own: [work(block) for block in own], tasks)
    return [one for own in found for one in own]


def any_block(length: int, work: Callable[[slice], Any]) -> bool:
    """Return whether ``work`` finds something true in any block of a range."""
    return any(over_blocks(length, lambda block: bool(np.any(work(block)))))


def total(values: NDArray[Any]) -> float:
    """Return the sum of an array."""
    return float(sum(over_blocks(len(values), lambda block: float(values[block].sum()))))


def extremes(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest value of an array that is not empty and has no NaN."""
    if values.dtype in _KERNEL_TYPES and values.flags.c_contiguous:
        low, high = kernels.extremes(values.ravel(), default_threads())
        return low, high
    found = over_blocks(len(values), lambda block: (values[block].min(), values[block].max()))
    return min(low for low, _ in found), max(high for _, high in found)


def copied(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return a copy of an array, in C order."""
    copy = np.empty(values.shape, dtype)
    over_blocks(len(values), lambda block: np.copyto(copy[block], values[block], casting="unsafe"))
    return copy


def taken(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """Return the entries of a table at some places, without a copy of the places as indices."""
    found = np.empty(len(places), table.dtype)
    # Places outside of the table are the caller's fault; to look for them would take a copy.
    over_blocks(len(places), lambda block: np.take(table, places[block], out=found[block], mode="clip"))
    return found


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return threads of this process: a fork has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)
