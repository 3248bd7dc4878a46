"""Jumps along the ridge of a posterior."""

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.inference.posterior_draws import Spread, sample
from jamrank.inference.ridge import Reflection, follow

ALONG = np.array([0.6, 0.8, 0.0])


def curved(x):
    """Return log density and slope: the scale is log-normal, and the place bends and widens with it."""
    scale, across, last = ALONG @ x, np.array([-0.8, 0.6, 0.0]) @ x, x[2]
    if scale <= 0:
        return -np.inf, np.zeros(3)
    log, spread = np.log(scale), 0.05 * scale
    first, second = (across - log**2) / spread, (last + np.exp(-log)) / spread
    value = -0.5 * (log**2 / 0.25 + first**2 + second**2) - 3 * log
    by_log = -log / 0.25 + first * 2 * log / spread + first**2 + second * np.exp(-log) / spread + second**2 - 3
    slope = ALONG * by_log / scale - np.array([-0.8, 0.6, 0.0]) * first / spread
    return value, slope - np.array([0.0, 0.0, second / spread])


def precision(x):
    scale = max(ALONG @ x, 1e-3)
    return np.eye(3) / (0.05 * scale) ** 2


def ridge():
    return follow(curved, precision, np.array([0.6, 0.8, -1.0]), ALONG)


def test_the_slope_is_that_of_the_density():
    x, step = np.array([0.7, 1.1, -0.6]), 1e-6
    ends = [(curved(x + step * e)[0] - curved(x - step * e)[0]) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(curved(x)[1], ends, rtol=1e-5)


def test_a_ridge_is_as_wide_as_its_scale():
    assert ridge().width == pytest.approx(0.5, abs=0.02)


def test_only_a_bent_ridge_has_a_bend():
    def straight(x):
        return -0.5 * float(x @ x) / 0.1, -x / 0.1

    found = follow(straight, lambda x: np.eye(3) / 0.1, np.array([0.6, 0.8, 0.0]), ALONG)
    assert found.bend == pytest.approx(0, abs=1e-3)
    assert ridge().bend > 5


def test_a_jump_keeps_the_density_and_is_its_own_way_back():
    found, x = ridge(), np.array([0.62, 0.83, -0.95])
    there, log_jacobian = found.jump(x, 1.5)
    assert ALONG @ there == pytest.approx(1.5 * (ALONG @ x))
    # The density of the scale times that of the place, which is no lower there.
    log = np.log(ALONG @ x), np.log(ALONG @ there)
    expected = -0.5 * (log[1] ** 2 - log[0] ** 2) / 0.25
    assert curved(there)[0] - curved(x)[0] + log_jacobian == pytest.approx(expected, abs=0.1)
    back, and_back = found.jump(there, 1 / 1.5)
    np.testing.assert_allclose(back, x, atol=1e-10)
    assert and_back == pytest.approx(-log_jacobian)


def test_the_jacobian_of_a_jump_is_that_of_finite_differences():
    found, x, step = ridge(), np.array([0.62, 0.83, -0.95]), 1e-6
    by = np.stack(
        [(found.jump(x + step * e, 1.3)[0] - found.jump(x - step * e, 1.3)[0]) / (2 * step) for e in np.eye(3)]
    )
    assert found.jump(x, 1.3)[1] == pytest.approx(np.log(abs(np.linalg.det(by))), abs=1e-5)


def test_there_is_no_jump_beyond_the_ridge():
    found = ridge()
    assert found.jump(np.array([0.6, 0.8, -1.0]), 1e3) is None
    assert found.jump(np.array([-0.6, -0.8, -1.0]), 1.0) is None
    assert follow(curved, precision, np.array([-0.6, -0.8, 0.0]), ALONG) is None
    assert follow(curved, precision, np.ones(3), np.zeros(3)) is None


def test_chains_with_jumps_draw_from_the_density():
    rng = np.random.default_rng(0)
    draws, _ = sample(curved, np.array([0.6, 0.8, -1.0]), Spread(0.05 * np.eye(3)), 4000, rng, jump=ridge().jump)
    log = np.log(draws @ ALONG)
    assert log.mean() == pytest.approx(0, abs=0.06)
    assert log.std() == pytest.approx(0.5, abs=0.05)
    place = (draws @ np.array([-0.8, 0.6, 0.0]) - log**2) / (0.05 * np.exp(log))
    assert place.std() == pytest.approx(1, abs=0.08)


def test_a_reflection_is_its_own_inverse():
    x = np.arange(3.0)
    for direction in (ALONG, np.array([1.0, 0.0, 0.0])):
        frame = Reflection.onto(direction)
        assert frame.turned(x)[0] == pytest.approx(direction @ x)
        np.testing.assert_allclose(frame.turned(frame.turned(x)), x, atol=1e-12)


def test_two_judges_are_covered_where_only_their_difference_is_known():
    # Chains without jumps stayed at one end: the flip of .05 had an interval from .10.
    rng, flips = np.random.default_rng(4), np.array([0.05, 0.15])
    scores, first = rng.normal(size=15), rng.integers(15, size=600)
    second, who = (first + rng.integers(1, 15, size=600)) % 15, rng.integers(2, size=600)
    truth = rng.random(600) < expit(scores[first] - scores[second])
    votes = jr.Comparisons.from_arrays(first, second, who, (truth ^ (rng.random(600) < flips[who])).astype(int))
    sampler = jr.CrowdBT(n_jobs=1).fit(votes).result_.annotators.inference.sampler
    short, long = (np.quantile(sampler.draw(n).params, [0.025, 0.975], axis=0) for n in (800, 6000))
    np.testing.assert_allclose(expit(short), expit(long), atol=0.03)
