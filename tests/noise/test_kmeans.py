from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.noise.kmeans import _seeds, choose_clusters, closeness, cluster_pairs, nearest_centroid


def all_pairs(n_items: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(n_items, 1)
    return first.astype(np.int32), second.astype(np.int32)


def partition(cluster: np.ndarray) -> list[int]:
    """Number the clusters by first appearance, so that equal partitions are equal lists."""
    seen: dict[int, int] = {}
    return [seen.setdefault(int(c), len(seen)) for c in cluster]


def lloyd(differences: np.ndarray, centroids: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Lloyd's algorithm with centroids up to sign, spelled out; also the objective after each assignment."""
    previous, objectives = None, []
    while True:
        signed = np.stack([differences, -differences])
        distance = ((signed[:, :, None] - centroids) ** 2).sum(axis=3)
        cluster = distance.min(axis=0).argmin(axis=1)
        rows = np.arange(len(differences))
        turned = np.where(distance[0, rows, cluster] <= distance[1, rows, cluster], 1.0, -1.0)
        objectives.append(float(distance.min(axis=0).min(axis=1).sum()))
        mine = [cluster == c for c in range(len(centroids))]
        centroids = np.stack(
            [
                (differences * turned[:, None])[m].mean(axis=0) if m.any() else old
                for m, old in zip(mine, centroids, strict=True)
            ]
        )
        if previous is not None and (previous == cluster).all():
            return cluster, centroids, objectives
        previous = cluster


def objective(differences: np.ndarray, centroids: np.ndarray) -> float:
    signed = np.stack([differences, -differences])
    return float(((signed[:, :, None] - centroids) ** 2).sum(axis=3).min(axis=(0, 2)).sum())


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_clusters_equal_lloyds_algorithm_on_the_differences_themselves(seed, n_clusters):
    matrix = np.random.default_rng(seed).standard_normal((25, 3))
    first, second = all_pairs(25)
    found = cluster_pairs(first, second, matrix, n_clusters)
    differences = matrix[first] - matrix[second]
    cluster, centroids, objectives = lloyd(differences, _seeds(first, second, matrix, n_clusters))
    assert partition(found.cluster) == partition(cluster)
    assert objective(differences, found.centroids) == pytest.approx(objective(differences, centroids), rel=1e-10)
    assert objective(differences, found.centroids) <= objectives[0]


def test_each_pair_is_in_its_nearest_cluster_and_each_centroid_the_mean_of_its_own():
    matrix = np.random.default_rng(1).standard_normal((30, 2))
    first, second = all_pairs(30)
    found = cluster_pairs(first, second, matrix, 4)
    differences = matrix[first] - matrix[second]
    for c, centroid in enumerate(found.centroids):
        mine = differences[found.cluster == c]
        turned = mine * np.where(mine @ centroid >= 0, 1, -1)[:, None]
        np.testing.assert_allclose(turned.mean(axis=0), centroid, atol=1e-10)
    np.testing.assert_array_equal(nearest_centroid(first, second, matrix, found.centroids), found.cluster)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_turning_pairs_around_changes_no_cluster(seed, n_clusters):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((12, 3))
    first, second = all_pairs(12)
    turn = rng.random(len(first)) < 0.5
    a = cluster_pairs(first, second, matrix, n_clusters)
    b = cluster_pairs(np.where(turn, second, first), np.where(turn, first, second), matrix, n_clusters)
    np.testing.assert_array_equal(a.cluster, b.cluster)
    np.testing.assert_allclose(a.centroids, b.centroids, atol=1e-12)


def renamed(first, second, matrix, rng):
    """Rename the items and put the pairs in the order of the new names; also where each old pair went."""
    name = rng.permutation(len(matrix))
    other = np.empty_like(matrix)
    other[name] = matrix
    a, b = name[first], name[second]
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((high, low))
    return low[order].astype(np.int32), high[order].astype(np.int32), other, np.argsort(order)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_renaming_items_changes_no_cluster(seed, n_clusters):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((12, 3))
    first, second = all_pairs(12)
    a = cluster_pairs(first, second, matrix, n_clusters)
    *new, went = renamed(first, second, matrix, rng)
    b = cluster_pairs(*new, n_clusters)
    np.testing.assert_array_equal(a.cluster, b.cluster[went])
    np.testing.assert_allclose(a.centroids, b.centroids, atol=1e-10)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_renaming_items_with_whole_numbers_as_features_changes_no_cluster(seed, n_clusters):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, (9, 3)).astype(np.float64)
    first, second = all_pairs(9)
    a = cluster_pairs(first, second, matrix, n_clusters)
    *new, went = renamed(first, second, matrix, rng)
    b = cluster_pairs(*new, n_clusters)
    assert partition(a.cluster) == partition(b.cluster[went])


def test_turning_a_pair_around_whose_difference_is_square_to_the_centroid_changes_nothing():
    matrix = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    first, second = np.array([0, 0, 1, 0], dtype=np.int32), np.array([1, 2, 2, 3], dtype=np.int32)
    turned = np.array([0, 0, 1, 3], dtype=np.int32), np.array([1, 2, 2, 0], dtype=np.int32)
    a, b = cluster_pairs(first, second, matrix, 1), cluster_pairs(*turned, matrix, 1)
    np.testing.assert_allclose(a.centroids, b.centroids)


def test_planted_clusters_are_found():
    rng = np.random.default_rng(2)
    centres = np.array([[6.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 14.0]])
    planted = rng.integers(0, 3, 600)
    base = rng.standard_normal((600, 3)) * 50
    sign = rng.choice([-1.0, 1.0], (600, 1))
    matrix = np.concatenate([base, base + sign * centres[planted] + 0.3 * rng.standard_normal((600, 3))])
    first = np.arange(600, dtype=np.int32)
    found = cluster_pairs(first, first + np.int32(600), matrix, 3)
    assert found.cluster.tolist() == planted.tolist()
    np.testing.assert_allclose(np.abs(found.centroids), centres, atol=0.1)


def test_clusters_are_numbered_by_the_length_of_their_centroids():
    matrix = np.random.default_rng(4).standard_normal((40, 3))
    centroids = cluster_pairs(*all_pairs(40), matrix, 6).centroids
    lengths = (centroids**2).sum(axis=1)
    assert (np.diff(lengths) > 0).all()


def test_fewer_distinct_differences_than_clusters_give_fewer_clusters():
    matrix = np.array([[0.0], [1.0], [3.0]])
    found = cluster_pairs(*all_pairs(3), matrix, 8)
    assert found.n_clusters == 3
    assert sorted(found.cluster.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(found.centroids.ravel(), [1, 2, 3])


def test_differences_of_equal_length_may_be_told_apart():
    matrix = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    first, second = np.array([0, 0], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    assert cluster_pairs(first, second, matrix, 2).cluster.tolist() in ([0, 1], [1, 0])


def test_items_that_do_not_differ_are_one_cluster():
    found = cluster_pairs(*all_pairs(4), np.ones((4, 2)), 3)
    assert found.n_clusters == 1
    assert found.cluster.tolist() == [0] * 6


def test_results_do_not_depend_on_threads():
    matrix = np.random.default_rng(0).standard_normal((300, 4))
    first, second = all_pairs(300)
    alone, together = (cluster_pairs(first, second, matrix, 5, threads) for threads in (1, 4))
    assert alone.centroids.tobytes() == together.centroids.tobytes()
    assert alone.cluster.tobytes() == together.cluster.tobytes()


def test_closeness_takes_opposite_centroids_for_the_same():
    assert closeness(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 5.0]])) == 0.0
    assert closeness(np.array([[1.0, 0.0]])) == 1.0


def test_clusters_are_added_until_two_come_too_close():
    rng = np.random.default_rng(3)
    planted = np.repeat([[4.0, 0.0, 0.0], [0.0, 7.0, 0.0], [0.0, 0.0, 11.0]], 60, axis=0)
    base = rng.standard_normal((180, 3)) * 40
    matrix = np.concatenate([base, base + planted + 0.2 * rng.standard_normal((180, 3))])
    first = np.arange(180, dtype=np.int32)
    found = choose_clusters(first, first + np.int32(180), matrix, threshold=0.5, most=8)
    assert found.n_clusters == 3
    assert choose_clusters(first, first + np.int32(180), matrix, threshold=0.5, most=2).n_clusters == 2
