"""The prior of scores that features explain in part."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal

import jamrank as jr
from jamrank.inference.feature_prior import FeaturePrior


def _drawn(n_items: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_items, 2)), rng.standard_normal(n_items)


def test_with_given_variances_it_is_a_normal():
    matrix, scores = _drawn()
    prior = FeaturePrior(matrix, 0.7, 0.4, (1.0, 1.0))
    other = np.random.default_rng(1).standard_normal(6)
    covariance = 0.7 * matrix @ matrix.T / ((matrix**2).sum() / 6) + 0.4 * np.eye(6)
    normal = multivariate_normal(np.zeros(6), covariance)
    gap = prior.density(scores)[0] - prior.density(other)[0]
    assert gap == pytest.approx(normal.logpdf(scores) - normal.logpdf(other), abs=1e-10)
    assert prior.precision(scores) == pytest.approx(np.linalg.inv(covariance), abs=1e-10)


def test_the_gradient_is_that_of_the_density():
    matrix, scores = _drawn()
    prior = FeaturePrior(matrix, None, None, (1.0, 1.0))
    step = 1e-5
    slopes = [
        (prior.density(scores + step * one)[0] - prior.density(scores - step * one)[0]) / (2 * step)
        for one in np.eye(6)
    ]
    assert prior.density(scores)[1] == pytest.approx(np.array(slopes), abs=1e-7)


def test_the_grid_integrates_both_variances_out():
    matrix, scores = _drawn()
    between = matrix @ matrix.T / ((matrix**2).sum() / 6)
    grid = FeaturePrior(matrix, None, None, (1.0, 1.0))

    def by_quadrature(at):
        def joint(log_b, log_a):
            a, b = np.exp(log_a), np.exp(log_b)
            half_t = [np.sqrt(v) / (1 + v / 2) ** 1.5 for v in (a, b)]
            return half_t[0] * half_t[1] * multivariate_normal(np.zeros(6), a * between + b * np.eye(6)).pdf(at)

        low, high = np.log(0.01), np.log(9.0)
        return np.log(dblquad(joint, low, high, low, high, epsabs=1e-8)[0])

    for factor in (0.5, 1.5):
        gap = grid.density(factor * scores)[0] - grid.density(scores)[0]
        assert gap == pytest.approx(by_quadrature(factor * scores) - by_quadrature(scores), abs=0.1)


def test_a_clear_rest_makes_linear_intervals_wide_enough():
    # Features explain half the variance; a linear scorer alone has no place for the rest.
    held = []
    for seed in range(4):
        drawn = jr.simulate(
            30, 8, 1500, n_features=3, scorer="objects", truth="pair", spread=1.5, random_state=900 + seed
        )
        model = jr.JAM().fit(drawn.votes, drawn.features)
        low, high = model.result_.uncertainty.bounds(0.95)
        true = drawn.scores - drawn.scores.mean()
        held.append(((low <= true) & (true <= high)).mean())
    assert np.mean(held) > 0.88
