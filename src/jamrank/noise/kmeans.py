"""K-means of difference vectors ``x_i - x_j``, exact, without forming them all.

A pair has no natural order, so ``x_i - x_j`` and ``x_j - x_i`` belong together: a centroid represents itself and its
negative.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

_SAMPLE = 512
# Centroids of more pairs are those of about so many, which changes them by less than a per cent.
_MOST_PAIRS = 1 << 16
_MOST_ROUNDS = 50
# Pairs that numpy handles at a time, so that its temporary arrays stay in cache.
_BLOCK = 1 << 13
_FEW_MOVES = 1e-3


@dataclass(frozen=True)
class Clusters:
    """Centroids, and the cluster of each pair."""

    centroids: FloatArray
    cluster: Int32Array

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centroids)


class PairClusters:
    """Clusters of the differences of pairs for any number of clusters: all are found from the same seeds.

    first, second: The distinct pairs.
    matrix, of shape (items, features): Standardised features.
    most: The largest number of clusters.
    n_pairs: Of more pairs, about so many are clustered.
    """

    def __init__(
        self,
        first: Int32Array,
        second: Int32Array,
        matrix: FloatArray,
        most: int,
        threads: int | None = None,
        n_pairs: int = _MOST_PAIRS,
    ) -> None:
        if len(first) > n_pairs:
            kept = thinned(first, second, matrix, n_pairs / len(first))
            first, second = first[kept], second[kept]
        self._first, self._second, self._matrix, self._threads = first, second, matrix, threads
        # The greedy seeds of fewer clusters are the first of those of more.
        self._seeds = _seeds(first, second, matrix, most)

    @property
    def most(self) -> int:
        """The largest number of clusters that there can be."""
        return len(self._seeds)

    def of(self, n_clusters: int, n_rounds: int = _MOST_ROUNDS) -> Clusters:
        """Cluster the pairs by Lloyd's algorithm; into fewer clusters if there are fewer distinct differences."""
        return _lloyd(self._first, self._second, self._matrix, self._seeds[:n_clusters], self._threads, n_rounds)


def cluster_pairs(
    first: Int32Array, second: Int32Array, matrix: FloatArray, n_clusters: int, threads: int | None = None
) -> Clusters:
    """Cluster the differences of the rows of ``matrix`` by Lloyd's algorithm.

    first, second: The distinct pairs.
    matrix, of shape (items, features): Standardised features.
    n_clusters: Number of clusters; fewer are returned if there are fewer distinct differences.
    """
    return PairClusters(first, second, matrix, n_clusters, threads).of(n_clusters)


def thinned(first: Int32Array, second: Int32Array, matrix: FloatArray, share: float) -> BoolArray:
    """Return about a share of the pairs, chosen by a hash of their features: in any order, the same."""
    if share >= 1:
        return np.ones(len(first), np.bool_)
    rows = np.round(matrix, 9) + 0.0  # without negative zeros
    of_item = np.array([zlib.crc32(row.tobytes()) for row in rows], dtype=np.uint64)
    kept, least = np.empty(len(first), np.bool_), np.uint64(share * 2**32)
    for begin in range(0, len(first), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        one, other = of_item[first[block]], of_item[second[block]]
        mixed = ((one + other) * np.uint64(0x9E3779B97F4A7C15)) ^ (one * other)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        kept[block] = (mixed >> np.uint64(32)) < least
    return kept


def _lloyd(
    first: Int32Array,
    second: Int32Array,
    matrix: FloatArray,
    centroids: FloatArray,
    threads: int | None,
    n_rounds: int,
) -> Clusters:
    """Alternate assignment of pairs and update of centroids, until hardly any pair moves."""
    previous = np.full(len(first), -1, dtype=np.int32)
    for _ in range(n_rounds):
        cluster, centroids = _round(first, second, matrix, centroids, threads)
        if np.count_nonzero(cluster != previous) <= _FEW_MOVES * len(first):
            break
        previous = cluster
    return _in_order(centroids, cluster)


def _round(
    first: Int32Array, second: Int32Array, matrix: FloatArray, centroids: FloatArray, threads: int | None
) -> tuple[Int32Array, FloatArray]:
    """Assign every pair and move every centroid to the mean of its pairs."""
    n_clusters = len(centroids)
    projections = np.einsum("if,cf->ic", matrix, centroids)
    cluster = np.empty(len(first), dtype=np.int32)
    counts, sizes = np.empty(projections.size), np.empty(n_clusters)
    norms = (centroids**2).sum(axis=1)
    kernels.assign(first, second, projections.ravel(), norms, cluster, counts, sizes, threads or default_threads())
    sums = np.einsum("ic,if->cf", counts.reshape(-1, n_clusters), matrix)
    moved = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1.0)[:, None], centroids)
    # Rounded, so that pairs halfway between two centroids do not depend on the order in which items were added.
    return cluster, np.asarray(np.round(moved, 12), dtype=np.float64)


def nearest_centroid(
    first: Int32Array, second: Int32Array, matrix: FloatArray, centroids: FloatArray, threads: int | None = None
) -> Int32Array:
    """Return the cluster of each pair."""
    return _round(first, second, matrix, centroids, threads)[0]


def _seeds(first: Int32Array, second: Int32Array, matrix: FloatArray, n_clusters: int) -> FloatArray:
    """Choose initial centroids by value, not by position: the greedy build of k-medoids on an even sample."""
    sample = _even_sample(first, second, matrix)
    squares = (sample**2).sum(axis=1)
    along = np.abs(np.einsum("sf,tf->st", sample, sample))
    distance = np.maximum(squares[:, None] + squares[None, :] - 2 * along, 0.0)
    nearest, room, chosen = squares.copy(), np.empty_like(distance), []
    for _ in range(min(n_clusters, len(sample))):
        cost = np.minimum(distance, nearest, out=room).sum(axis=1)  # distances are symmetric
        # Rounded, so that ties between candidates are broken only by their position in the sorted sample.
        best = int(np.argmin(np.round(cost / max(float(squares.sum()), 1e-300), 12)))
        chosen.append(best)
        nearest = np.minimum(nearest, distance[:, best])
        if nearest.max() <= 1e-12 * squares.max():
            break
    return sample[chosen]


def _even_sample(first: Int32Array, second: Int32Array, matrix: FloatArray) -> FloatArray:
    """Return differences of pairs at even steps of their length, each with a canonical sign."""
    length = np.empty(len(first))
    for begin in range(0, len(first), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        length[rows] = ((matrix[first[rows]] - matrix[second[rows]]) ** 2).sum(axis=1)
    order = np.argsort(length, kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, _SAMPLE).round().astype(np.int64))
    picks = _break_ties(order, length[order], ranks, lambda rows: _turned(matrix[first[rows]] - matrix[second[rows]]))
    return _turned(matrix[first[picks]] - matrix[second[picks]])


def _break_ties(
    order: IntArray,
    length: FloatArray,
    ranks: IntArray,
    vectors: Callable[[IntArray], FloatArray],
) -> IntArray:
    """Return the pairs at the given ranks; those of equal length are ranked by their differences."""
    begins, ends = np.searchsorted(length, length[ranks], "left"), np.searchsorted(length, length[ranks], "right")
    picks = order[ranks].copy()
    for begin in np.unique(begins[ends - begins > 1]):
        tied = begins == begin
        group = order[begin : ends[tied][0]]
        group = group[np.lexsort(vectors(group).T[::-1])]
        picks[tied] = group[ranks[tied] - begin]
    return picks


def _turned(vectors: FloatArray) -> FloatArray:
    """Return each vector or its negative, whichever has a positive largest entry."""
    largest = np.abs(vectors).argmax(axis=1)
    sign = np.where(vectors[np.arange(len(vectors)), largest] < 0, -1.0, 1.0)
    return vectors * sign[:, None]


def _in_order(centroids: FloatArray, cluster: Int32Array) -> Clusters:
    """Order the clusters by the length of their centroids, shortest first, and drop empty ones."""
    used = np.flatnonzero(np.bincount(cluster, minlength=len(centroids)))
    order = used[np.argsort((centroids[used] ** 2).sum(axis=1), kind="stable")]
    rank = np.full(len(centroids), -1, dtype=np.int32)
    rank[order] = np.arange(len(order))
    return Clusters(_turned(centroids[order]), rank[cluster])


def closeness(centroids: FloatArray) -> float:
    """Return the distance of the two nearest centroids, relative to the median distance of all."""
    minus = ((centroids[:, None] - centroids[None]) ** 2).sum(axis=2)
    plus = ((centroids[:, None] + centroids[None]) ** 2).sum(axis=2)
    distance = np.sqrt(np.minimum(minus, plus))[np.triu_indices(len(centroids), 1)]
    return float(distance.min() / np.median(distance)) if len(distance) else 1.0


def choose_clusters(
    first: Int32Array,
    second: Int32Array,
    matrix: FloatArray,
    threshold: float,
    most: int,
    threads: int | None = None,
) -> Clusters:
    """Add clusters one at a time until two centroids come too close, as the paper does.

    threshold: Two centroids are too close when their distance is below this fraction of the median distance.
    most: Largest number of clusters tried.
    """
    pairs = PairClusters(first, second, matrix, most, threads)
    clusters = pairs.of(1)
    for n_clusters in range(2, pairs.most + 1):
        more = pairs.of(n_clusters)
        if more.n_clusters < n_clusters or closeness(more.centroids) < threshold:
            break
        clusters = more
    return clusters
