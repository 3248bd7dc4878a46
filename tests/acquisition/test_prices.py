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


def test_the_evidence_is_the_integral_over_the_margin():
    wins = np.zeros((2, 2, 2))
    wins[0] = [[0, 6], [3, 0]]
    wins[1] = [[0, 2], [0, 0]]
    margin = np.linspace(-40, 40, 40_001)
    truth = expit(margin)
    log_evidence = prices._integrated(wins)[0]
    exact = []
    for scale, cheap, dear in zip(prices._SCALE, *prices._FLIPS, strict=True):
        first, second = cheap + (1 - 2 * cheap) * truth, dear + (1 - 2 * dear) * truth
        likely = first**6 * (1 - first) ** 3 * second**2
        exact.append(np.trapezoid(likely * norm.pdf(margin, 0, np.sqrt(2) * scale), margin))
    assert log_evidence - np.log(exact) == pytest.approx(np.zeros(len(exact)), abs=0.15)


def test_money_goes_to_those_whose_votes_tell_more_for_it():
    assert prices.share_of_money(votes(0.05, 0.05, 200, 40), 10.0) == 0.0
    assert prices.share_of_money(votes(0.47, 0.03, 300, 60), 10.0) == 1.0
    assert prices.share_of_money(votes(0.47, 0.03, 300, 60), 1000.0) < 0.1


def test_no_more_than_a_trial_without_votes():
    nothing = np.zeros((2, 10, 10))
    assert prices.share_of_money(nothing, 10.0) == pytest.approx(0.1)
    assert prices.share_of_money(nothing, 1000.0) == 0.0


def test_the_order_of_items_does_not_matter():
    wins = votes(0.35, 0.1, 100, 20)
    other = np.random.default_rng(1).permutation(20)
    cost, again = (np.array(prices._integrated(some)[0]) for some in (wins, wins[:, other[:, None], other]))
    assert again == pytest.approx(cost, abs=1e-6)


def test_of_many_items_those_with_the_most_votes_are_used(monkeypatch):
    wins = votes(0.47, 0.03, 300, 60, n=20)
    more = np.zeros((2, 60, 60))
    more[:, 40:, 40:] = wins
    monkeypatch.setattr(prices, "_MOST_ITEMS", 20)
    assert prices.share_of_money(more, 10.0) == prices.share_of_money(wins, 10.0)
