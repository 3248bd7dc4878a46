"""Variances of item scores without inverting a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.engines import Links

__all__ = ["is_dense", "score_variances"]

Doubles = NDArray[np.float64]

_ROUNDS = 50
_CLOSE = 1e-3
# With so many links an item, what comes back along any one of them is lost among the rest.
_DENSE = 50


def is_dense(n_links: int, n_items: int) -> bool:
    """Tell whether there are so many pairs of items that variances do not depend on which."""
    return n_links > _DENSE * n_items


def score_variances(
    degree: Doubles,
    precision: float,
    links: Links | None,
) -> Doubles:
    """Approximate the diagonal of the inverse of Laplacian plus prior by Gaussian belief propagation.

    Exact where the comparisons form a tree, close on sparse random graphs, and on dense ones the same as the
    inverse of the diagonal, which is right there.

    Parameters
    ----------
    degree : ndarray
        Sum of the curvature over the rows of each item.
    precision : float
        Prior precision of every score.
    links : Links or None
        The curvature by pair of items; None where the graph is dense (see :func:`is_dense`).
    """
    n_items, own = len(degree), np.maximum(degree, 0.0)
    own = own + max(precision, 1e-6 * float(own.max()))
    if links is None:
        return 1.0 / own
    a, b = links.first, links.second
    link = np.maximum(links.curvature, 0.0)
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
