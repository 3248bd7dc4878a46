"""The information in a vote, against brute force over a fine grid of margins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, xlogy
from scipy.stats import norm

from jamrank.acquisition.channel import LEFT, RIGHT, TIE, fisher_information, moments, outcomes, vote_information

GRID = np.linspace(-12, 12, 200_001)


def by_brute_force(mean, variance, flip, tie):
    density = norm.pdf(GRID, mean, np.sqrt(variance))
    density /= density.sum()
    left = flip + (1 - 2 * flip) * expit(GRID)
    tied = tie / (np.cosh(GRID / 2) + tie)
    each = np.stack([(1 - tied) * (1 - left), (1 - tied) * left, tied])
    expected = each @ density
    return -xlogy(expected, expected).sum() + (xlogy(each, each).sum(axis=0) @ density)


@pytest.mark.parametrize("tie", [0.0, 0.4])
@pytest.mark.parametrize(("mean", "variance", "flip"), [(0.0, 1.0, 0.1), (1.5, 0.5, 0.3), (-0.7, 3.0, 0.02)])
def test_information_is_the_entropy_less_the_noise(mean, variance, flip, tie):
    found = vote_information(np.array([mean]), np.array([variance]), flip, tie)[0]
    assert found == pytest.approx(by_brute_force(mean, variance, flip, tie), rel=2e-3, abs=1e-6)


def test_a_coin_tells_nothing_and_a_known_margin_leaves_nothing_to_tell():
    assert vote_information(np.array([0.3]), np.array([2.0]), 0.5)[0] == pytest.approx(0.0, abs=1e-12)
    assert vote_information(np.array([0.3]), np.array([1e-12]), 0.1)[0] == pytest.approx(0.0, abs=1e-9)


def test_an_adversary_tells_as_much_as_an_honest_annotator():
    asked = np.array([0.4]), np.array([1.3])
    assert vote_information(*asked, 0.9)[0] == pytest.approx(vote_information(*asked, 0.1)[0])


@pytest.mark.parametrize("tie", [0.0, 0.7])
def test_fisher_information_is_that_of_finite_differences(tie):
    margin, flip, step = np.array([-1.0, 0.2, 2.5]), np.array([0.1, 0.3, 0.8]), 1e-5

    def log(at):
        return np.log(np.maximum(outcomes(at, (flip, 1 - flip), tie), 1e-300))

    slope = (log(margin + step) - log(margin - step)) / (2 * step)
    expected = (outcomes(margin, (flip, 1 - flip), tie) * slope**2).sum(axis=0)
    assert fisher_information(margin, flip, tie) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("outcome", [LEFT, RIGHT, TIE])
def test_moments_after_a_vote_are_those_of_the_posterior(outcome):
    mean, variance, says_left, tie = 0.4, 1.7, (0.25, 0.9), 0.5
    left = says_left[0] + (says_left[1] - says_left[0]) * expit(GRID)
    tied = tie / (np.cosh(GRID / 2) + tie)
    likely = {LEFT: (1 - tied) * left, RIGHT: (1 - tied) * (1 - left), TIE: tied}[outcome]
    density = norm.pdf(GRID, mean, np.sqrt(variance)) * (GRID[1] - GRID[0]) * likely
    total, after = density.sum(), (density * GRID).sum() / density.sum()
    spread = (density * (GRID - after) ** 2).sum() / total
    assert moments(mean, variance, outcome, says_left, tie) == pytest.approx((total, after, spread), rel=1e-5)
