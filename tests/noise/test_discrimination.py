from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.storage import FIRST
from jamrank.engines import MemoryEngine
from jamrank.fitting.em import Problem
from jamrank.noise import Discrimination
from jamrank.rows import ROWS_BY
from jamrank.scorers import ObjectScorer

DRAWN = jr.simulate(12, 5, 600, noise="discrimination", discrimination=[2, 1, 0.5, 0.3, -1], random_state=0)


def problem(scale: float = 1.0, variance: float | None = 1.0) -> Problem:
    rows = ROWS_BY["margin"](DRAWN.votes, 1)
    return Problem(MemoryEngine(rows, 1), ObjectScorer(12, 2.0), Discrimination(rows.vote_counts, variance, scale))


def test_the_likelihood_is_that_of_the_formula():
    rng = np.random.default_rng(1)
    theta, params = rng.standard_normal(12), rng.standard_normal(5)
    at = problem().evaluate(theta, params).expectation
    votes, b = DRAWN.votes, params / np.sqrt((params**2).mean())
    margin = (theta[votes.pair_first] - theta[votes.pair_second])[votes.vote_pair]
    first = expit(b[votes.vote_annotator] * margin)
    likely = np.where(votes.vote_result == FIRST, first, 1 - first)
    assert at.value == pytest.approx(float((votes.vote_weight * np.log(likely)).sum()), rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1.7])
def test_the_slope_is_the_derivative(scale):
    posed, rng = problem(scale), np.random.default_rng(2)
    at = np.concatenate([rng.standard_normal(12), rng.standard_normal(5)])
    slope = posed.slope(posed.evaluate(at[:12], at[12:]))
    for k, step in enumerate(1e-5 * np.eye(17)):
        ends = [posed.evaluate((at + s * step)[:12], (at + s * step)[12:]).objective for s in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope[k], abs=1e-5)


def test_the_length_of_the_parameters_says_nothing():
    posed, rng = problem(), np.random.default_rng(3)
    theta, params = rng.standard_normal(12), rng.standard_normal(5)
    a, b = posed.evaluate(theta, params), posed.evaluate(theta, 3.0 * params)
    assert a.objective == pytest.approx(b.objective, rel=1e-14)
    assert float(posed.slope(a)[12:] @ params) == pytest.approx(0.0, abs=1e-9)
    assert np.sqrt((a.rates**2).mean()) == pytest.approx(1.0)


def test_everyone_equal_is_bradley_terry():
    votes = DRAWN.votes
    prior = jr.Prior(score_variance=2.0, discrimination_variance=1e-14)
    plain, equal = jr.BradleyTerry(prior=prior).fit(votes), jr.AmElo(prior=prior, tol=1e-9).fit(votes)
    np.testing.assert_allclose(equal.discrimination_, 1.0, atol=1e-9)
    np.testing.assert_allclose(equal.scores_, plain.scores_, atol=1e-6)
    np.testing.assert_allclose(equal.posterior_, plain.posterior_, atol=1e-6)
    np.testing.assert_allclose(
        equal.uncertainty("information").score_se,
        plain.uncertainty("information").score_se,
        atol=1e-5,
    )
    assert equal.log_likelihood_ == pytest.approx(plain.log_likelihood_)


def test_one_annotator_is_bradley_terry():
    votes = jr.simulate(8, 1, 200, flips=[0.1], truth="vote", random_state=4).votes
    prior = jr.Prior(score_variance=1.0)
    plain, alone = jr.BradleyTerry(prior=prior).fit(votes), jr.AmElo(prior=prior, tol=1e-9).fit(votes)
    np.testing.assert_allclose(alone.scores_, plain.scores_, atol=1e-6)
    assert alone.discrimination_ == pytest.approx([1.0])
    assert alone.discrimination_interval_.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("prior", ["auto", None])
def test_sharp_dull_and_contrary_annotators_are_told_apart(prior):
    drawn = jr.simulate(12, 5, 5000, noise="discrimination", discrimination=[2, 1, 0.5, 0, -1], random_state=5)
    model = jr.AmElo(prior=prior).fit(drawn.votes)
    assert np.abs(model.discrimination_).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(model.discrimination_, drawn.discrimination, atol=0.25)
    low, high = model.discrimination_interval_.T
    assert (low < model.discrimination_).all() and (model.discrimination_ < high).all()
    assert high[4] < 0 < low[2] and low[3] < 0 < high[3]
    assert np.corrcoef(model.scores_, drawn.scores)[0, 1] > 0.98
    assert model.annotators_["discrimination"].to_list() == model.discrimination_.tolist()
    share = model.result_.predict_votes("item00", "item01", "ann4")
    margin = model.scores_[0] - model.scores_[1]
    assert share[0, 0] == pytest.approx(expit(model.discrimination_[4] * margin), rel=1e-9)


def test_without_a_joint_covariance_scores_are_taken_as_known(monkeypatch):
    model = jr.AmElo().fit(DRAWN.votes)
    wide = model.discrimination_interval_
    monkeypatch.setattr("jamrank.inference.information._MOST_PARAMETERS", 3)
    narrow = jr.AmElo().fit(DRAWN.votes).discrimination_interval_
    assert np.isfinite(narrow).all()
    assert (np.diff(narrow) > 0).all() and (np.diff(narrow) < 2 * np.diff(wide)).all()
