"""Clusters of differences of items, and the losses of votes with flips by cluster."""

from __future__ import annotations

import numpy as np

from jamrank.typing import BoolArray, FloatArray, HashArray, Int32Array, IntArray

# The least chance of a vote.
_LEAST = 1e-9
# Pairs that are handled at a time, so that temporary arrays stay in cache.
_BLOCK = 1 << 13


def lloyd(
    first: Int32Array,
    second: Int32Array,
    matrix: FloatArray,
    centroids: FloatArray,
    cluster: Int32Array,
    features: int,
    rounds: int,
    few_moves: float,
    threads: int,
) -> None:
    """Alternate assignment of the differences ``x_i - x_j`` and update of centroids, until few change their cluster.

    matrix, of shape (items, features), and centroids, of shape (clusters, features): Flattened; the centroids change.
    rounds: The most; with 0 of them, pairs are assigned and the centroids stay.
    few_moves: Number of pairs.
    """
    table, places = matrix.reshape(-1, features), centroids.reshape(-1, features)
    if rounds == 0:
        cluster[:] = _nearest(first, second, table, places)[0]
    previous = np.full(len(cluster), -1)
    for _ in range(rounds):
        cluster[:], sign = _nearest(first, second, table, places)
        counts = np.bincount(first * len(places) + cluster, sign, len(table) * len(places))
        counts -= np.bincount(second * len(places) + cluster, sign, len(counts))
        pairs = np.bincount(cluster, minlength=len(places))[:, None]
        sums = np.einsum("ic,if->cf", counts.reshape(-1, len(places)), table)
        # Rounded, so that pairs halfway between two centroids do not depend on the order in which items were added.
        places[:] = np.round(np.where(pairs > 0, sums / np.maximum(pairs, 1), places), 12)
        if np.count_nonzero(cluster != previous) <= few_moves:
            break
        previous = cluster.copy()


def _nearest(
    first: Int32Array, second: Int32Array, matrix: FloatArray, centroids: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the nearest centroid of each difference, up to sign, and that sign."""
    projections = np.einsum("if,cf->ic", matrix, centroids)
    norms = (centroids**2).sum(axis=1)
    nearest, sign = np.empty(len(first), np.int64), np.empty(len(first))
    for begin in range(0, len(first), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        along = projections[first[block]] - projections[second[block]]
        nearest[block] = (norms - 2 * np.abs(along)).argmin(axis=1)
        # A difference orthogonal to its centroid has no sign: it does not move the centroid.
        sign[block] = np.sign(along[np.arange(len(along)), nearest[block]])
    return nearest, sign


def seeds(sample: FloatArray, features: int, chosen: Int32Array) -> int:
    """Choose greedily the differences from which all are nearest, up to sign, and return how many there are.

    sample, of shape (differences, features): Flattened.
    chosen: As many as are wanted; there are fewer if all differences equal a chosen one.
    """
    table = sample.reshape(-1, features)
    squares = (table**2).sum(axis=1)
    along = np.abs(np.einsum("sf,tf->st", table, table))
    distance = np.maximum(squares[:, None] + squares[None, :] - 2 * along, 0.0)
    nearest, found = squares.copy(), 0
    for found in range(1, min(len(chosen), len(table)) + 1):
        cost = np.minimum(distance, nearest).sum(axis=1)  # distances are symmetric
        # Rounded, so that ties between candidates are broken only by their position in the sorted sample.
        best = int(np.argmin(np.round(cost / max(float(squares.sum()), 1e-300), 12)))
        chosen[found - 1] = best
        nearest = np.minimum(nearest, distance[:, best])
        if nearest.max() <= 1e-12 * squares.max():
            break
    return found


def thin(
    first: Int32Array, second: Int32Array, of_item: HashArray, least: int, kept: BoolArray, threads: int
) -> None:
    """Choose the pairs whose hash, of those of both items, is less than a number of 32 bits."""
    for begin in range(0, len(first), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        one, other = of_item[first[block]], of_item[second[block]]
        mixed = ((one + other) * np.uint64(0x9E3779B97F4A7C15)) ^ (one * other)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        kept[block] = (mixed >> np.uint64(32)) < np.uint64(least)


def cell_errors(
    pair: IntArray,
    annotator: Int32Array,
    weight: FloatArray,
    wrong: FloatArray,
    cluster: Int32Array,
    clusters: int,
    cell: Int32Array,
    errors: FloatArray,
    votes: FloatArray,
) -> None:
    """Find the cell of each vote, of its annotator and the cluster of its pair, and add up errors and votes there.

    wrong: P(the vote is wrong).
    """
    cell[:] = annotator * clusters + cluster[pair]
    errors[:] = np.bincount(cell, weight * wrong, len(errors))
    votes[:] = np.bincount(cell, weight, len(votes))


def cell_losses(
    cell: Int32Array,
    weight: FloatArray,
    wrong: FloatArray,
    right: FloatArray,
    errors: FloatArray,
    votes: FloatArray,
    loss: FloatArray,
    threads: int,
) -> None:
    """Compute the loss of each vote, in nats, from the errors and the votes in its cell, less its own.

    right: P(the vote is right), judged by the other votes.
    """
    rate = (errors[cell] - weight * wrong) / (votes[cell] - weight)
    loss[:] = -np.log(np.clip(right * (1 - rate) + (1 - right) * rate, _LEAST, 1.0))
