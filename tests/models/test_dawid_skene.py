from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import ParameterError


@pytest.mark.parametrize("noise", ["flip", "two-coin"])
def test_it_is_jam_with_scores_held_at_zero(noise):
    votes = jr.simulate(10, 4, 400, random_state=0).votes
    alone = jr.DawidSkene(noise=noise, tol=1e-9).fit(votes)
    held = jr.JAM(noise=noise, prior=jr.Prior(score_variance=1e-12), tol=1e-9, flips="joint").fit(votes)
    np.testing.assert_allclose(alone.flip_, held.flip_, atol=1e-6)
    np.testing.assert_allclose(alone.posterior_, held.posterior_, atol=1e-6)
    assert alone.log_likelihood_ == pytest.approx(held.log_likelihood_, abs=1e-6)
    assert alone.converged_


def test_scores_are_log_odds_of_shares_of_pairs_won():
    votes = jr.simulate(8, 3, 200, random_state=1).votes
    model = jr.DawidSkene().fit(votes)
    won, pairs = np.zeros(8), np.zeros(8)
    for first, second, q in zip(votes.pair_first, votes.pair_second, model.posterior_, strict=True):
        won[[first, second]] += q, 1 - q
        pairs[[first, second]] += 1
    np.testing.assert_allclose(expit(model.scores_), (won + 1) / (pairs + 2))
    ranking = model.ranking_
    assert (ranking["score_se"] > 0).all() and (ranking["rank_low"] <= ranking["rank"]).all()


def test_sides_and_features():
    drawn = jr.simulate(15, 4, 3000, noise="two-coin", flips=[0.15] * 4, bias=[0.8, 0, 0, -0.8], random_state=2)
    model = jr.DawidSkene(noise="two-coin").fit(drawn.votes)
    assert model.result_.annotators.bias_interval[0, 0] > 0 > model.result_.annotators.bias_interval[3, 1]
    with pytest.raises(ParameterError, match="uses no features"):
        jr.DawidSkene().fit(drawn.votes, np.ones((15, 1)))
