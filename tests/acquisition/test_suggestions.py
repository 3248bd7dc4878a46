from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import jamrank as jr
from jamrank.acquisition import suggest_pairs, votes_to_settle
from jamrank.acquisition.goals import Goal
from jamrank.report import Analysis


def test_so_many_votes_do_settle_an_order_and_fewer_do_not():
    margin, variance, flip = np.array([0.8]), np.array([0.5]), 0.1
    votes = votes_to_settle(margin, variance, flip)[0]
    p = flip + (1 - 2 * flip) * expit(0.8)
    each = ((1 - 2 * flip) * expit(0.8) * expit(-0.8)) ** 2 / (p * (1 - p))
    sure = [0.8 * np.sqrt(1 / 0.5 + n * each) for n in (votes - 1, votes)]
    assert sure[0] < 1.96 <= sure[1]


def test_what_is_settled_needs_none_and_equals_are_never_settled():
    votes = votes_to_settle(np.array([3.0, 0.0]), np.array([0.1, 0.1]), 0.1)
    assert votes.tolist() == [0.0, np.inf]


def test_the_pair_that_is_open_is_asked_before_those_that_are_clear():
    found = suggest_pairs(np.array([3.0, 0.1, 0.0, -3.0]), np.full(4, 0.2), 0.1, most=3)
    assert (found.upper[0], found.lower[0]) == (1, 2)
    assert found.gain[0] == found.gain.max() and found.above[0] < 0.75
    assert len({(a, b) for a, b in zip(found.upper, found.lower, strict=True)}) == 3


def test_two_items_have_one_pair():
    found = suggest_pairs(np.array([0.0, 1.0]), np.eye(2), 0.2)
    assert found.upper.tolist() == [1] and found.lower.tolist() == [0]
    assert found.above[0] == pytest.approx(0.7602, abs=1e-3)


def test_votes_on_one_truth_say_no_more_than_the_truth():
    margin, flip = np.array([1.0]), 0.2
    truth = expit(1.0) * expit(-1.0)  # what one certain comparison says of the margin
    little, much = 1.96**2 - 0.9 * truth, 1.96**2 - 1.1 * truth
    votes = [votes_to_settle(margin, np.array([1 / known]), flip, one_truth=True)[0] for known in (little, much)]
    assert np.isinf(votes[1]) and votes[0] > 1
    assert votes_to_settle(margin, np.array([1 / 4.0]), flip, one_truth=True)[0] == 0.0
    sure = votes_to_settle(margin, np.array([1 / little]), 0.0, one_truth=True)[0]
    assert sure == 1.0


@pytest.mark.parametrize(("wins", "losses", "least", "most"), [(48, 32, 12, 40), (240, 200, 12, 80)])
def test_votes_needed_of_two_items_are_those_of_the_closed_form(wins, losses, least, most):
    n = wins + losses
    votes = jr.Comparisons.from_arrays(["a"] * n, ["b"] * n, ["ann"] * n, [1] * wins + [0] * losses)
    found = Analysis(jr.BradleyTerry().fit(votes).result_, votes).ask_next
    above, needed = float(found.above[0]), float(found.to_settle[0])
    assert above == pytest.approx(ndtr((wins - losses) / np.sqrt(n)), abs=0.015)
    # The squared distance from 0, in standard deviations, grows with the votes.
    assert needed == pytest.approx(n * (1.96**2 / ndtri(above) ** 2 - 1), rel=0.15, abs=2)
    assert least <= needed <= most


def test_orders_that_votes_do_not_tell_have_no_number_of_votes():
    def unknown(upper, lower):
        return np.where(np.abs(upper - lower) == 2, np.nan, 0.9)

    found = suggest_pairs(np.array([0.3, 0.2, 0.1]), np.full(3, 0.2), 0.1, order=unknown)
    assert np.isinf(found.to_settle).tolist() == np.isnan(found.above).tolist()
    assert np.isnan(found.above).sum() == 1


def test_only_items_of_one_question_are_suggested():
    group = np.array([0, 1, 0, 1, 2])
    found = suggest_pairs(np.zeros(5), np.full(5, 0.2), 0.1, Goal("ranking", group=group))
    assert {(a, b) for a, b in np.sort([found.upper, found.lower], axis=0).T.tolist()} == {(0, 2), (1, 3)}
