"""How the two items of each row are laid out for passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels import default_threads, kernels
from jamrank.typing import Int32Array, IntArray

# Where the rows of each first item begin, and the second items; both empty where the rows are all pairs.
Layout = tuple[IntArray, NDArray[np.integer]]


@dataclass(frozen=True)
class Links:
    """Distinct pairs of items, sorted: where the rows of each begin (None: one row each), and their layout."""

    begin: IntArray | None
    layout: Layout


def where_pairs_begin(first: Int32Array, second: Int32Array) -> IntArray:
    """Return where each distinct pair of items begins among sorted pairs."""
    new = np.diff(first, prepend=-1) != 0
    new |= np.diff(second, prepend=-1) != 0
    return np.flatnonzero(new)


def has_gaps(start: IntArray) -> bool:
    """Return whether a run is empty, given where each begins and, at last, where all end."""
    return bool(kernels.any_equal(start[1:], start[:-1], default_threads()))


def lay_out(first: Int32Array, second: Int32Array, n_items: int, distinct: bool) -> Layout:
    """Return the layout of sorted pairs of items; empty where they are all pairs, which a pass can enumerate."""
    if distinct and len(first) == n_items * (n_items - 1) // 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return item_start(first, n_items), narrow(second, n_items)


def item_start(first: Int32Array, n_items: int) -> IntArray:
    """Return where the rows of each first item begin, and at last the number of rows."""
    return np.asarray(np.searchsorted(first, np.arange(n_items + 1, dtype=first.dtype)))


def narrow(second: Int32Array, n_items: int) -> NDArray[np.integer]:
    """Return second items in two bytes where that is enough."""
    return second.astype(np.uint16) if fits_two_bytes(n_items) else second


def fits_two_bytes(n_items: int) -> bool:
    """Return whether the code of every item fits into two bytes."""
    return n_items <= 1 << 16
