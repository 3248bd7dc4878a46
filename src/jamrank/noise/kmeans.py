"""K-means of difference vectors ``x_i - x_j``, exact, without forming them all.

A pair has no natural order, so ``x_i - x_j`` and ``x_j - x_i`` belong together: a centroid represents itself and its
negative.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, FloatArray, HashArray, Int32Array, IntArray

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
    """

    def __init__(
        self, first: Int32Array, second: Int32Array, matrix: FloatArray, most: int, threads: int | None = None
    ) -> None:
        self._first, self._second, self._matrix, self._threads = first, second, matrix, threads
        # The greedy seeds of fewer clusters are the first of those of more.
        self._seeds = _seeds(first, second, matrix, most)

    @property
    def most(self) -> int:
        """The largest number of clusters that there can be."""
        return len(self._seeds)

    def of(self, n_clusters: int, n_rounds: int = _MOST_ROUNDS) -> Clusters:
        """Cluster the pairs by Lloyd's algorithm; into fewer clusters if there are fewer distinct differences."""
        seeds = self._seeds[:n_clusters]
        return _in_order(*_lloyd(self._first, self._second, self._matrix, seeds, self._threads, n_rounds))


def cluster_pairs(
    first: Int32Array, second: Int32Array, matrix: FloatArray, n_clusters: int, threads: int | None = None
) -> Clusters:
    """Cluster the differences of the rows of ``matrix`` by Lloyd's algorithm.

    first, second: The distinct pairs; of very many, some are clustered.
    matrix, of shape (items, features): Standardised features.
    n_clusters: Number of clusters; fewer are returned if there are fewer distinct differences.
    """
    some = SampledPairs(matrix, threads).some(first, second)
    return PairClusters(*some, matrix, n_clusters, threads).of(n_clusters)


def refined(
    pairs: tuple[Int32Array, Int32Array], matrix: FloatArray, clusters: Clusters, threads: int | None
) -> Clusters:
    """Move the centroids of clusters that were found for fewer pairs."""
    return _in_order(*_lloyd(*pairs, matrix, clusters.centroids, threads))


class SampledPairs:
    """Some of many pairs, chosen by a hash of the features of both items: in any order, the same.

    matrix, of shape (items, features): Standardised features.
    """

    def __init__(self, matrix: FloatArray, threads: int | None = None) -> None:
        self._matrix, self._threads = matrix, threads or default_threads()

    @cached_property
    def _hashes(self) -> HashArray:
        """A hash of the features of each item."""
        rows = np.round(self._matrix, 9) + 0.0  # without negative zeros
        return np.array([zlib.crc32(row) for row in rows.view(np.uint8)], dtype=np.uint64)

    def chosen(self, first: Int32Array, second: Int32Array, share: float) -> BoolArray:
        """Return which pairs are among about a share of them."""
        kept = np.empty(len(first), np.bool_)
        kernels.thin(first, second, self._hashes, min(int(share * 2**32), 2**32), kept, self._threads)
        return kept

    def some(self, first: Int32Array, second: Int32Array, most: int = _MOST_PAIRS) -> tuple[Int32Array, Int32Array]:
        """Return the pairs or, where there are more, about so many of them."""
        if len(first) <= most:
            return first, second
        kept = np.flatnonzero(self.chosen(first, second, most / len(first)))
        return first[kept], second[kept]


def nearest_centroid(
    first: Int32Array, second: Int32Array, matrix: FloatArray, centroids: FloatArray, threads: int | None = None
) -> Int32Array:
    """Return the cluster of each pair."""
    if len(centroids) == 1:
        return np.zeros(len(first), dtype=np.int32)
    return _lloyd(first, second, matrix, centroids, threads, n_rounds=0)[1]


def _lloyd(
    first: Int32Array,
    second: Int32Array,
    matrix: FloatArray,
    centroids: FloatArray,
    threads: int | None,
    n_rounds: int = _MOST_ROUNDS,
) -> tuple[FloatArray, Int32Array]:
    """Alternate assignment of pairs and update of centroids, until hardly any pair moves."""
    cluster, moved = np.empty(len(first), dtype=np.int32), centroids.ravel().copy()
    few_moves, n_features = _FEW_MOVES * len(first), matrix.shape[1]
    where = first, second, np.ascontiguousarray(matrix).ravel()
    kernels.lloyd(*where, moved, cluster, n_features, n_rounds, few_moves, threads or default_threads())
    return moved.reshape(-1, n_features), cluster


def _seeds(first: Int32Array, second: Int32Array, matrix: FloatArray, n_clusters: int) -> FloatArray:
    """Choose initial centroids by value, not by position: the greedy build of k-medoids on an even sample."""
    sample = _even_sample(first, second, matrix)
    chosen = np.empty(n_clusters, dtype=np.int32)
    found = kernels.seeds(sample.ravel(), sample.shape[1], chosen)
    return sample[chosen[:found]]


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
    pairs = PairClusters(*SampledPairs(matrix, threads).some(first, second), matrix, most, threads)
    clusters = pairs.of(1)
    for n_clusters in range(2, pairs.most + 1):
        more = pairs.of(n_clusters)
        if more.n_clusters < n_clusters or closeness(more.centroids) < threshold:
            break
        clusters = more
    return clusters
