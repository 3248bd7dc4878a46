"""What all models that count votes share."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import DisconnectedWarning, JamrankWarning, UnknownItemError
from jamrank.rows import PairCounts
from tests.models.tournaments import bradley_terry, random_wins, votes_of

MODELS = [jr.Borda, jr.Copeland, jr.HodgeRank, jr.RankCentrality, jr.WinRate]


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request):
    return request.param()


def test_two_items_are_ordered_by_their_votes(model):
    model.fit(votes_of(np.array([[0, 7.0], [3.0, 0]]), ["a", "b"]))
    assert model.ranking_["item"].to_list() == ["a", "b"]
    # One margin: the link can reproduce the share, but for the imagined tie.
    assert model.posterior_ == pytest.approx([7.5 / 11], rel=1e-12)
    assert model.predict_proba("b", "a") == pytest.approx([3.5 / 11], rel=1e-12)


def test_a_perfect_cycle_leaves_all_items_equal(model):
    model.fit(votes_of(np.array([[0, 4.0, 0], [0, 0, 4], [4, 0, 0]])))
    np.testing.assert_allclose(model.scores_, model.scores_[0], atol=1e-12)
    np.testing.assert_allclose(model.posterior_, 0.5, atol=1e-12)
    assert model.ranking_["rank"].to_list() == [1, 1, 1]
    assert model.flip_ == pytest.approx([0.5])


def test_votes_that_all_agree_give_finite_results_in_their_order(model):
    wins = np.triu(np.full((30, 30), 1000.0), 1)
    model.fit(votes_of(wins))
    assert model.ranking_["item"].to_list() == list(range(30))
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.slope_)
    assert (model.posterior_ > 0.5).all()
    assert model.flip_.tolist() == [0.0]


@pytest.mark.parametrize("votes", [1.0, 1e6])
def test_a_long_chain_of_certain_wins_gives_finite_scores(model, votes):
    wins = np.zeros((300, 300))
    wins[np.arange(299), np.arange(1, 300)] = votes
    model.fit(votes_of(wins))
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.slope_)
    assert model.scores_[0] == model.scores_.max()
    assert model.converged_


def test_only_ties_leave_all_items_equal(model):
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "y"], [0.5, 0.5])
    model.fit(votes)
    np.testing.assert_allclose(model.scores_, model.scores_[0], atol=1e-15)
    assert model.posterior_.tolist() == [0.5, 0.5]


def test_a_tie_is_half_a_vote_for_each_side(model):
    wins = random_wins(1, 7)
    whole = votes_of(np.floor(wins))
    apart = jr.Comparisons.from_arrays(*_with_ties(wins))
    np.testing.assert_allclose(model.fit(apart).scores_, type(model)().fit(votes_of(wins)).scores_, atol=1e-12)
    assert whole.n_ties == 0 < apart.n_ties


def _with_ties(wins: np.ndarray) -> tuple[list, list, list, list]:
    """Write half votes for both sides as ties where that is possible."""
    rows = []
    for i in range(len(wins)):
        for j in range(i):
            ours, theirs = wins[i, j], wins[j, i]
            tied = min(ours, theirs)
            rows += [(i, j, 0.5)] * int(2 * tied)
            rows += [(i, j, 1.0)] * int(2 * (ours - tied)) + [(i, j, 0.0)] * int(2 * (theirs - tied))
    left, right, outcome = zip(*rows, strict=True)
    # In units of half a vote: a tie of weight 1 is half a vote each, so everything else is written at half weight.
    weight = [1.0 if y == 0.5 else 0.5 for y in outcome]
    return list(left), list(right), ["k"] * len(left), list(outcome), weight


def test_groups_without_votes_between_them_are_named(model):
    left, right = ["a", "c", "e", "g", "g"], ["b", "d", "f", "h", "i"]
    votes = jr.Comparisons.from_arrays(left, right, ["k"] * 5, [1, 1, 0, 1, np.nan])
    with pytest.warns(
        DisconnectedWarning, match=r"5 groups with no vote between them \(those of a, c, e, …\)"
    ) as told:
        model.fit(votes)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert np.isfinite(model.scores_).all()
    score = dict(zip(votes.items.tolist(), model.scores_, strict=True))
    assert score["a"] > score["b"]
    assert score["f"] > score["e"]
    # The same votes within each group: the same scores.
    assert score["a"] == pytest.approx(score["c"], abs=1e-12)


def test_items_that_ties_link_are_one_group(model):
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["x", "y"], [1.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error", JamrankWarning)
        model.fit(votes)


def test_probabilities_are_the_sigmoid_of_the_difference_in_scores(model):
    model.fit(votes_of(random_wins(2, 9)))
    pairs = model.pairs_
    margin = model.scores_[pairs["left"].to_numpy()] - model.scores_[pairs["right"].to_numpy()]
    np.testing.assert_allclose(model.posterior_, expit(model.slope_ * margin), atol=1e-14)
    again = model.predict_proba(pairs["left"].to_list(), pairs["right"].to_list())
    assert again.tobytes() == model.posterior_.tobytes()


def test_unseen_items_are_refused_also_with_features(model):
    model.fit(votes_of(random_wins(2, 4)))
    with pytest.raises(UnknownItemError, match=f"item 99 has no votes, and {type(model).__name__} uses no features"):
        model.predict_proba([0], [99], {99: [1.0]})


def test_flips_are_the_share_of_votes_against_the_scores(model):
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 9, 400), rng.integers(9, 18, 400)
    who, outcome = rng.integers(0, 4, 400), rng.choice([0, 1, 1, 1, 0.5], 400)
    model.fit(jr.Comparisons.from_arrays(left, right, who, outcome))
    for k in range(4):
        mine = (who == k) & (outcome != 0.5)
        lead = model.scores_[left[mine]] - model.scores_[right[mine]]
        against = np.where(np.abs(lead) < 1e-9, 0.5, (lead > 0) != (outcome[mine] == 1))
        assert model.flip_[k] == pytest.approx(against.mean())


def test_questions_count_together(model):
    left, right, who = [0, 0, 1, 0, 1, 2], [1, 1, 2, 2, 2, 3], list("aabbab")
    outcome, question = [1, 0, 1, 0.5, 1, 1], list("pqpqqp")
    apart = jr.Comparisons.from_arrays(left, right, who, outcome, question=question)
    assert apart.n_pairs == 6
    together = type(model)().fit(jr.Comparisons.from_arrays(left, right, who, outcome))
    model.fit(apart)
    np.testing.assert_allclose(model.scores_, together.scores_, atol=1e-14)
    assert model.slope_ == pytest.approx(together.slope_, rel=1e-13)
    assert len(model.posterior_) == 6


def test_many_items_need_no_dense_matrix(model):
    rng = np.random.default_rng(4)
    n = 30_000
    scores = rng.standard_normal(n)
    left = np.concatenate([np.arange(n), rng.integers(0, n, 4 * n)])
    right = (left + rng.integers(1, n, len(left))) % n
    won = rng.random(len(left)) < expit(scores[left] - scores[right])
    model.fit(jr.Comparisons.from_arrays(left, right, np.zeros(len(left), int), won.astype(float)))
    assert model.converged_
    assert np.corrcoef(model.scores_, scores)[0, 1] > 0.7


def test_all_of_them_order_easy_items_rightly(model):
    scores, votes = bradley_terry(5, 12, 400, spread=2.0)
    model.fit(votes)
    gap = np.abs(np.subtract.outer(scores, scores))[np.triu_indices(12, 1)].min()
    assert gap > 0.005
    assert model.score(scores, by="scores") > 0.95


def test_a_tally_adds_up_questions_and_leaves_out_pairs_without_votes():
    votes = jr.Comparisons.from_arrays(
        ["b", "a", "a", "c"],
        ["a", "b", "c", "d"],
        [1, 1, 1, 1],
        [1, 0.5, 1, np.nan],
        weight=[2.0, 1.0, 0.5, 1.0],
        question=list("pqpp"),
    )
    counts = PairCounts.of(votes)
    assert (counts.first.tolist(), counts.second.tolist()) == ([0, 0], [1, 2])
    assert (counts.wins.tolist(), counts.votes.tolist()) == ([0.5, 0.5], [3.0, 0.5])
    assert counts.component.tolist() == [0, 0, 0, 1]
    assert counts.representatives.tolist() == [0, 3]
    assert counts.opponents.tolist() == [2, 1, 1, 0]
