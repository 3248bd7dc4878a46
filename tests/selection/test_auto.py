"""The model that is chosen by held-out votes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import FeatureError, FormatError, NotFittedError, ParameterError
from jamrank.io.archives import pack
from jamrank.selection import compare
from jamrank.selection.judging import with_judging
from tests.models.invariance import draw

pytestmark = pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")


@pytest.fixture(scope="module")
def fitted() -> jr.Auto:
    """A choice among models with and without features."""
    return jr.Auto().fit(draw(1).votes, draw(1).frame)


@pytest.mark.parametrize(
    ("truth", "flips", "expected"),
    [("pair", None, "JAM"), ("vote", None, "CrowdBT"), ("vote", [0.0] * 8, "BradleyTerry")],
)
def test_it_takes_the_model_that_drew_the_votes(truth, flips, expected):
    votes = jr.simulate(20, 8, 4000, truth=truth, flips=flips, random_state=0).votes
    model = jr.Auto().fit(votes)
    assert model.chosen_ == type(model.model_).__name__ == expected
    assert model.reason_.startswith(f"{expected}: ")
    plain = {"BradleyTerry", "CrowdBT", "CrowdBT two-coin", "AmElo"}
    plain |= {"JAM", "JAM two-coin", "JAM difficulty"} if truth == "pair" else set()
    assert set(model.comparison_["model"]) == plain


def test_what_it_knows_is_what_the_chosen_model_knows(fitted):
    written, model = draw(1), fitted
    alone = type(model.model_)().fit(written.votes, written.frame if model.uses_features_ else None)
    for array in ("scores_", "flip_", "posterior_", "log_likelihoods_"):
        assert getattr(model, array).tobytes() == getattr(alone, array).tobytes()
    for frame in ("ranking_", "annotators_", "pairs_"):
        assert getattr(model, frame).equals(getattr(alone, frame))
    assert model.predict_proba(0, 1) == alone.predict_proba(0, 1)
    assert (model.vote_proba(written.votes) == alone.vote_proba(written.votes)).all()
    truth = np.arange(len(written.features))
    assert model.score(truth) == alone.score(truth)
    with pytest.raises(AttributeError):
        model.nonsense  # noqa: B018


def test_verdicts_come_from_a_model_of_annotators(tmp_path):
    study = jr.simulate(12, 4, 4000, truth="vote", flips=[0.05, 0.05, 0.05, 0.5], random_state=1)
    votes = study.votes
    model = jr.BradleyTerry().fit(votes)
    alone = with_judging(model)
    crowd = jr.CrowdBT().fit(votes)
    assert alone.judged_by.startswith("Flips and verdicts come from CrowdBT, fitted to the same votes")
    np.testing.assert_allclose(alone.annotators_frame()["flip"], crowd.flip_, atol=1e-4)
    assert alone.annotators_frame()["verdict"].to_list() == crowd.annotators_["verdict"].to_list()
    assert not np.allclose(model.annotators_["flip"], crowd.flip_, atol=0.05)
    np.testing.assert_array_equal(alone.scores.scores, model.scores_)


def test_flips_of_a_model_fitted_beside_are_saved(tmp_path):
    votes = jr.simulate(10, 4, 2000, truth="vote", flips=[0.0] * 4, random_state=2).votes
    model = jr.Auto().fit(votes)
    assert model.chosen_ == "BradleyTerry"
    model.save(tmp_path / "before")  # computes nothing
    told = model.annotators_
    model.save(tmp_path / "after")
    for name in ("before", "after"):
        again = jr.load(tmp_path / name)
        assert again.annotators_.equals(told)
        assert again.result_.judged_by == model.result_.judged_by


def test_with_few_votes_it_takes_the_simplest_model_and_says_so():
    votes = jr.simulate(5, 2, 30, random_state=0).votes
    model = jr.Auto().fit(votes)
    assert model.chosen_ == "BradleyTerry"
    assert model.comparison_ is None
    assert "too few to compare models" in model.reason_


def test_of_many_votes_some_are_compared_and_that_is_said():
    votes = jr.simulate(10, 4, 8000, random_state=0).votes
    model = jr.Auto(max_votes=150).fit(votes)
    assert " of 8,000 votes" in model.reason_


def test_arguments_reach_the_chosen_model():
    votes = jr.simulate(10, 4, 400, random_state=0).votes
    model = jr.Auto(max_iter=123, tol=1e-4, n_jobs=1).fit(votes).model_
    assert (model.max_iter, model.tol, model.n_jobs) == (123, 1e-4, 1)
    for bad in ({"folds": 1}, {"max_votes": 0}, {"folds": "x"}, {"tol": -1.0}):
        with pytest.raises(ParameterError):
            jr.Auto(**bad).fit(votes)


def test_features_that_do_not_fit_are_refused():
    with pytest.raises(FeatureError):
        jr.Auto().fit(draw(1).votes, {0: [1.0, 2.0]})


def test_before_the_fit_there_is_nothing():
    for result in ("chosen_", "comparison_", "scores_", "posterior_", "ranking_", "model_"):
        with pytest.raises(NotFittedError):
            getattr(jr.Auto(), result)


def test_the_choice_is_saved_with_the_model(tmp_path, fitted):
    model = fitted
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    assert (again.chosen_, again.reason_) == (model.chosen_, model.reason_)
    assert again.comparison_.equals(model.comparison_.drop("seconds"))  # a file is the same in every run
    assert type(again.model_) is type(model.model_)
    body = model._to_body()
    del body["choice"]["reason"]
    (tmp_path / "changed.jamrank").write_bytes(pack("model", 2, body))
    with pytest.raises(FormatError):
        jr.load(tmp_path / "changed.jamrank")


@pytest.mark.long
def test_from_disk_it_chooses_the_same(tmp_path):
    drawn = jr.simulate(20, 8, 2000, truth="vote", random_state=0)
    drawn.frame.write_parquet(tmp_path / "votes.parquet")
    stored = jr.store_comparisons(tmp_path / "votes.parquet", scratch=tmp_path / "scratch", memory="1GB")
    here, there = jr.Auto().fit(drawn.votes), jr.Auto().fit(stored)
    assert here.chosen_ == there.chosen_
    assert here.comparison_.drop("seconds").equals(pl.DataFrame(there.comparison_).drop("seconds"))
    np.testing.assert_allclose(here.scores_, there.scores_, atol=1e-6)


@pytest.mark.long
def test_the_reason_says_how_much_was_held_out():
    few = jr.simulate(20, 10, 2000, truth="vote", random_state=0).votes
    assert "folds" not in jr.Auto().fit(few).reason_
    many = jr.simulate(60, 10, 6000, truth="vote", random_state=0).votes
    auto = jr.Auto()
    _, choice = auto.choose(many)
    assert "nats per held-out vote (2 of 5 folds; compare holds out all)" in choice.reason
    full = compare(many, models=["CrowdBT"], splits=["vote"]).held_out["vote"]
    trial = full.trials["CrowdBT"]
    two = np.isin(full.fold[full.decided], [0, 1])
    loss = -np.log(np.where(full.first_won, trial.proba, 1 - trial.proba))
    loss = np.average(loss[two], weights=full.weight[two])
    table = choice.comparison
    assert table.filter(table["model"] == "CrowdBT")["log_loss"][0] == pytest.approx(loss, rel=1e-9)


def test_difficulty_is_tried_where_pairs_have_several_votes_and_taken_where_it_predicts_better():
    hard = jr.simulate(20, 8, 3000, noise="difficulty", difficulty=1.2, flips=[0.15] * 8, random_state=4).votes
    assert jr.Auto().fit(hard).chosen_ == "JAM difficulty"
    sparse = jr.simulate(40, 8, 900, random_state=4).votes
    assert "JAM difficulty" not in set(jr.Auto().fit(sparse).comparison_["model"])


def star(n_candidates, flips, n_questions, truth, seed):
    """Return votes on a baseline against candidates, all questions by all judges; the baseline is on the left."""
    rng = np.random.default_rng(seed)
    candidate, question = (grid.ravel() for grid in np.indices((n_candidates, n_questions)))
    probability = expit(rng.normal(0, 0.7, n_candidates + 1))[1:][candidate]
    shared = rng.random(len(candidate)) < probability
    votes = []
    for judge, flip in enumerate(flips):
        better = shared if truth == "pair" else rng.random(len(candidate)) < probability
        votes.append((candidate, question, np.full(len(candidate), judge), better ^ (rng.random(len(better)) < flip)))
    candidate, question, judge, won = (np.concatenate(column) for column in zip(*votes, strict=True))
    ids = ["base"] * len(won), [f"candidate{k}" for k in candidate], [f"judge{k}" for k in judge]
    return jr.Comparisons.from_arrays(*ids, 1.0 - won, question=[f"question{k}" for k in question])


@pytest.mark.parametrize("n_candidates", [2, 4])
def test_judges_of_the_same_questions_of_few_candidates_share_a_truth(n_candidates):
    """The three or five models are few pairs, but votes on many questions tell what shares a truth."""
    found = [jr.Auto().choose(star(n_candidates, [0.05, 0.15], 160, "pair", seed))[1] for seed in range(5)]
    assert [choice.name for choice in found] == ["JAM"] * 5


def test_independent_votes_on_questions_keep_the_simplest_model():
    found = [jr.Auto().choose(star(3, [0.0, 0.0, 0.0], 60, "vote", seed))[1] for seed in range(20)]
    assert sum(choice.name != "BradleyTerry" for choice in found) <= 1


@pytest.mark.parametrize("sides", [True, False])
def test_of_graded_votes_without_annotators_it_is_said_why_sides_are_not_compared(sides):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 5, 200)
    right = (left + rng.integers(1, 5, 200)) % 5
    if not sides:
        left, right = np.minimum(left, right), np.maximum(left, right)
    votes = jr.Comparisons.from_arrays(
        left, right, ["one"] * 200, rng.integers(0, 2, 200).astype(float), grade=[1, 2] * 100
    )
    told = jr.Auto().fit(votes).reason_
    assert told.startswith("BradleyTerry: all decided votes are by one annotator, so there are no reliabilities")
    assert told.endswith("models of a preference for a side do not take these votes.") == sides


@pytest.mark.parametrize("annotators", [1, 6])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_file_that_lists_the_winner_on_one_side_has_no_sides(annotators, side):
    rng = np.random.default_rng(0)
    scores, flips = np.linspace(2, -2, 12), rng.uniform(0.05, 0.15, annotators)
    a = rng.integers(12, size=500)
    b, who = (a + rng.integers(1, 12, 500)) % 12, rng.integers(annotators, size=500)
    won = (rng.random(500) < 1 / (1 + np.exp(scores[b] - scores[a]))) ^ (rng.random(500) < flips[who])
    winner, loser = np.where(won, a, b), np.where(won, b, a)
    left, right = (winner, loser) if side == "left" else (loser, winner)
    model = jr.Auto().fit(jr.Comparisons.from_arrays(left, right, who, np.full(500, side == "left")))
    plain = jr.Auto().fit(jr.Comparisons.from_arrays(a, b, who, won))
    assert "two-coin" not in model.chosen_ and model.chosen_ != "CovariateBT"
    assert np.corrcoef(model.scores_, scores)[0, 1] > 0.9
    assert model.scores_ == pytest.approx(plain.scores_, abs=0.05)
    assert not set(model.annotators_["verdict"]) & {"one-sided", "random"}


@pytest.mark.parametrize("seed", range(4))
def test_few_votes_of_an_inverted_judge_are_not_counted_like_the_others(seed):
    rng = np.random.default_rng(seed)
    scores, flips = np.linspace(3, -3, 8), np.array([0.03, 0.03, 0.95])
    left, who = rng.integers(8, size=96), rng.integers(3, size=96)
    right = (left + rng.integers(1, 8, 96)) % 8
    truth = rng.random(96) < 1 / (1 + np.exp(scores[right] - scores[left]))
    votes = jr.Comparisons.from_arrays(left, right, who, truth ^ (rng.random(96) < flips[who]))
    model, compared = jr.Auto().fit(votes), jr.selection.compare(votes, folds=2)
    assert model.chosen_ == compared.choice == "CrowdBT"
    assert "too few to compare models, but annotators differ" in model.reason_
    assert any("take CrowdBT" in sentence for sentence in compared.sentences)


def test_few_votes_of_honest_judges_get_the_simplest_model():
    chosen = [
        jr.Auto().fit(jr.simulate(8, 3, 96, flips=[0.1, 0.1, 0.1], truth="vote", random_state=seed).votes).chosen_
        for seed in range(12)
    ]
    assert chosen == ["BradleyTerry"] * 12
