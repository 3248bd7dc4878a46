from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.diagnostics import check
from jamrank.inference import ResponseBias, evidence
from jamrank.inference.verdicts import verdicts

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
