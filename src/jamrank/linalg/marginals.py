"""Variances of item scores without inverting a matrix."""

from __future__ import annotations

import numpy as np

from jamrank.engines import Links
from jamrank.typing import FloatArray

_ROUNDS = 50
_CLOSE = 1e-3
# With this many links per item, feedback along a single link is negligible.
_DENSE = 50


def is_dense(n_links: int, n_items: int) -> bool:
    """Return whether there are so many pairs of items that variances depend only on degrees."""
    return n_links > _DENSE * n_items


def score_variances(
    degree: FloatArray,
    precision: float,
    links: Links | None,
) -> FloatArray:
    """Approximate the diagonal of the inverse of Laplacian plus prior by Gaussian belief propagation.

    Exact on trees, close on sparse random graphs, and on dense ones equal to the inverse of the diagonal, which is
    accurate there.

    degree: Sum of the curvature over the rows of each item.
    precision: Prior precision of every score.
    links: The curvature by pair of items; None where the graph is dense (see :func:`is_dense`).
    """
    if links is None:
        return 1.0 / _held(degree, precision)
    own, into_a, into_b = _messages(degree, precision, links)
    variances: FloatArray = 1.0 / (own - _heard(links, into_a, into_b, len(own)))
    return variances


def margin_variances(degree: FloatArray, precision: float, links: Links, dense: bool) -> FloatArray:
    """Approximate the variance of the difference of two linked scores as if the link between them were cut.

    degree, precision, links: As in :func:`score_variances`.
    dense: Whether the graph is dense: then feedback along links is neglected.
    Returns: One for each link.
    """
    a, b, link = links.first, links.second, np.maximum(links.curvature, 0.0)
    if dense:
        own = _held(degree, precision)
        left, right = own[a] - link, own[b] - link
    else:
        own, into_a, into_b = _messages(degree, precision, links)
        heard = _heard(links, into_a, into_b, len(own))
        left, right = own[a] - heard[a] + into_a - link, own[b] - heard[b] + into_b - link
    least = max(precision, 1e-300)
    cut: FloatArray = 1.0 / np.maximum(left, least) + 1.0 / np.maximum(right, least)
    return cut


def _held(degree: FloatArray, precision: float) -> FloatArray:
    own = np.maximum(degree, 0.0)
    return np.asarray(own + max(precision, 1e-6 * float(own.max())))


def _messages(degree: FloatArray, precision: float, links: Links) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the precision of each item given its neighbours, and the messages along each link."""
    n_items, own = len(degree), _held(degree, precision)
    a, b = links.first, links.second
    link = np.maximum(links.curvature, 0.0)
    # Sums change where a negative curvature was set to 0.
    own = np.maximum(own, np.bincount(a, link, n_items) + np.bincount(b, link, n_items) + precision)
    # Message of each item to the other.
    into_a, into_b = np.zeros(len(link)), np.zeros(len(link))
    for _ in range(_ROUNDS):
        heard = _heard(links, into_a, into_b, n_items)
        new_a = link**2 / (own[b] - heard[b] + into_b)
        new_b = link**2 / (own[a] - heard[a] + into_a)
        change = max(float(np.abs(new_a - into_a).max()), float(np.abs(new_b - into_b).max()))
        into_a, into_b = new_a, new_b
        if change <= _CLOSE * float(link.max()):
            break
    return own, into_a, into_b


def _heard(links: Links, into_a: FloatArray, into_b: FloatArray, n_items: int) -> FloatArray:
    return np.asarray(np.bincount(links.first, into_a, n_items) + np.bincount(links.second, into_b, n_items))
