"""The link from scores to probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from jamrank.models.link import fit_link


@pytest.mark.parametrize("slope", [-2.0, 0.05, 1.0, 30.0])
def test_the_slope_is_found(slope):
    rng = np.random.default_rng(0)
    margins = rng.standard_normal(4000) / max(abs(slope), 1)
    votes = rng.integers(1, 20, 4000).astype(float)
    wins = rng.binomial(votes.astype(int), expit(slope * margins)).astype(float)
    assert fit_link(margins, wins, votes) == pytest.approx(slope, rel=0.1, abs=0.02)


def test_it_is_where_the_likelihood_is_flat():
    rng = np.random.default_rng(1)
    margins, votes = rng.standard_normal(50), rng.random(50) * 5
    wins = votes * rng.random(50)
    slope = fit_link(margins, wins, votes)
    scale = np.sqrt((votes * margins**2).sum() / votes.sum())
    imagined = scale * (1 - 2 * expit(slope * scale))
    assert (margins * (wins - votes * expit(slope * margins))).sum() + imagined == pytest.approx(0, abs=1e-9)


def test_scores_that_are_all_equal_say_nothing():
    assert fit_link(np.zeros(3), np.ones(3), np.full(3, 2.0)) == 0.0
    assert fit_link(np.empty(0), np.empty(0), np.empty(0)) == 0.0


def test_votes_that_all_agree_give_a_finite_slope():
    assert 0 < fit_link(np.ones(10), np.ones(10), np.ones(10)) < 10
