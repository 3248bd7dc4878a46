from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

from jamrank.diagnostics import flip_intervals, verdicts


def verdict(flip: float, votes: float) -> str:
    flips = np.array([flip])
    (told,) = verdicts(flips, *flip_intervals(flips, votes * flips * (1 - flips), np.full(len(flips), float(votes))))
    return told


@pytest.mark.parametrize(
    ("flip", "votes", "told"),
    [
        (0.05, 1000, "reliable"),
        (0.25, 1000, "reliable"),
        (0.35, 1000, "noisy"),
        (0.5, 1000, "random"),
        (0.48, 1000, "random"),
        (0.9, 1000, "adversarial"),
        (0.6, 10_000, "adversarial"),
        (0.4, 5, "too few votes"),
        (0.5, 0, "too few votes"),
    ],
)
def test_what_is_thought_of_an_annotator(flip, votes, told):
    assert verdict(flip, votes) == told


@pytest.mark.parametrize("flip", [0.01, 0.2, 0.5, 0.97])
def test_intervals_hold_the_flip_and_shrink_with_information(flip):
    widths = []
    for information in (0.0, 1.0, 100.0, 1e6):
        low, high = flip_intervals(np.array([flip]), np.array([information]), np.array([1e6]))
        assert 0 <= low[0] < flip < high[0] <= 1
        widths.append(high[0] - low[0])
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.01


def test_intervals_are_symmetric_on_the_logit_scale_and_for_mirrored_flips():
    low, high = flip_intervals(np.array([0.2, 0.8]), np.array([30.0, 30.0]), np.full(2, 200.0))
    np.testing.assert_allclose(logit(high) - logit([0.2, 0.8]), logit([0.2, 0.8]) - logit(low))
    np.testing.assert_allclose(low, 1 - high[::-1])


def test_intervals_cover_a_binomial_flip_as_often_as_they_say():
    rng = np.random.default_rng(0)
    drawn = rng.binomial(400, 0.3, 4000) / 400
    low, high = flip_intervals(drawn, 400 * drawn * (1 - drawn), np.full(len(drawn), 400.0))
    assert ((low < 0.3) & (high > 0.3)).mean() == pytest.approx(0.95, abs=0.015)


def test_nothing_known_is_told_as_too_few_votes_whatever_the_flip():
    flips = np.array([0.0, 0.3, 1.0])
    assert verdicts(flips, *flip_intervals(flips, np.zeros(3), np.full(3, 100.0))) == ["too few votes"] * 3
