"""Annotators who contradict themselves nearly as often as random votes do: named where it is no chance."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import jamrank as jr
from jamrank.diagnostics.checks.consistency import circular_annotators, contradictions
from jamrank.diagnostics.examination import Examination


def crowd(seed, n_items, n_votes, flips, spread):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, spread, n_items)
    left = rng.integers(n_items, size=n_votes)
    right = (left + rng.integers(1, n_items, size=n_votes)) % n_items
    who = rng.integers(len(flips), size=n_votes)
    won = (rng.random(n_votes) < expit(scores[left] - scores[right])) ^ (rng.random(n_votes) < np.asarray(flips)[who])
    return Examination(jr.Comparisons.from_arrays(left, right, who, won.astype(float)))


def named(check, examination):
    return next(iter(check(examination).details.values()))


def test_who_tosses_a_coin_is_named_and_nobody_else():
    for seed in range(10):
        found = crowd(seed, 10, 2000, [0.1] * 4 + [0.5], 8.0)
        assert named(contradictions, found) == [4]
        assert named(circular_annotators, crowd(seed, 20, 4000, [0.1] * 4 + [0.5], 3.0)) == [4]


def test_honest_annotators_of_close_items_are_hardly_ever_named():
    """The votes of one of two, or of some of many, often look nearly random by chance."""
    drawn = [((15, 600, [0.05, 0.15], 1.0), (10, 600, [0.1] * 5, 1.0))] * 150
    found = [crowd(seed, *one) for seed, both in enumerate(drawn) for one in both]
    assert sum(bool(named(check, one)) for one in found for check in (contradictions, circular_annotators)) <= 2
