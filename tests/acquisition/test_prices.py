from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from jamrank.acquisition import prices


def votes(cheap_flip, dear_flip, cheap, dear, n=20, seed=0):
    """Votes for each item over each other, of cheap and of expensive annotators."""
    rng = np.random.default_rng(seed)
    scores, wins = 1.5 * rng.standard_normal(n), np.zeros((2, n, n))
    for kind, (flip, count) in enumerate(((cheap_flip, cheap), (dear_flip, dear))):
        for _ in range(count):
            left, right = rng.choice(n, 2, replace=False)
            says_left = rng.random() < flip + (1 - 2 * flip) * expit(scores[left] - scores[right])
            wins[(kind, left, right) if says_left else (kind, right, left)] += 1
    return wins


def test_with_the_scores_integrated_out_the_posterior_is_that_of_numeric_integration():
    wins = np.zeros((2, 2, 2))
    wins[0], wins[1] = [[0, 12], [5, 0]], [[0, 4], [1, 0]]
    margin = np.linspace(-40, 40, 20_001)
    truth = expit(margin)
    exact = []
    for scale, cheap, dear in zip(prices._SCALE, *prices._FLIPS, strict=True):
        first, second = cheap + (1 - 2 * cheap) * truth, dear + (1 - 2 * dear) * truth
        likely = first**12 * (1 - first) ** 5 * second**4 * (1 - second)
        exact.append(np.trapezoid(likely * norm.pdf(margin, 0, np.sqrt(2) * scale), margin))
    expected, found = np.array(exact), np.exp(prices._integrated(wins)[0])
    for quantity in (prices._SCALE, *prices._FLIPS):
        # Laplace's approximation with a single margin, its hardest case.
        assert found @ quantity / found.sum() == pytest.approx(expected @ quantity / expected.sum(), rel=0.06)


def test_money_goes_to_those_whose_votes_tell_more_for_it():
    assert prices.share_of_money(votes(0.05, 0.05, 200, 40), 10.0) < 0.01
    assert prices.share_of_money(votes(0.47, 0.03, 300, 60), 10.0) == 1.0
    assert prices.share_of_money(votes(0.47, 0.03, 300, 60), 1000.0) < 0.1


def test_the_cheap_ones_start_and_the_others_are_tried():
    nothing = np.zeros((2, 10, 10))
    assert prices.share_of_money(nothing, 10.0) == pytest.approx(0.1)
    assert prices.share_of_money(nothing, 1000.0) == 0.0
    assert prices.share_of_money(votes(0.47, 0.03, 100, 60), 10.0) == pytest.approx(0.1)


def test_of_two_kinds_that_hardly_differ_the_one_that_has_got_more_keeps_it(monkeypatch):
    cheap, dear, chance = np.array([1.0]), np.array([11.0]), np.array([1.0])
    monkeypatch.setattr(prices, "_worth", lambda wins: (cheap, dear, chance))
    wins = np.zeros((2, 2, 2))
    wins[:, 0, 1] = 50.0, 4.0
    assert prices.share_of_money(wins, 10.0) == pytest.approx(0.1)
    assert prices.share_of_money(wins, 5.0) == 1.0
    wins[1, 0, 1] = 6.0
    assert prices.share_of_money(wins, 10.0) == prices.share_of_money(wins, 13.0) == 1.0


def test_the_order_of_items_does_not_matter():
    wins = votes(0.35, 0.1, 100, 20)
    other = np.random.default_rng(1).permutation(20)
    cost, again = (np.array(prices._integrated(some)[0]) for some in (wins, wins[:, other[:, None], other]))
    assert again == pytest.approx(cost, abs=1e-6)


def test_of_many_items_those_with_the_most_votes_are_used(monkeypatch):
    rng = np.random.default_rng(0)
    won, lost = np.array([rng.choice(4, 2, replace=False) for _ in range(50)]).T * 3
    expensive, weight = rng.random(52) < 0.3, rng.random(52)
    won, lost = np.append(won, [1, 2]), np.append(lost, [3, 4])  # items 1, 2 and 4 have one vote
    monkeypatch.setattr(prices, "_MOST_ITEMS", 4)
    wins = prices.count_wins(expensive, won, lost, weight, 11)
    assert wins.shape == (2, 4, 4)
    assert wins.sum() == pytest.approx(weight[:50].sum())
    here = (won == 9) & (lost == 6) & expensive
    assert wins[1, 3, 2] == pytest.approx(weight[here].sum())
