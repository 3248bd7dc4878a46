from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import jamrank as jr
from jamrank.data.storage import FIRST
from jamrank.errors import InputError
from jamrank.selection.folds import assign_folds

RNG = np.random.default_rng(0)
LEFT, RIGHT = RNG.integers(0, 8, 200), RNG.integers(8, 12, 200)
WHO = RNG.choice(["x", "y", "z"], 200)
P = np.round(RNG.uniform(0.02, 0.98, 200), 3)
P[P == 0.5] = 0.51
SOFT = jr.Comparisons.from_arrays(LEFT, RIGHT, WHO, P)


def two_votes() -> jr.Comparisons:
    twice = np.concatenate
    outcome, weight = np.repeat([1.0, 0.0], 200), twice([P, 1 - P])
    return jr.Comparisons.from_arrays(twice([LEFT, LEFT]), twice([RIGHT, RIGHT]), twice([WHO, WHO]), outcome, weight)


def test_a_soft_vote_is_one_vote():
    assert SOFT.n_votes == 200
    assert SOFT.n_folded == len(set(zip(LEFT, RIGHT, WHO, strict=True)))
    assert float(SOFT.annotator_weight.sum()) == pytest.approx(200)
    assert SOFT.vote_soft.all() and SOFT.n_grades == 0


@pytest.mark.parametrize("model", [jr.BradleyTerry(), jr.CrowdBT(), jr.JAM(), jr.MajorityVote()])
def test_the_likelihood_is_that_of_two_weighted_votes(model):
    np.testing.assert_allclose(model.fit(SOFT).scores_, type(model)().fit(two_votes()).scores_, atol=1e-9)


def test_bradley_terry_maximises_the_expected_log_likelihood():
    def loss(scores):
        margin = scores[LEFT] - scores[RIGHT]
        likely = P * -np.logaddexp(0, -margin) + (1 - P) * -np.logaddexp(0, margin)
        return -float(likely.sum()) + float((scores**2).sum()) / 2

    best = minimize(loss, np.zeros(12), tol=1e-12).x
    scores = jr.BradleyTerry(prior=jr.Prior(score_variance=1.0)).fit(SOFT).scores_
    np.testing.assert_allclose(scores, best - best.mean(), atol=1e-5)


def test_soft_votes_contradict_nothing_and_are_no_duplicates():
    once = {(left, right): k for k, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True))}
    at = list(once.values())
    votes = jr.Comparisons.from_arrays(LEFT[at], RIGHT[at], ["x"] * len(at), P[at])
    counts = jr.check(votes).counts
    assert counts["votes"] == len(at)
    assert not counts["contradicted_pairs"] and not counts["repeated_pairs"] and not counts["folded"]
    assert not counts["uninformative"]
    again = jr.Comparisons.from_arrays(["a"] * 5, ["b"] * 5, ["x"] * 5, [0.6, 0.7, 0.8, 1, 1])
    counts = jr.check(again).counts
    assert counts["folded"] == 1 and counts["repeated_pairs"] == 1
    assert "contradicted_pairs" not in counts  # added up, soft votes do not tell


def test_both_parts_of_a_soft_vote_are_held_out_together():
    written, fold = assign_folds(SOFT, 3, "vote")
    unit = {}
    for pair, who, at in zip(written.vote_pair, written.vote_annotator, fold, strict=True):
        assert unit.setdefault((pair, who), at) == at


def test_the_canonical_form_has_one_row_a_soft_vote(tmp_path):
    votes = jr.Comparisons.from_arrays(
        ["a", "c", "b", "a"], ["b", "a", "c", "b"], ["x", "x", "y", "z"], [0.8, 0.3, 1, 0.5], weight=[1, 2, 1, 1]
    )
    frame = votes.to_frame()
    assert frame.height == 4 and frame["weight"].to_list() == [1.0, 1.0, 2.0, 1.0]
    assert frame["winner"].to_list() == ["left", "tie", "right", "left"]
    assert [None if p is None else round(p, 12) for p in frame["p_left"]] == [0.8, None, 0.3, None]
    frame.write_csv(tmp_path / "votes.csv")
    again = jr.read_comparisons(tmp_path / "votes.csv")
    assert again.n_votes == 4 and again.to_frame().equals(frame)
    assert (again.vote_result == votes.vote_result).all()
    np.testing.assert_allclose(again.vote_weight, votes.vote_weight)


def test_certain_probabilities_are_plain_votes():
    frame = pl.DataFrame(
        {"annotator": "x", "left": ["a", "b"], "right": ["b", "c"], "winner": "left", "p_left": [1.0, 0.0]}
    )
    votes = jr.Comparisons.from_frame(frame)
    assert not votes.vote_soft.any() and votes.vote_result.tolist() == [1, 0]


def test_a_matrix_may_have_soft_votes():
    votes = jr.Comparisons.from_matrix(["a", "a"], ["b", "c"], [[1.0, 0.7], [0.5, np.nan]], ["x", "y"])
    assert votes.n_votes == 3 and votes.n_ties == 1 and votes.n_missing == 1
    assert votes.vote_weight[votes.vote_soft].tolist() == pytest.approx([0.3, 0.7])


def test_grades_are_kept_through_folding_files_and_models(tmp_path):
    votes = jr.Comparisons.from_arrays(
        ["a", "a", "b", "a", "c"],
        ["b", "b", "a", "c", "b"],
        ["x", "x", "x", "y", "y"],
        [1, 1, 0, 0.5, 0],
        grade=[2, 1, 2, None, 3],
    )
    assert votes.n_grades == 3 and votes.n_votes == 5 and votes.n_folded == 5
    frame = votes.to_frame()
    assert sorted(frame["grade"].to_list(), key=str) == [1, 2, 2, 3, None]
    frame.write_csv(tmp_path / "votes.csv")
    again = jr.read_comparisons(tmp_path / "votes.csv")
    assert (again.vote_grade == votes.vote_grade).all() and again.to_frame().equals(frame)
    first = votes.vote_result == FIRST
    kept = votes.only(first)
    assert (kept.vote_grade == votes.vote_grade[first]).all()
    equal = jr.Comparisons.from_arrays(["a"] * 3, ["b"] * 3, ["x"] * 3, [1, 1, 1], grade=[2, 2, 1])
    assert equal.vote_weight.tolist() == [1.0, 2.0] and equal.vote_grade.tolist() == [1, 2]


@pytest.mark.parametrize(("column", "value"), [("grade", 1.5), ("grade", 12), ("p_left", 1.2), ("p_left", "much")])
def test_a_bad_value_is_refused_with_its_row(column, value):
    frame = pl.DataFrame(
        {"annotator": "x", "left": ["a", "b"], "right": ["b", "c"], "winner": "left", column: [None, value]}
    )
    with pytest.raises(InputError, match=f"row 2: {column} is"):
        jr.Comparisons.from_frame(frame)


def test_votes_in_parts_have_no_grades(tmp_path):
    frame = jr.simulate(5, 3, 100, random_state=0).frame.with_columns(grade=pl.lit(1))
    frame.write_parquet(tmp_path / "votes.parquet")
    with pytest.raises(InputError, match="in memory only"):
        jr.store_comparisons(tmp_path / "votes.parquet", scratch=tmp_path / "scratch")
