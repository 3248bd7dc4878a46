from __future__ import annotations

import math

import pytest

import jamrank as jr
from jamrank.fitting import prior_variances
from jamrank.fitting.prior_variances import VarianceSecant


def test_updates_that_fall_geometrically_end_at_their_limit():
    limit, ratio, log, secant = math.log(0.7), 0.4, math.log(0.75), VarianceSecant()
    for _ in range(2):  # the first has nothing to compare with
        new = limit + ratio * (log - limit)
        log = math.log(secant.ahead((math.exp(log),), (math.exp(new),))[0])
    assert log == pytest.approx(limit, abs=1e-12)


def test_long_and_diverging_updates_are_not_carried_far():
    secant = VarianceSecant()
    assert secant.ahead((3.0,), (0.5,)) == pytest.approx((0.5,))
    assert secant.ahead((0.5,), (0.3,)) == pytest.approx((0.3,))  # too far from the limit to extrapolate
    log = math.log(secant.ahead((0.3,), (0.32,))[0] / 0.3)
    assert log <= 5 * math.log(0.32 / 0.3) + 1e-12
    assert secant.ahead((None,), (None,)) == (None,)


@pytest.mark.parametrize(("n_items", "n_votes"), [(10, 60), (20, 400), (60, 9000)])
def test_the_variance_of_bradley_terry_is_that_of_the_fixed_point(n_items, n_votes, monkeypatch):
    votes = jr.simulate(n_items, 6, n_votes, random_state=1).votes
    found = jr.BradleyTerry().fit(votes)
    monkeypatch.setattr(prior_variances, "_CLOSE", 1e-9)
    monkeypatch.setattr(prior_variances, "_SETTLED", 1e-9)
    exact = jr.BradleyTerry().fit(votes)
    variances = [model.result_.scores.score_variance for model in (found, exact)]
    assert variances[0] == pytest.approx(variances[1], rel=5e-4)
    assert found.result_.convergence.n_passes < exact.result_.convergence.n_passes
