"""Variances of item scores without inverting a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["score_variances"]

Doubles = NDArray[np.float64]

_ROUNDS = 50
_CLOSE = 1e-3
# With so many links an item, what comes back along any one of them is lost among the rest.
_DENSE = 50


def score_variances(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    curvature: Doubles,
    precision: float,
    n_items: int,
) -> Doubles:
    """Approximate the diagonal of the inverse of Laplacian plus prior by Gaussian belief propagation.

    Exact where the comparisons form a tree, close on sparse random graphs, and on dense ones the same as the
    inverse of the diagonal, which is right there.

    Parameters
    ----------
    first, second : ndarray of int32
        Items of each row, sorted by first and second.
    curvature : ndarray
        Of each row.
    precision : float
        Prior precision of every score.
    n_items : int
        Number of items.
    """
    edge = np.flatnonzero(np.diff(first.astype(np.int64) * n_items + second, prepend=-1))
    if not len(edge):
        return np.full(n_items, 1.0 / max(precision, 1e-12))
    a, b = first[edge], second[edge]
    link = np.maximum(np.add.reduceat(curvature, edge), 0.0)
    own = np.bincount(a, link, n_items) + np.bincount(b, link, n_items)
    own += max(precision, 1e-6 * float(own.max()))
    if len(link) > _DENSE * n_items:
        return 1.0 / own
    # What each item tells the other about how far it gives way.
    into_a, into_b = np.zeros(len(link)), np.zeros(len(link))
    for _ in range(_ROUNDS):
        heard = np.bincount(a, into_a, n_items) + np.bincount(b, into_b, n_items)
        new_a = link**2 / (own[b] - heard[b] + into_b)
        new_b = link**2 / (own[a] - heard[a] + into_a)
        change = max(float(np.abs(new_a - into_a).max()), float(np.abs(new_b - into_b).max()))
        into_a, into_b = new_a, new_b
        if change <= _CLOSE * float(link.max()):
            break
    heard = np.bincount(a, into_a, n_items) + np.bincount(b, into_b, n_items)
    variances: Doubles = 1.0 / (own - heard)
    return variances
