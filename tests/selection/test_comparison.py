"""Models compared by held-out votes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import FeatureError, InputError, ParameterError
from jamrank.selection import compare
from jamrank.selection.comparison import _on_the_best
from jamrank.selection.cross_validation import HeldOut, hold_out
from jamrank.selection.folds import split
from jamrank.selection.trials import Candidate, Trial


class Oracle:
    """A stand-in that says the same of every vote, and remembers what it was fitted to."""

    seen: list[tuple[jr.Comparisons, jr.Comparisons]]
    result_ = SimpleNamespace(predictor=SimpleNamespace(tie=lambda votes, features: None))

    def __init__(self, proba: float = 0.7) -> None:
        self.proba, self.seen = proba, []

    def fit(self, votes, features=None):
        self.votes = votes
        return self

    def vote_proba(self, votes, features=None):
        self.seen.append((self.votes, votes))
        return np.full(int(((votes.vote_result != 2) & (votes.vote_weight > 0)).sum()), self.proba)


def held_out(votes, **proba):
    trials = {name: Trial(Candidate(name, Oracle), np.asarray(p, dtype=float), 0.0) for name, p in proba.items()}
    return HeldOut(votes, np.zeros(len(votes.vote_result), dtype=np.int64), trials)


def test_every_decided_vote_is_asked_about_once_and_never_fitted_then():
    votes = jr.simulate(10, 4, 300, tie_rate=0.2, random_state=0).votes
    oracle = Oracle()
    found = hold_out(votes, split(votes, 4, "pair"), [Candidate("oracle", lambda: oracle)])
    assert (found.trials["oracle"].proba == 0.7).all()
    for train, test in oracle.seen:
        pairs = [set(zip(v.pair_first, v.pair_second, strict=True)) for v in (train, test)]
        assert not pairs[0] & pairs[1]
    assert sum(len(test.vote_result) for _, test in oracle.seen) == len(votes.vote_result)


def test_votes_that_are_never_held_out_are_left_alone():
    votes = jr.simulate(10, 4, 300, random_state=0).votes
    fold = np.where(split(votes, 3, "vote") == 0, 0, -1)
    found = hold_out(votes, fold, [Candidate("oracle", Oracle)])
    assert (np.isnan(found.trials["oracle"].proba) == (fold < 0)).all()
    assert np.isfinite(found.log_loss("oracle").value)


def test_the_loss_is_minus_the_log_of_the_probability_weighted():
    votes = jr.Comparisons.from_arrays(["a", "a", "b"], ["b", "c", "c"], [1, 1, 1], [1, 0, 1], weight=[1, 2, 3])
    found = held_out(votes, m=[0.8, 0.6, 0.5])
    expected = -(np.log(0.8) + 2 * np.log(0.4) + 3 * np.log(0.5)) / 6
    assert found.log_loss("m").value == pytest.approx(expected)
    assert found.accuracy("m").value == pytest.approx((1 + 0 + 1.5) / 6)


def test_intervals_take_votes_on_the_same_items_for_one_draw():
    rng = np.random.default_rng(0)
    n = 400
    left, right = np.arange(n), np.arange(n) + n
    outcome = rng.integers(0, 2, n)
    once = jr.Comparisons.from_arrays(left, right, np.zeros(n), outcome)
    many = jr.Comparisons.from_arrays(
        np.tile(left, 9), np.tile(right, 9), np.repeat(np.arange(9), n), np.tile(outcome, 9)
    )
    proba = rng.random(n)
    alone = held_out(once, m=proba).log_loss("m")
    repeated = held_out(many, m=np.repeat(proba, 9)).log_loss("m")
    assert repeated.value == pytest.approx(alone.value)
    assert repeated.high - repeated.low == pytest.approx(alone.high - alone.low)
    losses = -np.log(np.where(outcome == 1, proba, 1 - proba))
    assert alone.high - alone.value == pytest.approx(1.96 * losses.std(ddof=1) / np.sqrt(n), rel=1e-3)


def test_paired_intervals_cover_the_true_difference():
    """Over many draws the 95 % interval of a difference holds the true one about 95 times in 100."""
    rng = np.random.default_rng(1)
    n_pairs, each, covered = 150, 4, 0
    left, right = np.repeat(np.arange(n_pairs), each), np.repeat(np.arange(n_pairs) + n_pairs, each)
    for _ in range(200):
        true = np.repeat(rng.uniform(0.1, 0.9, n_pairs), each)
        a, b = np.full(len(true), 0.5), np.clip(true + np.repeat(rng.normal(0, 0.1, n_pairs), each), 0.05, 0.95)
        won = rng.random(len(true)) < true
        votes = jr.Comparisons.from_arrays(left, right, np.tile(np.arange(each), n_pairs), won.astype(float))
        found = held_out(votes, a=a, b=b).difference("a", "b")
        covered += found.low <= POPULATION <= found.high
    assert 0.90 <= covered / 200 <= 0.99


def by_annotator(gain, within):
    """Return three annotators' votes on 200 pairs in two folds, where one model gains as told on each."""
    n, rng = 200, np.random.default_rng(3)
    left = np.tile(np.arange(n), 3)
    votes = jr.Comparisons.from_arrays(left, left + n, np.repeat(np.arange(3), n), np.ones(3 * n))
    fold = np.tile(np.arange(n) % 2, 3)
    own = np.repeat(gain, n) + within * np.where(fold == 1, 1.0, -1.0) + np.tile(rng.normal(0, 0.01, n), 3)
    order = np.lexsort((votes.vote_annotator, votes.vote_pair))
    assert (order == np.arange(3 * n)).all()
    own, fold = (one.reshape(3, n).T.ravel() for one in (own, fold))
    a = np.full(3 * n, 0.5)
    trials = {name: Trial(Candidate(name, Oracle), p, 0.0) for name, p in (("a", a), ("b", a * np.exp(own)))}
    return HeldOut(votes, fold, trials).difference("a", "b")


def test_annotators_who_gain_differently_are_no_sampling_error():
    same, apart = by_annotator([0.1, 0.1, 0.1], 0.0), by_annotator([0.0, 0.0, 0.3], 0.0)
    assert apart.value == pytest.approx(same.value)
    assert apart.high - apart.low == pytest.approx(same.high - same.low)


def test_votes_of_an_annotator_in_a_fold_depend_on_each_other():
    """All votes of a fold move together: the mean is as uncertain as that of three annotators' two folds."""
    found, within = by_annotator([0.1, 0.1, 0.1], 0.05), 0.05
    expected = 1.96 * np.sqrt(6 / 3 * 6) * 100 * within / 600
    assert found.high - found.value == pytest.approx(expected, rel=0.05)


def on_questions(shared, within=0.0):
    """Return the interval of a gain on three pairs of items under 100 questions, by two annotators, in two folds.

    shared: Standard deviation of what both votes on a pair within a question gain.
    within: What all votes on two items in one fold gain, and those in the other lose; of annotators it cancels out.
    """
    rng, pair, question = np.random.default_rng(7), np.repeat(np.arange(3), 200), np.tile(np.arange(100).repeat(2), 3)
    gain = (
        rng.normal(0, shared, 300).repeat(2) + within * np.where(question % 2, 1.0, -1.0) * np.array([1, 1, -2])[pair]
    )
    ids = ["base"] * 600, [f"item{k}" for k in pair]
    votes = jr.Comparisons.from_arrays(
        *ids, np.tile([0, 1], 300), np.ones(600), question=[f"{k:02}" for k in question]
    )
    assert votes.n_folded == 600
    at = np.lexsort((question, pair))
    assert (votes.questions[votes.pair_question[votes.vote_pair]] == [f"{k:02}" for k in question[at]]).all()
    fold, a = question[at] % 2, np.full(600, 0.5)
    trials = {name: Trial(Candidate(name, Oracle), p, 0.0) for name, p in (("a", a), ("b", a * np.exp(gain[at])))}
    return HeldOut(votes, fold, trials).difference("a", "b"), gain


def test_votes_on_a_pair_depend_on_each_other_within_a_question():
    """What both votes on a pair within a question gain counts once; there are 300 such pairs, not three."""
    found, gain = on_questions(shared=0.1)
    assert found.high - found.value == pytest.approx(1.96 * gain[::2].std() / np.sqrt(300), rel=0.15)


def test_votes_on_two_items_in_a_fold_depend_on_each_other():
    """The votes of three pairs in two folds move together: the mean is as uncertain as that of six sums."""
    found, _ = on_questions(shared=0.01, within=0.1)
    sums = 100 * 0.1 * np.array([1, 1, 2])
    expected = 1.96 * np.sqrt(6 / 3 * 2 * (sums**2).sum()) / 600
    assert found.high - found.value == pytest.approx(expected, rel=0.1)


def _population() -> float:
    rng = np.random.default_rng(2)
    true = rng.uniform(0.1, 0.9, 400_000)
    b = np.clip(true + rng.normal(0, 0.1, len(true)), 0.05, 0.95)
    return float((np.log(2) + true * np.log(b) + (1 - true) * np.log(1 - b)).mean())


POPULATION = _population()


def test_calibration_is_measured_in_ten_bins():
    n = 1000
    votes = jr.Comparisons.from_arrays(
        np.arange(n), np.arange(n) + n, np.zeros(n), (np.arange(n) % 10 < 8).astype(float)
    )
    found = held_out(votes, right=np.full(n, 0.8), bold=np.full(n, 0.99), meek=np.full(n, 0.5))
    assert found.calibration_error("right") == pytest.approx(0.0, abs=1e-12)
    assert found.calibration_error("bold") == pytest.approx(0.19)
    assert found.calibration_error("meek") == pytest.approx(0.0, abs=1e-12)
    bins = found.reliability("bold")
    assert len(bins["votes"]) == 10
    assert bins["votes"].sum() == n
    assert (bins["low"][0], bins["high"][-1]) == (0.5, 1.0)


def test_the_simpler_of_equals_is_chosen():
    rng = np.random.default_rng(0)
    n = 2000
    votes = jr.Comparisons.from_arrays(np.arange(n), np.arange(n) + n, np.zeros(n), rng.integers(0, 2, n))
    won = votes.vote_result == 1
    rich = np.where(won, 0.6, 0.4)
    simple = rich + rng.normal(0, 0.01, n)
    found = held_out(votes, simple=simple, rich=rich)
    assert found.choice() == "simple"
    found = held_out(votes, simple=np.full(n, 0.5), rich=rich)
    assert found.choice() == found.best() == "rich"


@pytest.mark.parametrize(("truth", "expected"), [("pair", "JAM"), ("vote", "CrowdBT")])
def test_the_generating_model_is_chosen_and_annotators_matter(truth, expected):
    votes = jr.simulate(20, 10, 3000, truth=truth, random_state=0).votes
    found = compare(votes)
    assert found.choice == expected
    assert f"modelling annotators (in {expected}) lowers the loss" in found.sentences[0]
    assert "it helps here" in found.sentences[0]


def test_annotators_who_are_alike_are_not_said_to_matter():
    votes = jr.simulate(20, 10, 3000, truth="vote", flips=[0.0] * 10, random_state=1).votes
    found = compare(votes)
    assert found.choice == "BradleyTerry"
    assert not any("it helps here" in sentence for sentence in found.sentences)


def test_tables_have_a_row_for_each_split_and_model():
    drawn = jr.simulate(12, 5, 600, n_features=2, tie_rate=0.1, random_state=0)
    found = compare(drawn.votes, drawn.features, folds=3)
    names = set(found.table.filter(pl.col("split") == "vote")["model"])
    variants = {"CrowdBT two-coin", "JAM two-coin", "JAM without features", "JAM two-coin without features"}
    variants |= {"CrowdBT linear+objects", "JAM linear+objects", "JAM difficulty", "JAM difficulty without features"}
    models = set(jr.models.MODELS) - {"Auto", "CovariateBT", "FamilyBT", "TasteBT"} | variants
    assert models <= names
    assert len(names) == len(models) + 1  # and a twin
    assert set(found.table["split"]) == {"vote", "pair"}
    assert len(found.reliability) == 10 * len(found.table)
    for row in found.table.iter_rows(named=True):
        assert row["log_loss_low"] <= row["log_loss"] <= row["log_loss_high"]
        assert 0 <= row["accuracy"] <= 1
        assert 0 <= row["calibration_error"] <= 0.5
    assert any("tie vote" in sentence for sentence in found.sentences)
    difference = found.difference("BradleyTerry", "JAM")
    assert difference.low <= difference.value <= difference.high
    with pytest.raises(ParameterError, match="Nonsense"):
        found.difference("Nonsense", "JAM")


def test_a_comparison_does_not_hang_on_the_order_of_rows_and_comes_as_pandas():
    frame = jr.simulate(12, 5, 600, random_state=0).frame
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    a, b = (compare(jr.Comparisons.from_frame(f), folds=2).table.drop("seconds") for f in (frame, shuffled))
    assert a.equals(b)
    votes = jr.Comparisons.from_frame(pd.DataFrame(frame.to_dict(as_series=False)))
    table = compare(votes, models=["bt"], folds=2).table
    assert isinstance(table, pd.DataFrame)


def test_models_may_be_named():
    votes = jr.simulate(12, 5, 600, random_state=0).votes
    assert set(compare(votes, models=["bt", "MajorityVote"]).table["model"]) == {"BradleyTerry", "MajorityVote"}
    named = compare(votes, models={"weak": jr.CrowdBT(), "none": jr.CrowdBT(prior=None)}, folds=2, splits=["vote"])
    assert {"weak", "none"} <= set(named.table["model"])
    two = compare(votes, models=[jr.BradleyTerry(), jr.BradleyTerry(max_iter=100)], folds=2, splits=["pair"])
    assert len(two.table) == 2
    assert compare(votes, folds=2).left_out.keys() == {
        "CovariateBT",
        "FamilyBT",
        "TasteBT",
        "IAM",
        "VRJAM",
        "MixedBT",
        "KernelJAM",
        "CrowdBT linear+objects",
        "JAM linear+objects",
    }


def test_many_votes_are_sampled_and_that_is_said():
    found = compare(jr.simulate(20, 5, 3000, random_state=0).votes, folds=2, max_votes=500, models=["bt"])
    assert found.n_compared <= 500
    assert any("Compared on" in sentence for sentence in found.sentences)


def test_nothing_is_warned_about_on_the_way():
    votes = jr.simulate(12, 5, 300, tie_rate=0.1, random_state=0).votes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(votes, folds=2)


def test_what_cannot_be_compared_is_refused():
    votes = jr.simulate(12, 5, 300, random_state=0).votes
    for bad in ({"folds": 1}, {"splits": ["item"]}, {"splits": []}, {"models": ["Nonsense"]}, {"models": ["VRJAM"]}):
        with pytest.raises(ParameterError):
            compare(votes, **bad)
    with pytest.raises(ParameterError, match="Comparisons"):
        compare(3)
    with pytest.raises(InputError, match="does not exist"):
        compare("votes.csv")
    with pytest.raises(FeatureError):
        compare(votes, {"item00": [1.0]})
    with pytest.raises(InputError, match="at least 10"):
        compare(jr.Comparisons.from_arrays(["a"], ["b"], [1], [1]))
    one_pair = jr.Comparisons.from_arrays(["a"] * 20, ["b"] * 20, np.arange(20), [1] * 20)
    with pytest.raises(InputError, match=r"^20 decided votes, all on one pair"):
        compare(one_pair)


def test_repeated_votes_of_one_annotator_count_each():
    left, right = ["a"] * 6 + ["b"] * 6, ["b"] * 6 + ["c"] * 6
    votes = jr.Comparisons.from_arrays(left, right, [1] * 12, [1, 1, 1, 1, 0, 0] * 2)
    assert votes.n_folded == 4
    table = compare(votes, models=["BradleyTerry"], folds=2).table
    assert table["split"].to_list() == ["vote", "pair"]


def test_soft_votes_of_one_annotator_have_one_table():
    rng = np.random.default_rng(0)
    left = rng.integers(8, size=300)
    right = (left + rng.integers(1, 8, size=300)) % 8
    p = 1 / (1 + np.exp(right - left + rng.normal(size=300)))
    votes = jr.read_comparisons({"left": left, "right": right, "p_left": p})
    assert set(compare(votes, models=["BradleyTerry", "Borda"]).table["split"]) == {"pair"}
    several = jr.simulate(8, 4, 300, truth="vote", random_state=0).votes
    assert set(compare(several, models=["BradleyTerry", "Borda"]).table["split"]) == {"vote", "pair"}


def test_a_lower_loss_of_the_pooled_baseline_is_set_aside_in_words():
    rng = np.random.default_rng(0)
    votes = jr.simulate(10, 4, 400, random_state=0).votes
    n = len(votes.vote_result)
    found = held_out(votes, plain=rng.uniform(0.4, 0.6, n), pooled=(votes.vote_result == 1) * 0.4 + 0.3)
    baseline = replace(found.trials["pooled"].candidate, pooled_baseline_of="plain")
    told = [
        _on_the_best("pair", HeldOut(votes, found.fold, {**found.trials, "pooled": trial}))[0]
        for trial in (found.trials["pooled"], replace(found.trials["pooled"], candidate=baseline))
    ]
    assert "pooled has the lowest loss: " in told[0]
    assert "plain has the lowest loss (annotators pooled aside): " in told[1]


@pytest.mark.parametrize("n_votes", [40, 99, 100])
def test_few_votes_choose_no_model(n_votes):
    votes = jr.simulate(6, 2, n_votes, random_state=0).votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(votes, splits=["pair"])
    few = [line for line in found.sentences if line.endswith("differences may be chance. Take the simplest.")]
    assert len(few) == (n_votes < 100)
    if few:
        assert few[0].startswith(f"{n_votes} decided votes are too few to choose a model by")
        assert found.choice == jr.Auto().fit(votes).chosen_ == "BradleyTerry"
        assert not [line for line in found.sentences if "recommended" in line]


def test_compare_says_which_model_is_recommended_and_which_predicts_pairs_without_votes():
    seen = set()
    for seed in range(6):
        drawn = jr.simulate(8, 5, 250, truth="vote", flips=[0.02, 0.1, 0.2, 0.35, 0.5], random_state=seed)
        found = compare(drawn.votes, models=["BradleyTerry", "CrowdBT", "MajorityVote"])
        recommended = [one for one in found.sentences if one.startswith(f"{found.choice} is recommended: ")]
        assert len(recommended) == 1
        if "has the lowest loss." in recommended[0]:
            assert found.choice == found.held_out["vote"].best()
        by_pair = found.held_out["pair"]
        told = [one for one in found.sentences if one.startswith("Pairs without votes are predicted better by ")]
        assert bool(told) == (by_pair.difference(found.choice, by_pair.best()).low > 0)
        helps = [one for one in found.sentences if one.startswith("On held-out pairs, modelling") and "helps" in one]
        assert all(one.endswith("it helps to predict pairs without votes.") for one in helps)
        seen |= {bool(told), bool(helps)}
    assert seen == {True, False}
