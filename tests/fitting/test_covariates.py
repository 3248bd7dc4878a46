"""The posterior of scores and coefficients, against finite differences, other people's regressions and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from jamrank.fitting.covariate_mode import CovariateVotes, Variances, find_mode, log_posterior
from jamrank.fitting.covariates import (
    _quantile,
    find_identified,
    first_dependent,
    fit_covariates,
    item_constants,
)


def draw(seed: int = 0, n: int = 300, n_items: int = 5, n_annotators: int = 3, of_items: bool = False):
    """Draw votes with two covariates; return them with the true scores, coefficients and constants of the items."""
    rng = np.random.default_rng(seed)
    scores, constant = rng.standard_normal(n_items), rng.standard_normal(n_items)
    first = rng.integers(0, n_items, n)
    second = (first + rng.integers(1, n_items, n)) % n_items
    who = rng.integers(0, n_annotators, n)
    x = np.column_stack(
        [
            constant[first] - constant[second] if of_items else 2 * rng.standard_normal(n),
            np.where(rng.random(n) < 0.5, 1.0, -1.0),
        ]
    )
    coef = np.array([0.5, 0.2]) + 0.4 * rng.standard_normal((n_annotators, 2))
    odds = scores[first] - scores[second] + (x * coef[who]).sum(axis=1)
    outcome = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
    votes = CovariateVotes(first, second, who, outcome, np.ones(n), x, n_items, n_annotators)
    return votes, scores, coef, constant


VARIANCES = Variances(1.3, np.array([0.4, 0.7]))
FREE = np.array([True, True])


def unpacked(theta: np.ndarray, votes: CovariateVotes):
    n, c = votes.n_items, votes.n_covariates
    return theta[:n], theta[n : n + c], theta[n + c :].reshape(votes.n_annotators, c)


def objective(theta: np.ndarray, votes: CovariateVotes) -> float:
    return log_posterior(votes, VARIANCES, FREE, *unpacked(theta, votes))


def hessian(theta: np.ndarray, votes: CovariateVotes, step: float = 1e-3) -> np.ndarray:
    size = len(theta)
    found = np.empty((size, size))
    unit = step * np.eye(size)
    for i in range(size):
        for j in range(size):
            corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            values = [a * b * objective(theta + a * unit[i] + b * unit[j], votes) for a, b in corners]
            found[i, j] = sum(values) / (4 * step**2)
    return found


def test_the_mode_is_where_another_optimiser_ends():
    votes, *_ = draw()
    mode = find_mode(votes, VARIANCES, FREE)
    found = minimize(
        lambda theta: -objective(theta, votes), np.zeros(5 + 2 + 6), method="BFGS", options={"gtol": 1e-8}
    )
    scores, common, own = unpacked(found.x, votes)
    np.testing.assert_allclose(mode.scores, scores, atol=1e-5)
    np.testing.assert_allclose(mode.common, common, atol=1e-5)
    np.testing.assert_allclose(mode.own, own, atol=1e-5)


def test_the_gradient_is_0_at_the_mode_and_covariance_and_evidence_are_those_of_finite_differences():
    votes, *_ = draw(1)
    mode = find_mode(votes, VARIANCES, FREE)
    theta = np.concatenate([mode.scores, mode.common, mode.own.ravel()])
    step = 1e-5 * np.eye(len(theta))
    slope = [(objective(theta + one, votes) - objective(theta - one, votes)) / 2e-5 for one in step]
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    precision = -hessian(theta, votes)
    covariance = np.linalg.inv(precision)
    np.testing.assert_allclose(mode.covariance, covariance[:7, :7], rtol=1e-3, atol=1e-5)
    # Deviations follow scores and common part linearly, and vary beside that.
    inner = covariance[7:, 7:] - covariance[7:, :7] @ np.linalg.solve(covariance[:7, :7], covariance[:7, 7:])
    for k in range(3):
        np.testing.assert_allclose(mode.inner[k], inner[2 * k : 2 * k + 2, 2 * k : 2 * k + 2], rtol=1e-3, atol=1e-5)
    follow = -covariance[7:, :7] @ np.linalg.inv(covariance[:7, :7])
    np.testing.assert_allclose(mode.follow.reshape(6, 7), follow, rtol=1e-3, atol=1e-4)
    prior = -0.5 * (5 * np.log(1.3) + 3 * 2 * np.log(VARIANCES.sd).sum() - 2 * np.log(0.01))
    evidence = objective(theta, votes) + prior - 0.5 * np.linalg.slogdet(precision)[1]
    assert mode.log_evidence == pytest.approx(evidence, abs=1e-3)


@pytest.mark.parametrize("separate", [False, True])
def test_without_shrinkage_it_is_logistic_regression(separate):
    votes, *_ = draw(2, n=2000)
    mode = find_mode(votes, Variances(1e8, np.full(2, 1e4 if separate else 1e-4)), FREE)
    design = np.zeros((2000, 5))
    rows = np.arange(2000)
    design[rows, votes.first], design[rows, votes.second] = 1.0, -1.0
    if separate:
        by_whom = [np.where((votes.annotator == k)[:, None], votes.x, 0.0) for k in range(3)]
    design = np.column_stack([design[:, 1:], *(by_whom if separate else [votes.x])])
    model = LogisticRegression(penalty=None, fit_intercept=False, tol=1e-10, max_iter=1000)
    found = model.fit(design, votes.outcome).coef_[0]
    np.testing.assert_allclose(np.diff(mode.scores), np.diff([0.0, *found[:4]]), atol=1e-3)
    coef = (mode.common + mode.own).ravel() if separate else mode.common
    np.testing.assert_allclose(coef, found[4:], atol=1e-3)


def test_weights_count_as_repeated_votes_and_half_votes_as_ties():
    votes, *_ = draw(3)
    twice = replace(votes, **{name: np.repeat(getattr(votes, name), 2, axis=0) for name in VOTE})
    weighted = replace(votes, weight=2 * votes.weight)
    np.testing.assert_allclose(fit_covariates(twice).scores, fit_covariates(weighted).scores, atol=1e-10)
    tied = replace(votes, outcome=np.full(300, 0.5))
    assert np.abs(fit_covariates(tied).scores).max() < 1e-9


VOTE = ("first", "second", "annotator", "outcome", "weight", "x")


def test_units_of_a_covariate_do_not_matter():
    votes, *_ = draw(4)
    one, other = fit_covariates(votes), fit_covariates(replace(votes, x=votes.x * [100.0, 1.0]))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
    np.testing.assert_allclose(one.coef.value, other.coef.value * [100.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(one.mean.high, other.mean.high * [100.0, 1.0], atol=1e-9)


def test_writing_votes_the_other_way_round_changes_nothing():
    votes, *_ = draw(5)
    turned = replace(votes, first=votes.second, second=votes.first, outcome=1 - votes.outcome, x=-votes.x)
    one, other = fit_covariates(votes), fit_covariates(turned)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-10)
    np.testing.assert_allclose(one.coef.low, other.coef.low, atol=1e-10)


def test_a_difference_of_constants_of_items_is_found_and_only_differences_are_estimated():
    votes, scores, coef, constant = draw(6, n=4000, n_annotators=4, of_items=True)
    constants, residual = item_constants(votes)
    np.testing.assert_allclose(constants[:, 0] - constants[:, 0].mean(), constant - constant.mean(), atol=1e-9)
    assert find_identified(votes, residual).tolist() == [False, True]
    fit = fit_covariates(votes)
    assert fit.identified.tolist() == [False, True]
    assert np.isnan(fit.mean.value[0])
    np.testing.assert_allclose(fit.coef.value[:, 0].sum(), 0.0, atol=1e-9)
    apart = coef[:, 0] - coef[:, 0].mean()
    assert (np.abs(fit.coef.value[:, 0] - apart) < 4 * fit.coef.se[:, 0]).all()
    # The mean effect is part of the scores.
    expected = scores + constant * coef[:, 0].mean()
    np.testing.assert_allclose(fit.scores - fit.scores.mean(), expected - expected.mean(), atol=0.4)


@pytest.mark.parametrize("seed", [0, 1, 328, 405, 1034, 1081])
def test_constants_of_items_are_found_whatever_the_rounding(seed):
    # Of the last four, the smallest eigenvalue of the Laplacian is above the default cutoff of a pseudo-inverse.
    votes, *_ = draw(seed, n=1000, n_items=20, n_annotators=8, of_items=True)
    _, residual = item_constants(votes)
    assert find_identified(votes, residual).tolist() == [False, True]
    assert np.abs(residual[:, 0]).max() < 1e-12


def test_a_covariate_that_follows_from_others_is_found():
    votes, *_ = draw(8)
    doubled = replace(votes, x=np.column_stack([votes.x, 2 * votes.x[:, 0]]))
    _, residual = item_constants(doubled)
    assert first_dependent(doubled, residual, find_identified(doubled, residual)) == 2
    _, residual = item_constants(votes)
    assert first_dependent(votes, residual, find_identified(votes, residual)) is None


def test_no_covariates_and_a_single_annotator():
    votes, *_ = draw(9)
    plain = fit_covariates(replace(votes, x=votes.x[:, :0]))
    assert plain.coef.value.shape == (3, 0)
    alone = fit_covariates(replace(votes, annotator=np.zeros(300, np.int64), n_annotators=1))
    np.testing.assert_allclose(alone.coef.value[0], alone.mean.value, atol=1e-9)
    np.testing.assert_allclose(alone.coef.low[0], alone.mean.low, atol=1e-7)


def test_annotators_shrink_towards_each_other():
    votes, *_ = draw(10, n=240, n_annotators=8)
    fit = fit_covariates(votes)
    free = find_mode(votes, Variances(1.0, np.full(2, 1e3)), FREE)
    assert (fit.coef.value.std(axis=0) < (free.common + free.own).std(axis=0)).all()


def test_quantiles_of_mixtures():
    mean, sd, weight = np.array([[0.0, 3.0]]), np.array([[1.0, 0.5]]), np.array([0.7, 0.3])
    for level in (0.025, 0.5, 0.975):
        at = _quantile(mean, sd, weight, level)[0]
        assert weight @ norm.cdf(at, mean[0], sd[0]) == pytest.approx(level, abs=1e-9)


@pytest.mark.long
def test_intervals_hold_planted_effects():
    held = []
    for seed in range(60):
        votes, _, coef, _ = draw(1000 + seed, n=800, n_items=12, n_annotators=6)
        fit = fit_covariates(votes)
        held.append(((fit.coef.low <= coef) & (coef <= fit.coef.high)).mean())
    assert 0.90 <= np.mean(held) <= 0.99
