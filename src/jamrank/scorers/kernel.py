"""Nyström features: an approximate feature map of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jamrank.typing import FloatArray, IntArray

_MOST_LANDMARKS = 200
# Landmarks are added until this share of the kernel's trace is left.
_ENOUGH = 1e-3
# A pivot below this fraction of the largest is rounding.
_LEAST_PIVOT = 1e-10
_SAMPLE = 512
# Landmarks are chosen among at most this many items, at even steps in the order of their values.
_MOST_CANDIDATES = 10_000


@dataclass(frozen=True)
class KernelMap:
    """A map of standardised features whose scalar product is the kernel.

    It is exact at the landmarks, a selection of the items, and approximate elsewhere (Nyström's approximation).

    Attributes
    ----------
    kind : {"rbf", "linear"}
        ``rbf``: ``exp(-|x - y|² / (2 bandwidth²))``; ``linear``: ``x · y``, for which the map is a rotation.
    bandwidth : float
        Length scale of the kernel.
    landmarks : ndarray of shape (landmarks, features)
    root : ndarray of shape (landmarks, landmarks)
        Cholesky factor of the kernel between landmarks.
    centre : ndarray of shape (landmarks,)
        Mean of the mapped items of the fit, which is subtracted.
    """

    kind: str
    bandwidth: float
    landmarks: FloatArray
    root: FloatArray
    centre: FloatArray

    @classmethod
    def of(
        cls, standardised: FloatArray, bandwidth: float = 1.0, kind: str = "rbf", most: int = _MOST_LANDMARKS
    ) -> KernelMap:
        """Choose landmarks among items greedily, where the approximation is worst, until the error is small.

        This is the pivoted Cholesky factorisation of the kernel matrix, of which only the columns of pivots are
        computed.
        """
        # Items in the order of their values, each value once, so that position and name do not matter.
        values, counts = np.unique(standardised, axis=0, return_counts=True)
        candidates = values[_evenly(len(values), _MOST_CANDIDATES)]
        chosen, root = _pivoted_cholesky(candidates, bandwidth, kind, most)
        plain = cls(kind, float(bandwidth), candidates[chosen], root, np.zeros(len(chosen)))
        centre = np.asarray((plain(values) * counts[:, None]).sum(axis=0) / counts.sum())
        return replace(plain, centre=centre)

    def __call__(self, standardised: FloatArray) -> FloatArray:
        """Return the mapped features of items, seen or not, one column per landmark."""
        mapped = _kernel(self.landmarks, standardised, self.bandwidth, self.kind)
        # Forward substitution by einsum: BLAS may add in another order with another number of threads.
        for row, factor in enumerate(self.root):
            known = np.einsum("ci,c->i", mapped[:row], factor[:row])
            mapped[row] = (mapped[row] - known) / factor[row]
        return np.ascontiguousarray(mapped.T - self.centre)


def _pivoted_cholesky(values: FloatArray, bandwidth: float, kind: str, most: int) -> tuple[list[int], FloatArray]:
    """Return which of the items are pivots, in order, and the factor of the kernel between them."""
    squares = (values**2).sum(axis=1)
    left = squares.copy() if kind == "linear" else np.ones(len(values))
    least, enough = _LEAST_PIVOT * float(left.max()), 0.0 if kind == "linear" else _ENOUGH * len(values)
    columns = np.empty((min(most, len(values)), len(values)))
    # At first all pivots of a smooth kernel are equal: the item nearest to the mean comes first.
    pivot = int(np.argmax(left) if kind == "linear" else np.argmin(squares))
    chosen: list[int] = []
    while len(chosen) < len(columns):
        row = len(chosen)
        column = _kernel(values, values[pivot : pivot + 1], bandwidth, kind)[:, 0]
        known = np.einsum("ci,c->i", columns[:row], columns[:row, pivot])
        columns[row] = (column - known) / np.sqrt(left[pivot])
        left = np.maximum(left - columns[row] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
        pivot = int(np.argmax(left))
        if left[pivot] <= least or float(left.sum()) <= enough:
            break
    return chosen, np.tril(columns[: len(chosen), chosen].T)


def typical_distance(standardised: FloatArray) -> float:
    """Return the median distance between items, of a sample at even steps in the order of their values."""
    values = np.unique(standardised, axis=0)
    sample = values[_evenly(len(values), _SAMPLE)]
    squares = _squared_distances(sample, sample)[np.triu_indices(len(sample), 1)]
    return float(np.sqrt(np.median(squares))) if len(squares) else 1.0


def _evenly(length: int, most: int) -> IntArray:
    """Return places at even steps, no more than wanted."""
    return np.unique(np.linspace(0, length - 1, min(most, length)).round().astype(np.int64))


def _kernel(items: FloatArray, landmarks: FloatArray, bandwidth: float, kind: str) -> FloatArray:
    if kind == "linear":
        return np.asarray(np.einsum("if,mf->im", items, landmarks))
    return np.asarray(np.exp(_squared_distances(items, landmarks) / (-2.0 * bandwidth**2)))


def _squared_distances(items: FloatArray, landmarks: FloatArray) -> FloatArray:
    """Return squared distances, one feature at a time: without BLAS, and exactly 0 for equal items."""
    total = np.zeros((len(items), len(landmarks)))
    for f in range(items.shape[1]):
        total += (items[:, f, None] - landmarks[None, :, f]) ** 2
    return total
