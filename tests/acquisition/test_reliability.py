from __future__ import annotations

import numpy as np
import pytest

from jamrank.acquisition.reliability import Reliability


def told(wrong, right, votes=200):
    """Votes of one annotator on pairs of known truth, the better item now on the left and now on the right."""
    known = Reliability(1)
    for k in range(votes):
        left_better, share = k % 2 == 0, wrong if k % 2 == 0 else right
        errs = int((k // 2 + 1) * share + 1e-9) > int((k // 2) * share + 1e-9)
        known.observe(0, bool(left_better ^ errs), float(left_better))
    return known


@pytest.mark.parametrize("flip", [0.05, 0.3, 0.5, 0.9])
def test_the_flip_of_known_truths_is_found(flip):
    assert told(flip, flip).flip[0] == pytest.approx(flip, abs=0.03)


def test_a_bias_is_told_from_a_flip():
    wrong, right = told(0.05, 0.45).says_left(0)
    assert 1 - right == pytest.approx(0.05, abs=0.05)
    assert wrong == pytest.approx(0.45, abs=0.08)


def test_votes_on_equals_tell_nothing_of_a_flip_without_bias():
    known = Reliability(1)
    before = known.flip[0]
    known.observe(0, True, 0.5)
    assert known.flip[0] == pytest.approx(before)


def test_all_at_once_is_as_one_by_one_under_the_same_prior():
    rng = np.random.default_rng(1)
    truth, said = rng.random(40), rng.random(40) < 0.5
    one = Reliability(1)
    for vote, left in zip(said, truth, strict=True):
        one.observe(0, bool(vote), float(left))
    many = Reliability(1)
    many.refit(np.zeros(40, np.int64), said, truth, np.ones(40), np.zeros(1, np.int64))
    # The crowd's prior moves towards its only member; without it the two agree.
    ratio = many.weights[0] / many.prior
    assert ratio / ratio.sum() == pytest.approx(one.weights[0] / one.prior / (one.weights[0] / one.prior).sum())


def test_a_newcomer_is_taken_for_one_of_the_crowd():
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(8), 60)
    truth = rng.integers(0, 2, len(who)).astype(float)
    errs = rng.random(len(who)) < 0.05
    good = Reliability(8)
    good.refit(who, (truth > 0.5) ^ errs, truth, np.ones(len(who)), np.zeros(8, np.int64))
    good.add(1)
    assert good.flip[8] < Reliability(1).flip[0] - 0.05


def test_information_on_an_annotator_is_mutual_information():
    known = told(0.2, 0.2, votes=6)
    sure = known.information(np.array([1.0, 0.5]), np.array([0]))[0]
    assert sure[0] > sure[1] >= 0  # of equals only a bias can be seen


def test_annotators_of_a_kind_are_taken_for_each_other_and_not_for_those_of_another():
    rng = np.random.default_rng(3)
    who = np.repeat([0, 1, 3, 4], 60)  # of the cheap kind 0 to 2, of the dear kind 3 to 5
    truth = rng.integers(0, 2, len(who)).astype(float)
    errs = rng.random(len(who)) < np.where(who < 3, 0.4, 0.05)
    known = Reliability(6)
    known.refit(who, (truth > 0.5) ^ errs, truth, np.ones(len(who)), np.array([0, 0, 0, 1, 1, 1]))
    assert known.flip[5] < known.flip[2] - 0.03
