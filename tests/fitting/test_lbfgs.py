from __future__ import annotations

import numpy as np
import pytest

from jamrank.fitting.lbfgs import Secants


def quadratic(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a curvature, a cautious guess of its inverse and the summit."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n))
    curvature = a @ a.T + 0.1 * np.eye(n)
    guess = np.linalg.inv(curvature + np.diag(rng.uniform(1, 5, n)))
    return curvature, guess, rng.standard_normal(n)


def test_without_any_the_step_is_the_plain_one():
    plain = np.array([1.0, -2.0])
    np.testing.assert_array_equal(Secants().lbfgs_direction(np.array([0.5, 0.5]), plain), plain)


@pytest.mark.parametrize("seed", range(5))
def test_along_the_last_step_the_curvature_is_as_it_was_found(seed):
    curvature, guess, _ = quadratic(seed, 6)
    step, slope = np.random.default_rng(seed).standard_normal((2, 6))
    fall = curvature @ step
    secants = (
        Secants().with_step(slope, curvature @ slope, guess @ curvature @ slope).with_step(step, fall, guess @ fall)
    )
    np.testing.assert_allclose(secants.lbfgs_direction(fall, guess @ fall), step, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_is_never_downhill(seed):
    curvature, guess, _ = quadratic(seed, 6)
    rng, secants = np.random.default_rng(seed), Secants()
    for step in rng.standard_normal((15, 6)):
        fall = curvature @ step
        secants = secants.with_step(step, fall, guess @ fall)
        slope = rng.standard_normal(6)
        assert slope @ secants.lbfgs_direction(slope, guess @ slope) > 0


@pytest.mark.parametrize("seed", range(5))
def test_the_summit_of_a_quadratic_is_reached_sooner_than_by_plain_steps(seed):
    curvature, guess, summit = quadratic(seed, 8)
    gone = {}
    for learns in (False, True):
        at, secants, gone[learns] = np.zeros(8), Secants(), 0
        while np.abs(at - summit).max() > 1e-6 and gone[learns] < 5000:
            slope = curvature @ (summit - at)
            step = secants.lbfgs_direction(slope, guess @ slope)
            at = at + step
            if learns:
                secants = secants.with_step(step, curvature @ step, guess @ curvature @ step)
            gone[learns] += 1
    assert gone[True] < 40
    assert gone[True] < gone[False] / 2


def test_a_step_along_which_the_slope_rises_is_not_kept():
    step = np.array([1.0, 0.0])
    assert Secants().with_step(step, -step, step) == Secants()
    assert Secants().with_step(np.zeros(2), np.zeros(2), np.zeros(2)) == Secants()


def test_the_oldest_is_forgotten():
    secants = Secants()
    for size in range(1, 30):
        step = np.array([float(size), 1.0])
        secants = secants.with_step(step, step, step)
    assert len(secants.kept) == 10
    assert secants.kept[0].step[0] == 20.0
