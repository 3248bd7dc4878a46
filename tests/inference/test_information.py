from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.inference import information
from jamrank.inference.information import annotator_covariance, information_on_flips, interval, joint_covariance

VOTES = jr.simulate(8, 3, 1200, noise="two-coin", truth="vote", random_state=0).votes
MODEL = jr.CrowdBT(noise="two-coin").fit(VOTES)


def test_the_covariance_is_the_inverse_of_the_second_derivative():
    problem, point = MODEL.result_.fit.fitted.problem, MODEL.result_.fit.fitted.point
    at, step = np.concatenate([point.theta, point.params]), 1e-3

    def objective(where: np.ndarray) -> float:
        return problem.evaluate(where[:8], where[8:]).objective

    bends = np.empty((14, 14))
    for i in range(14):
        for j in range(14):
            a, b = step * (np.arange(14) == i), step * (np.arange(14) == j)
            corners = objective(at + a + b) - objective(at + a - b) - objective(at - a + b) + objective(at - a - b)
            bends[i, j] = corners / (4 * step**2)
    expected = np.linalg.inv(-bends)[8:, 8:]
    found = joint_covariance(problem, point)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    blocks = annotator_covariance(problem, point, 3)
    assert blocks[0, 1, 2] == pytest.approx(found[2, 5])


def test_with_scores_taken_as_known_variances_are_smaller_but_similar(monkeypatch):
    problem, point = MODEL.result_.fit.fitted.problem, MODEL.result_.fit.fitted.point
    joint = annotator_covariance(problem, point, 3)
    monkeypatch.setattr(information, "_MOST_PARAMETERS", 3)
    assert joint_covariance(problem, point) is None
    given = annotator_covariance(problem, point, 3)
    for kind in (0, 1):
        ratio = given[kind, kind] / joint[kind, kind]
        assert (ratio < 1.01).all() and (ratio > 0.4).all()


def test_information_on_the_mean_flip_is_that_of_the_delta_method():
    params, covariance = np.array([-1.0, 0.5]), np.array([[[0.04], [0.01]], [[0.01], [0.09]]])
    draws = np.random.default_rng(0).multivariate_normal(params, covariance[..., 0] * 1e-4, 200_000)
    flips = (1 / (1 + np.exp(draws[:, 1] - draws[:, 0])) + 1 / (1 + np.exp(-draws[:, 0] - draws[:, 1]))) / 2
    spread = np.log(flips / (1 - flips)).var() * 1e4
    assert information_on_flips(params, covariance)[0] == pytest.approx(1 / spread, rel=0.02)


def test_of_what_nothing_is_known_the_interval_is_endless():
    low, high = interval(np.array([0.0, 1.0]), np.array([1.0, -1.0])).T
    assert high[0] == pytest.approx(1.96, abs=1e-3) and (low[1], high[1]) == (-np.inf, np.inf)
