from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from jamrank.fitting.link import fit_link


def draw(seed: int, n_pairs: int = 300, slope: float = 0.7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    margins = rng.standard_normal(n_pairs) * 3
    votes = rng.integers(1, 9, n_pairs).astype(float)
    return margins, rng.binomial(votes.astype(int), expit(slope * margins)).astype(float), votes


@pytest.mark.parametrize("seed", range(5))
def test_it_maximises_the_likelihood_with_one_imagined_tie(seed):
    margins, wins, votes = draw(seed)
    typical = np.sqrt((votes * margins**2).sum() / votes.sum())

    def loss(slope: float) -> float:
        m = slope * margins
        real = (wins * log_expit(m) + (votes - wins) * log_expit(-m)).sum()
        return -real - 0.5 * (log_expit(slope * typical) + log_expit(-slope * typical))

    found = minimize_scalar(loss, bounds=(0, 5), method="bounded", options={"xatol": 1e-10}).x
    assert fit_link(margins, wins, votes) == pytest.approx(found, abs=1e-6)


def test_it_finds_the_slope_that_made_the_votes():
    assert fit_link(*draw(0, 200_000, 0.7)) == pytest.approx(0.7, abs=0.01)


def test_turning_pairs_or_changing_the_unit_changes_no_probability():
    margins, wins, votes = draw(1)
    slope = fit_link(margins, wins, votes)
    turned = np.random.default_rng(0).random(len(margins)) < 0.5
    assert fit_link(
        np.where(turned, -margins, margins), np.where(turned, votes - wins, wins), votes
    ) == pytest.approx(slope, rel=1e-13)
    assert fit_link(1e6 * margins, wins, votes) * 1e6 == pytest.approx(slope, rel=1e-13)


@pytest.mark.parametrize("n", [1, 10, 1_000_000])
def test_votes_that_all_agree_give_a_finite_slope(n):
    slope = fit_link(np.array([2.0]), np.array([float(n)]), np.array([float(n)]))
    assert expit(2 * slope) == pytest.approx((n + 0.5) / (n + 1), rel=1e-12)


def test_separated_votes_on_many_margins_give_a_finite_slope():
    margins = np.geomspace(1e-6, 1e6, 50)
    slope = fit_link(margins, np.full(50, 1e6), np.full(50, 1e6))
    assert 0 < slope < np.inf


@pytest.mark.parametrize(
    ("margins", "wins"), [([0.0, 0.0], [1.0, 0.0]), ([1.0, 2.0], [0.5, 0.5]), ([1.0, 2.0], [0.0, 0.0]), ([], [])]
)
def test_margins_that_say_nothing_have_slope_zero(margins, wins):
    assert fit_link(np.array(margins), np.array(wins), np.ones(len(wins))) == pytest.approx(0.0, abs=1e-15)
