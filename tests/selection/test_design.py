"""What votes can tell, and how often each real vote is counted."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.selection.design import examine_design
from jamrank.selection.folds import assign_folds


def votes_of(left, right, outcome, annotator=None):
    annotator = ["judge"] * len(left) if annotator is None else annotator
    return jr.Comparisons.from_arrays(left, right, annotator, outcome)


def test_votes_that_stand_for_many_are_counted():
    votes = votes_of(["a"] * 700 + ["a"] * 300, ["b"] * 1000, [1] * 700 + [0] * 300)
    assert votes.n_folded == 2
    assert examine_design(votes).n_decided == 1000


def test_a_baseline_that_is_always_on_the_left_leaves_sides_confounded():
    rng = np.random.default_rng(0)
    candidates = [f"c{k}" for k in rng.integers(5, size=500)]
    assert not examine_design(votes_of(["base"] * 500, candidates, rng.integers(2, size=500))).sides


def test_pairs_shown_both_ways_identify_sides():
    rng = np.random.default_rng(0)
    left, shift = rng.integers(6, size=400), rng.integers(1, 6, size=400)
    assert examine_design(votes_of(left, (left + shift) % 6, rng.integers(2, size=400))).sides


def test_sides_that_nobody_saw_are_not_sides(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"j{k % 3},x{a},x{b}\n" for k in range(300) for a, b in [rng.choice(8, 2, replace=False)])
    path = tmp_path / "votes.csv"
    path.write_text("judge,candidate_chosen,candidate_not_chosen\n" + rows)
    assert not examine_design(jr.read_comparisons(path)).sides


def test_on_sparse_pairs_items_must_not_explain_the_sides():
    rng = np.random.default_rng(0)
    n, outcome = 400, rng.integers(2, size=1500)
    first, second = rng.integers(n // 2, size=1500), n // 2 + rng.integers(n // 2, size=1500)
    assert not examine_design(votes_of(first, second, outcome)).sides  # one half always stands on the left
    swap = rng.random(1500) < 0.5
    left, right = np.where(swap, second, first), np.where(swap, first, second)
    assert examine_design(votes_of(left, right, outcome)).sides


@pytest.mark.parametrize("n_folds", [2, 5])
def test_dealing_keeps_every_vote_and_shares_them_out_evenly(n_folds):
    rng = np.random.default_rng(1)
    left, shift = rng.integers(4, size=3000), rng.integers(1, 4, size=3000)
    votes = votes_of(left, (left + shift) % 4, rng.integers(2, size=3000), rng.integers(3, size=3000))
    dealt, fold = assign_folds(votes, n_folds, "vote")
    assert dealt.vote_weight.sum() == 3000
    total = np.bincount(fold, dealt.vote_weight, n_folds)
    assert total.max() - total.min() <= votes.n_folded
    for column in ("vote_annotator", "vote_result"):
        np.testing.assert_array_equal(
            np.bincount(getattr(dealt, column), dealt.vote_weight),
            np.bincount(getattr(votes, column), votes.vote_weight),
        )


def test_by_pair_nothing_is_dealt_out():
    votes = votes_of(["a"] * 10 + ["b"] * 10, ["b"] * 10 + ["c"] * 10, [1] * 20)
    dealt, fold = assign_folds(votes, 2, "pair")
    assert dealt is votes
    assert len(fold) == votes.n_folded


def test_one_annotator_has_no_reliability():
    rng = np.random.default_rng(0)
    left, shift = rng.integers(5, size=500), rng.integers(1, 5, size=500)
    right = (left + shift) % 5
    # With the lower number on the left, sides say nothing beyond the items.
    model = jr.Auto().fit(votes_of(np.minimum(left, right), np.maximum(left, right), rng.integers(2, size=500)))
    assert model.chosen_ == "BradleyTerry"
    assert "one annotator" in model.reason_


@pytest.mark.parametrize(("bias", "chosen"), [(0.0, "BradleyTerry"), (1.0, "CovariateBT")])
def test_one_annotator_may_prefer_a_side(bias, chosen):
    rng = np.random.default_rng(0)
    left, shift, scores = rng.integers(5, size=800), rng.integers(1, 5, size=800), np.arange(5) / 2
    right = (left + shift) % 5
    won = rng.random(800) < 1 / (1 + np.exp(scores[right] - scores[left] - bias))
    assert jr.Auto().fit(votes_of(left, right, won.astype(float))).chosen_ == chosen


def test_one_adversary_on_a_small_jury_is_seen():
    drawn = jr.simulate(12, 5, 1500, flips=[0.05, 0.05, 0.1, 0.1, 0.95], truth="vote", random_state=3)
    assert jr.Auto().fit(drawn.votes).chosen_.startswith("CrowdBT")


@pytest.mark.parametrize("n_seeds", [1, pytest.param(4, marks=pytest.mark.long)])
def test_judges_who_do_not_differ_are_not_told_apart(n_seeds):
    chosen = [
        jr.Auto().fit(jr.simulate(12, 5, 600, flips=[0.0] * 5, truth="vote", random_state=seed).votes).chosen_
        for seed in range(n_seeds)
    ]
    assert chosen == ["BradleyTerry"] * n_seeds
