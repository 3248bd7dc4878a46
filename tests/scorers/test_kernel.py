from __future__ import annotations

import numpy as np
import pytest

from jamrank.scorers import KernelMap, typical_distance


def drawn(n_items: int = 40, n_features: int = 3) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n_items, n_features))


def rbf(a: np.ndarray, b: np.ndarray, bandwidth: float) -> np.ndarray:
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / (2 * bandwidth**2))


def uncentred(mapping: KernelMap, items: np.ndarray) -> np.ndarray:
    return mapping(items) + mapping.centre


def test_with_every_item_a_landmark_the_kernel_is_exact():
    x = drawn()
    mapping = KernelMap.of(x, 0.3, most=40)
    phi = uncentred(mapping, x)
    assert len(mapping.landmarks) == 40
    np.testing.assert_allclose(phi @ phi.T, rbf(x, x, 0.3), atol=1e-8)


def test_with_few_landmarks_it_is_nystroms_approximation():
    x = drawn()
    mapping = KernelMap.of(x, 1.5, most=12)
    phi, across = uncentred(mapping, x), rbf(x, mapping.landmarks, 1.5)
    between = rbf(mapping.landmarks, mapping.landmarks, 1.5)
    np.testing.assert_allclose(phi @ phi.T, across @ np.linalg.solve(between, across.T), atol=1e-8)


def test_landmarks_are_no_more_than_the_kernel_needs():
    x = drawn(200, 1)
    mapping = KernelMap.of(x, 5.0)
    assert len(mapping.landmarks) < 10
    left = 1 - (uncentred(mapping, x) ** 2).sum(axis=1)
    assert 0 <= left.sum() <= 1e-3 * 200


def test_the_linear_kernel_spans_the_features():
    x = drawn() - drawn().mean(axis=0)
    mapping = KernelMap.of(x, kind="linear")
    assert len(mapping.landmarks) == 3
    np.testing.assert_allclose(mapping(x) @ mapping(x).T, x @ x.T, atol=1e-10)


def test_order_and_repetition_change_neither_landmarks_nor_map():
    x = np.round(drawn(), 1)
    order = np.random.default_rng(1).permutation(40)
    a, b = KernelMap.of(x, 1.0, most=15), KernelMap.of(x[order], 1.0, most=15)
    assert a.landmarks.tobytes() == b.landmarks.tobytes()
    np.testing.assert_allclose(a(x)[order], b(x[order]), atol=1e-12)
    np.testing.assert_allclose(a(x).mean(axis=0), 0.0, atol=1e-12)


def test_of_very_many_items_landmarks_come_from_a_sample(monkeypatch):
    x = drawn(300, 1)
    monkeypatch.setattr("jamrank.scorers.kernel._MOST_CANDIDATES", 50)
    mapping = KernelMap.of(x, 1.0)
    left = 1 - (uncentred(mapping, x) ** 2).sum(axis=1)
    assert left.max() < 0.05
    np.testing.assert_allclose(mapping(x).mean(axis=0), 0.0, atol=1e-12)


def test_items_that_are_all_the_same_do_not_break_it():
    mapping = KernelMap.of(np.zeros((5, 2)), 1.0)
    np.testing.assert_allclose(mapping(np.zeros((5, 2))), 0.0, atol=1e-12)
    assert typical_distance(np.zeros((5, 2))) == 1.0


def test_the_typical_distance_is_that_of_a_grid():
    assert typical_distance(np.arange(3.0)[:, None]) == pytest.approx(1.0)
