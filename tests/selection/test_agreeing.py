"""Votes on the same pair agree more than a truth per vote explains, or they do not."""

import numpy as np
import pytest

import jamrank as jr
from jamrank.selection.agreeing import agree_more, products_within
from jamrank.selection.cross_validation import HeldOut
from jamrank.selection.trials import Candidate, Trial


@pytest.mark.parametrize("flips", [None, [0.1, 0.1, 0.2, 0.2, 0.5, 0.9]])
def test_votes_that_share_a_truth_agree_more_and_others_do_not(flips):
    for truth, expected in (("pair", True), ("vote", False)):
        for seed in range(5):
            votes = jr.simulate(12, 6, 1500, truth=truth, flips=flips, random_state=seed).votes
            assert agree_more(votes, "flip") == expected


@pytest.mark.parametrize(("truth", "expected"), [("pair", True), ("vote", False)])
def test_judges_of_two_items_agree_on_questions(truth, expected):
    """With a truth per vote, two items hardly tell flips: the test must not rely on them."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truths = (
            np.broadcast_to(rng.random((150, 1)) < 0.6, (150, 3)) if truth == "pair" else rng.random((150, 3)) < 0.6
        )
        said = truths ^ (rng.random((150, 3)) < [0.1, 0.2, 0.4])
        question, judge = (grid.ravel() for grid in np.indices(said.shape))
        votes = jr.Comparisons.from_arrays(
            ["new"] * 450, ["old"] * 450, judge, said.ravel().astype(float), question=question
        )
        assert agree_more(votes, "flip") == expected


def test_one_annotator_repeating_votes_shares_nothing():
    left, right = np.triu_indices(12, 1)
    said = np.random.default_rng(0).integers(0, 2, len(left)).astype(float)
    who = np.resize(["a", "b"], len(left))
    votes = jr.Comparisons.from_arrays(*(np.tile(column, 20) for column in (left, right, who, said)))
    assert not agree_more(votes, "flip")


def test_products_of_different_values():
    group, values = np.array([0, 0, 0, 2]), np.array([1.0, 2.0, -3.0, 5.0])
    assert products_within(group, values) == 2 * (1 * 2 - 1 * 3 - 2 * 3)


def held_out(truth: str) -> HeldOut:
    """Return losses by which JAM is better than CrowdBT, but not significantly."""
    votes = jr.simulate(12, 6, 1500, truth=truth, random_state=0).votes
    rng = np.random.default_rng(1)
    first = votes.vote_result[votes.vote_result < 2] == 1
    trials = {}
    for name, gain in (("CrowdBT", 0.0), ("JAM", 0.001)):
        proba = np.clip(0.7 + gain + rng.normal(0, 0.15, len(first)), 0.1, 0.9)
        candidate = Candidate(name, lambda: None, annotators=True, model=jr.models.find_model(name)())
        trials[name] = Trial(candidate, np.where(first, proba, 1 - proba), 0.0)
    return HeldOut(votes, np.zeros(len(votes.vote_result), dtype=np.int64), trials)


def test_between_a_truth_per_vote_and_one_per_pair_the_loss_decides_where_votes_agree():
    for truth, expected in (("pair", "JAM"), ("vote", "CrowdBT")):
        found = held_out(truth)
        trials = found.trials
        if found.best() == "CrowdBT":  # whichever drew the lower losses is JAM's
            one, other = trials["CrowdBT"].proba, trials["JAM"].proba
            trials["CrowdBT"] = Trial(trials["CrowdBT"].candidate, other, 0.0)
            trials["JAM"] = Trial(trials["JAM"].candidate, one, 0.0)
        assert found.best() == "JAM" and found.difference("CrowdBT", "JAM").low <= 0
        assert found.choice() == expected


@pytest.mark.parametrize("n_votes", [200, 600, 3000])
def test_unanimous_votes_rank_with_certainty_however_many(n_votes):
    rng = np.random.default_rng(n_votes)
    left = rng.integers(5, size=n_votes)
    right = (left + rng.integers(1, 5, n_votes)) % 5
    votes = jr.Comparisons.from_arrays(left, right, rng.integers(3, size=n_votes), left < right)
    assert not agree_more(votes, "flip")
    model = jr.Auto().fit(votes)
    assert model.result_.spec.unit == "vote"
    assert model.ranking_["item"].to_list() == [0, 1, 2, 3, 4]
    assert model.order_probability(0, 1) > 0.95
