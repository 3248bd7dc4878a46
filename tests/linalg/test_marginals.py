from __future__ import annotations

import numpy as np
import pytest

from jamrank.engines import Links
from jamrank.linalg.marginals import is_dense, score_variances


def laplacian(first, second, curvature, n_items) -> np.ndarray:
    matrix = np.zeros((n_items, n_items))
    for i, j, c in zip(first, second, curvature, strict=True):
        matrix[[i, j], [i, j]] += c
        matrix[[i, j], [j, i]] -= c
    return matrix


def starts(first, second) -> np.ndarray:
    """Return where each distinct pair of items begins."""
    return np.flatnonzero((np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0))


def variances(first, second, curvature, precision, n_items) -> np.ndarray:
    degree = np.bincount(first, curvature, n_items) + np.bincount(second, curvature, n_items)
    begin = starts(first, second)
    if is_dense(len(begin), n_items):
        return score_variances(degree, precision, None)
    return score_variances(degree, precision, Links(first[begin], second[begin], np.add.reduceat(curvature, begin)))


def exact(first, second, curvature, precision, n_items) -> np.ndarray:
    return np.diag(np.linalg.inv(laplacian(first, second, curvature, n_items) + precision * np.eye(n_items)))


def around_the_common_level(first, second, curvature, precision, n_items) -> np.ndarray:
    """Return the exact variances less that of the common level, which comparisons say nothing about."""
    return exact(first, second, curvature, precision, n_items) - 1 / (n_items * precision)


def edges(pairs, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pairs = np.array(sorted((min(p), max(p)) for p in pairs), dtype=np.int32)
    return pairs[:, 0].copy(), pairs[:, 1].copy(), rng.uniform(0.5, 3, len(pairs)).astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_variances_are_exact_on_a_tree(seed):
    rng = np.random.default_rng(seed)
    rows = edges([(int(rng.integers(0, k)), k) for k in range(1, 40)], rng)
    np.testing.assert_allclose(variances(*rows, 1.0, 40), exact(*rows, 1.0, 40), rtol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_variances_are_close_on_a_sparse_random_graph(seed):
    rng = np.random.default_rng(seed)
    pairs = {tuple(sorted(rng.choice(300, 2, replace=False).tolist())) for _ in range(700)}
    rows = edges(pairs, rng)
    np.testing.assert_allclose(variances(*rows, 0.3, 300), around_the_common_level(*rows, 0.3, 300), rtol=0.12)


def test_variances_are_close_on_a_dense_graph():
    rng = np.random.default_rng(0)
    rows = edges(list(zip(*np.triu_indices(60, 1), strict=True)), rng)
    np.testing.assert_allclose(variances(*rows, 0.5, 60), around_the_common_level(*rows, 0.5, 60), rtol=0.08)


def test_rows_of_one_pair_count_together():
    first, second = np.array([0, 0, 1], dtype=np.int32), np.array([1, 1, 2], dtype=np.int32)
    single = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    split = variances(first, second, np.array([0.5, 1.5, 1.0], dtype=np.float32), 1.0, 3)
    np.testing.assert_allclose(split, variances(*single, np.array([2.0, 1.0], dtype=np.float32), 1.0, 3))


def test_an_item_without_rows_has_the_variance_of_the_prior():
    pair = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32), np.ones(1, dtype=np.float32)
    assert variances(*pair, 0.25, 3)[2] == pytest.approx(4.0)


def test_more_votes_never_make_a_score_less_sure():
    rng = np.random.default_rng(1)
    first, second, curvature = edges([(int(rng.integers(0, k)), k) for k in range(1, 20)], rng)
    few, many = (variances(first, second, c, 1.0, 20) for c in (curvature, 2 * curvature))
    assert (many < few).all()


def test_variances_are_positive_without_a_prior():
    rng = np.random.default_rng(2)
    rows = edges([(k, k + 1) for k in range(50)], rng)
    found = variances(*rows, 0.0, 51)
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_the_same_rows_give_the_same_bits():
    rng = np.random.default_rng(3)
    rows = edges({tuple(sorted(rng.choice(50, 2, replace=False).tolist())) for _ in range(150)}, rng)
    assert variances(*rows, 1.0, 50).tobytes() == variances(*rows, 1.0, 50).tobytes()
