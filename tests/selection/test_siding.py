"""Annotators who prefer a side, where few pairs of items make losses uncertain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.selection import compare
from jamrank.selection.siding import THEY_PREFER_A_SIDE, prefer_a_side


def one_judge(effect, seed, n_votes=500, n_items=6):
    """One judge of few items on many questions, each question with a truth of its own, sides at random."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, n_items)
    left = rng.integers(n_items, size=n_votes)
    right = (left + rng.integers(1, n_items, size=n_votes)) % n_items
    won = rng.random(n_votes) < expit(scores[left] - scores[right] + effect)
    return jr.Comparisons.from_arrays(
        left, right, ["judge"] * n_votes, won.astype(float), question=np.arange(n_votes)
    )


def test_a_preference_is_found_and_hardly_ever_where_there_is_none():
    assert sum(prefer_a_side(one_judge(0.0, seed)) for seed in range(300)) <= 2
    assert all(prefer_a_side(one_judge(effect, seed)) for effect in (-1.0, 1.0) for seed in range(10))


def test_the_test_depends_on_neither_names_nor_weights_nor_fixed_sides():
    votes = one_judge(0.7, 0)
    pair, swapped = votes.vote_pair, votes.vote_swapped
    ends = 9 - votes.pair_first[pair], 9 - votes.pair_second[pair]
    left, right = np.where(swapped, ends[1], ends[0]), np.where(swapped, ends[0], ends[1])
    outcome = np.where(swapped, 1.0 - votes.vote_result, votes.vote_result).astype(float)
    question = votes.pair_question[pair]
    for weight in (1.0, 2.0):
        columns = left, right, ["x"] * len(left), outcome, np.full(len(left), weight), question
        assert prefer_a_side(jr.Comparisons.from_arrays(*columns)) == prefer_a_side(votes)
    low, high = np.minimum(left, right), np.maximum(left, right)
    outcome = np.where(low == left, outcome, 1 - outcome)
    assert not prefer_a_side(jr.Comparisons.from_arrays(low, high, ["x"] * len(left), outcome))


@pytest.fixture(scope="module")
def undecided():
    """Votes of which the losses leave open what the test tells."""
    for seed in range(40):
        votes = one_judge(0.6, seed, 300)
        found = compare(votes, models=["BradleyTerry", "CovariateBT"]).held_out["pair"]
        if found.simplest == "BradleyTerry" and found.by_sides:
            return votes
    raise AssertionError("no such votes")


def test_auto_and_compare_choose_alike_and_say_why(undecided):
    model = jr.Auto().fit(undecided)
    assert model.chosen_ == "CovariateBT" and model.reason_.endswith(f"; {THEY_PREFER_A_SIDE}.")
    found = compare(undecided, models=["BradleyTerry", "CovariateBT"])
    assert found.choice == "CovariateBT"
    assert f"CovariateBT is recommended: {THEY_PREFER_A_SIDE}." in found.sentences


def both_orders(shared, seed):
    """One judge who is shown each pair in both orders on each question: with one truth, or one for each vote."""
    rng = np.random.default_rng(seed)
    scores, (first, second) = rng.normal(0, 0.8, 5), np.triu_indices(5, 1)
    first, second, question = np.tile(first, 60), np.tile(second, 60), np.repeat(np.arange(60), 10)
    drawn = rng.random((2, len(first))) < expit(scores[first] - scores[second])
    left_better = np.array([drawn[0], ~drawn[0 if shared else 1]])
    won = np.where(rng.random((2, len(first))) < 0.15, True, left_better)  # sometimes the left, whatever it is
    sides = np.concatenate([first, second]), np.concatenate([second, first])
    return jr.Comparisons.from_arrays(
        *sides, ["judge"] * won.size, won.ravel().astype(float), question=np.tile(question, 2)
    )


@pytest.mark.parametrize(("shared", "expected"), [(True, "JAM two-coin"), (False, "CovariateBT")])
def test_votes_of_a_judge_on_both_orders_share_a_truth_where_they_agree(shared, expected):
    votes = both_orders(shared, 0)
    assert jr.Auto().fit(votes).chosen_ == expected
    assert compare(votes).choice == expected
