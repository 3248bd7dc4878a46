"""Variances of item scores without inverting a matrix."""

from __future__ import annotations

from typing import Any

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
    edges: NDArray[np.int64],
    curvature: NDArray[np.floating[Any]],
    degree: Doubles,
    precision: float,
) -> Doubles:
    """Approximate the diagonal of the inverse of Laplacian plus prior by Gaussian belief propagation.

    Exact where the comparisons form a tree, close on sparse random graphs, and on dense ones the same as the
    inverse of the diagonal, which is right there.

    Parameters
    ----------
    first, second : ndarray of int32
        Items of each row, sorted by first and second.
    edges : ndarray of int64
        Where each distinct pair of items begins among the rows.
    curvature : ndarray
        Of each row.
    degree : ndarray
        Sum of the curvature over the rows of each item.
    precision : float
        Prior precision of every score.
    """
    n_items, own = len(degree), np.maximum(degree, 0.0)
    own = own + max(precision, 1e-6 * float(own.max()))
    if len(edges) > _DENSE * n_items:
        return 1.0 / own
    a, b = first[edges], second[edges]
    link = np.maximum(np.add.reduceat(curvature, edges, dtype=np.float64), 0.0)
    # Where a negative curvature was cut off, the sums must follow.
    own = np.maximum(own, np.bincount(a, link, n_items) + np.bincount(b, link, n_items) + precision)
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
