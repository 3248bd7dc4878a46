from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import norm

import jamrank as jr
from jamrank.errors import ParameterError, UnknownItemError
from jamrank.inference.order_probability import OrderProbability


def two_items(wins, losses):
    return [("a", "b")] * wins + [("b", "a")] * losses


@pytest.mark.parametrize(("wins", "losses"), [(3, 1), (12, 8), (30, 20), (60, 30)])
def test_two_items_against_the_integral_of_their_posterior(wins, losses):
    model = jr.BradleyTerry(prior=jr.Prior(score_variance=1.0)).fit(two_items(wins, losses))

    gap = np.linspace(-8, 8, 20_001)  # scores are N(0, 1) each, so their difference is N(0, 2)
    log_density = wins * log_expit(gap) + losses * log_expit(-gap) + norm.logpdf(gap, scale=np.sqrt(2))
    density = np.exp(log_density - log_density.max())
    expected = density[gap > 0].sum() / density.sum()
    draws = len(model.result_.uncertainty.score_draws)
    error = np.sqrt(expected * (1 - expected) / draws)
    assert abs(model.order_probability("a", "b") - expected) < 4 * error + 0.005
    assert model.order_probability("b", "a") == pytest.approx(1 - model.order_probability("a", "b"))


def test_shapes_and_unknown_items():
    model = jr.BradleyTerry().fit([("x", "y"), ("y", "z"), ("x", "z"), ("z", "x")])
    above = model.order_probability(["x", "y"], "z")
    assert above.shape == (2,)
    assert above[0] == model.order_probability("x", "z")
    assert model.order_probability("x", "x") == 0.5
    with pytest.raises(UnknownItemError, match="xx: no vote is about such an item; did you mean x"):
        model.order_probability("xx", "y")
    with pytest.raises(ParameterError, match="Copeland gives no uncertainty"):
        jr.Copeland().fit([("x", "y")]).order_probability("x", "y")


def test_the_interval_of_a_difference_knows_that_scores_move_together():
    common = np.random.default_rng(0).standard_normal((4000, 1))
    own = 0.1 * np.random.default_rng(1).standard_normal((4000, 2))
    order = OrderProbability(np.array([0.5, 0.0]), np.ones(2), lambda: np.array([0.5, 0.0]) + common + own)
    gap, low, high = order.difference(0, 1)
    assert gap == 0.5
    assert (low, high) == pytest.approx((0.5 - 1.96 * 0.1414, 0.5 + 1.96 * 0.1414), abs=0.03)
    alone = OrderProbability(np.array([0.5, 0.0]), np.array([0.3, 0.4])).difference(0, 1)
    assert alone == pytest.approx((0.5, 0.5 - 1.96 * 0.5, 0.5 + 1.96 * 0.5), abs=1e-3)


@pytest.mark.parametrize("n_items", [1_600, 2_100])
def test_rank_intervals_and_probabilities_of_the_first_rank_come_from_the_same_draws(n_items):
    """Of very many items intervals come from a normal approximation, joint or independent."""
    result = jr.BradleyTerry().fit(jr.simulate(n_items, 20, 8 * n_items, random_state=1).votes).result_
    first = result.order().first(np.arange(n_items))
    assert result.uncertainty.estimate.kind == ("information" if n_items < 2000 else "independent")
    can_be = result.uncertainty.estimate.rank_low == 1
    assert can_be[first > 0.025].all()
    assert (first[can_be & (result.uncertainty.rank > 1)] >= 0.025).all()
