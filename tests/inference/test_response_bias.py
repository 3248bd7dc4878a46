from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.diagnostics import check
from jamrank.inference import ResponseBias, evidence
from jamrank.inference.verdicts import ACTIONS, PREFERENCE_BALANCED, PREFERENCE_CORRECTED, PREFERENCE_ONLY, verdicts
from jamrank.report import Analysis, findings

pytestmark = pytest.mark.filterwarnings("ignore::jamrank.errors.TiesExcludedWarning")


def crowd(seed: int, n_annotators: int = 20, votes: int = 80):
    """Left, right, who and outcome of honest annotators, with the scores."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.standard_normal(30)
    who = np.repeat(np.arange(n_annotators), votes)
    left = rng.integers(0, 30, len(who))
    right = (left + rng.integers(1, 30, len(who))) % 30
    better = rng.random(len(who)) < 1 / (1 + np.exp(scores[right] - scores[left]))
    return left, right, who, (better ^ (rng.random(len(who)) < 0.1)).astype(float), scores


def told(model, left, right, who, outcome):
    return model.fit(jr.Comparisons.from_arrays(left, right, who, outcome)).annotators_


@pytest.mark.parametrize("model", [jr.JAM(), jr.CrowdBT(), jr.BradleyTerry()])
def test_one_who_picks_a_side_is_found_whichever_side_it_is(model):
    left, right, who, outcome, _ = crowd(0)
    rng = np.random.default_rng(1)
    outcome[who == 0] = 1.0
    outcome[who == 1] = 0.0
    outcome[who == 2] = rng.random(80) < 0.85
    frame = told(model, left, right, who, outcome)
    assert frame["verdict"].to_list()[:3] == ["one-sided", "one-sided", "position-biased"]
    assert set(frame["verdict"].to_list()[3:]) <= {"reliable", "noisy"}
    assert frame["evidence"][0].startswith("picked the left on 80 of 80 votes")
    assert frame["evidence"][1].startswith("picked the right on 80 of 80 votes")


@pytest.mark.parametrize("model", [jr.JAM(), jr.CrowdBT()])
def test_one_who_saw_the_better_item_on_the_left_is_not_biased(model):
    left, right, who, outcome, scores = crowd(2)
    turn = (who == 0) & (scores[left] < scores[right])
    left, right = np.where(turn, right, left), np.where(turn, left, right)
    outcome[turn] = 1 - outcome[turn]
    assert outcome[who == 0].mean() > 0.7
    assert told(model, left, right, who, outcome)["verdict"][0] in ("reliable", "noisy")


def test_ties_count_against_those_of_others_on_comparable_pairs():
    left, right, who, outcome, _ = crowd(3)
    rng = np.random.default_rng(4)
    outcome[(who == 0) & (rng.random(len(who)) < 0.6)] = 0.5
    alone = told(jr.JAM(), left, right, who, outcome)
    assert alone["verdict"].to_list().count("tie-lazy") == 1
    assert alone["verdict"][0] == "tie-lazy"
    outcome[(who > 0) & (rng.random(len(who)) < 0.6)] = 0.5
    assert "tie-lazy" not in told(jr.JAM(), left, right, who, outcome)["verdict"].to_list()


def test_a_few_votes_for_one_side_accuse_nobody():
    left, right, who, outcome, _ = crowd(5)
    few = np.flatnonzero(who == 0)[6:]
    outcome[who == 0] = 1.0
    kept = np.setdiff1d(np.arange(len(who)), few)
    frame = told(jr.JAM(), left[kept], right[kept], who[kept], outcome[kept])
    assert frame["verdict"][0] == "too few votes"


def test_a_jury_in_a_matrix_is_judged_as_its_votes_one_by_one():
    rng = np.random.default_rng(6)
    left, right = np.triu_indices(20, 1)
    turn = rng.random(len(left)) < 0.5
    left, right = np.where(turn, right, left), np.where(turn, left, right)
    matrix = np.where(
        rng.random((len(left), 4)) < 0.2, left[:, None] > right[:, None], left[:, None] < right[:, None]
    )
    matrix = matrix.astype(float)
    matrix[:, 3] = 1.0
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    matrix[rng.random(matrix.shape) < 0.1] = 0.5
    whole = jr.Comparisons.from_matrix(left, right, matrix)
    who = np.tile(np.arange(4), len(left))
    single = jr.Comparisons.from_arrays(np.repeat(left, 4), np.repeat(right, 4), who, matrix.ravel())
    a, b = jr.JAM().fit(whole), jr.JAM().fit(single)
    np.testing.assert_allclose(a.result_.annotators.response_sums, b.result_.annotators.response_sums, atol=1e-9)
    assert a.annotators_["verdict"].to_list() == b.annotators_["verdict"].to_list()
    assert a.annotators_["verdict"][3] == "one-sided"


def test_nobody_is_one_sided_where_every_pair_was_shown_in_one_order():
    # Two judges prefer a, one prefers b, and a is always on the left.
    votes = jr.Comparisons.from_arrays(["a"] * 120, ["b"] * 120, ["x", "y", "z"] * 40, [1.0, 1.0, 0.0] * 40)
    for model in (jr.CrowdBT(), jr.JAM()):
        assert not {"one-sided", "position-biased"} & set(model.fit(votes).annotators_["verdict"])
    found = check(votes)
    assert not [finding for finding in found.findings if "same side" in str(finding)]


def test_surplus_must_be_sure_and_more_than_a_trifle():
    sums = np.zeros((3, 8))
    sums[:, 0] = [100_000, 100, 100]
    sums[:, 1] = [51_000, 67, 75]
    sums[:, 2] = sums[:, 0] / 2
    sums[:, 3] = sums[:, 0] / 4
    sums[:, 4] = sums[:, 0]
    flips, low, high = np.full(3, 0.1), np.full(3, 0.05), np.full(3, 0.2)
    found = verdicts(flips, low, high, ResponseBias(sums))
    assert found == ["reliable", "position-biased", "position-biased"]
    many = np.repeat(sums[1:2], 2000, axis=0)
    assert set(verdicts(*(np.full(2000, v) for v in (0.1, 0.05, 0.2)), ResponseBias(many))) == {"reliable"}
    assert evidence(found, flips, low, high, ResponseBias(sums))[2] == (
        "picked the left on 75 of 100 votes; 50.0 expected from the items"
    )


def jury_with_a_preference(both_orders: bool, seed: int = 0) -> jr.Comparisons:
    """One good annotator, one random, one who votes the other way round, and one who prefers the left."""
    rng = np.random.default_rng(seed)
    scores = np.linspace(1.2, -1.2, 8)
    rows = []
    for prompt in range(150):
        for _ in range(4):
            a, b = rng.choice(8, 2, replace=False)
            for name, slope, lean in (("good", 2.0, 0.0), ("rnd", 0.0, 0.0), ("adv", -1.5, 0.0), ("pos", 1.5, 1.2)):
                for x, y in ((a, b), (b, a)) if both_orders else ((a, b),):
                    p = 1 / (1 + np.exp(-slope * (scores[x] - scores[y]) - lean))
                    rows.append((x, y, name, float(rng.random() < p), prompt))
    left, right, who, won, prompt = (np.array(column) for column in zip(*rows, strict=True))
    return jr.Comparisons.from_arrays(left, right, who, won, question=prompt)


@pytest.mark.parametrize(
    ("noise", "both_orders", "action", "sentence"),
    [
        ("two-coin", True, PREFERENCE_CORRECTED, "; the model corrects this."),
        ("flip", True, PREFERENCE_BALANCED, "; both orders are shown, so that no item gains by it."),
        ("flip", False, ACTIONS["position-biased"], "; show pairs in random order or in both orders, or correct"),
    ],
)
def test_one_who_prefers_a_side_but_tells_of_the_items_is_kept(noise, both_orders, action, sentence):
    votes = jury_with_a_preference(both_orders)
    model = jr.CrowdBT(noise=noise).fit(votes)
    frame = model.annotators_
    own = frame.filter(frame["annotator"] == "pos")
    assert own["verdict"].to_list() == ["position-biased"]
    assert own["action"].to_list() == [action]
    told = findings(Analysis(model.result_, votes))
    if both_orders:
        assert "Exclude 1 of 4 annotators: rnd is indistinguishable from random voting." in told
    assert any(line.startswith(f"pos chooses one side more often than the items explain{sentence}") for line in told)
    assert any(line.startswith("Keep 2") and "1 with a preference for a side (pos)" in line for line in told)
    # Who follows the advice gets a ranking with a direction.
    kept = votes.only(votes.annotators[votes.vote_annotator] != "rnd")
    assert not jr.CrowdBT(noise=noise).fit(kept).result_.annotators.orientation.open


def test_one_who_tells_nothing_but_a_side_is_to_be_left_out():
    left, right, who, outcome, _ = crowd(0)
    outcome[who == 2] = np.random.default_rng(1).random(80) < 0.85
    votes = jr.Comparisons.from_arrays(left, right, who, outcome)
    model = jr.JAM().fit(votes)
    assert model.annotators_["verdict"][2] == "position-biased"
    assert model.annotators_["action"][2] == PREFERENCE_ONLY
    told = " ".join(findings(Analysis(model.result_, votes)))
    assert "2 chooses one side more often than the items explain, and tells almost nothing else" in told


def test_that_the_others_would_balance_each_other_is_said_with_the_advice(monkeypatch):
    votes = jury_with_a_preference(True)
    model = jr.CrowdBT(noise="two-coin").fit(votes)
    annotators, names = model.result_.annotators, votes.annotators.astype(str)
    assert annotators.open_without(np.isin(names, ["rnd", "pos"]))
    assert not annotators.open_without(names == "rnd")
    monkeypatch.setattr(type(annotators), "open_without", lambda self, left_out: True)
    told = findings(Analysis(model.result_, votes))
    assert any(line.startswith("But without rnd the others balance each other") for line in told)
