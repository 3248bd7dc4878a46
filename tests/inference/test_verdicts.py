from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import jamrank as jr
from jamrank.data.ids import UNNAMED
from jamrank.inference import best_first, flip_intervals
from jamrank.inference.response_bias import ResponseBias
from jamrank.inference.verdicts import judge_relative, verdicts
from jamrank.report import Analysis, describe, findings, render


def verdict(flip: float, votes: float) -> str:
    flips = np.array([flip])
    (told,) = verdicts(flips, *flip_intervals(flips, votes * flips * (1 - flips), np.full(len(flips), float(votes))))
    return told


@pytest.mark.parametrize(
    ("flip", "votes", "told"),
    [
        (0.05, 1000, "reliable"),
        (0.25, 1000, "reliable"),
        (0.35, 1000, "noisy"),
        (0.5, 1000, "random"),
        (0.48, 1000, "random"),
        (0.9, 1000, "adversarial"),
        (0.6, 10_000, "adversarial"),
        (0.4, 5, "too few votes"),
        (0.5, 0, "too few votes"),
    ],
)
def test_what_is_thought_of_an_annotator(flip, votes, told):
    assert verdict(flip, votes) == told


@pytest.mark.parametrize("flip", [0.01, 0.2, 0.5, 0.97])
def test_intervals_hold_the_flip_and_shrink_with_information(flip):
    widths = []
    for information in (0.0, 1.0, 100.0, 1e6):
        low, high = flip_intervals(np.array([flip]), np.array([information]), np.array([1e6]))
        assert 0 <= low[0] < flip < high[0] <= 1
        widths.append(high[0] - low[0])
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.01


def test_intervals_are_symmetric_on_the_logit_scale_and_for_mirrored_flips():
    low, high = flip_intervals(np.array([0.2, 0.8]), np.array([30.0, 30.0]), np.full(2, 200.0))
    np.testing.assert_allclose(logit(high) - logit([0.2, 0.8]), logit([0.2, 0.8]) - logit(low))
    np.testing.assert_allclose(low, 1 - high[::-1])


def test_intervals_cover_a_binomial_flip_as_often_as_they_say():
    rng = np.random.default_rng(0)
    drawn = rng.binomial(400, 0.3, 4000) / 400
    low, high = flip_intervals(drawn, 400 * drawn * (1 - drawn), np.full(len(drawn), 400.0))
    assert ((low < 0.3) & (high > 0.3)).mean() == pytest.approx(0.95, abs=0.015)


def test_nothing_known_is_told_as_too_few_votes_whatever_the_flip():
    flips = np.array([0.0, 0.3, 1.0])
    assert verdicts(flips, *flip_intervals(flips, np.zeros(3), np.full(3, 100.0))) == ["too few votes"] * 3


def lone(n_judges: int, n_sets: int) -> jr.Comparisons:
    """Judges who vote on items of their own set alone."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(n_judges):
        for _ in range(200):
            i, j = rng.choice(8, 2, replace=False)
            rows.append(
                (f"{k % n_sets}-{i}", f"{k % n_sets}-{j}", f"judge{k}", float((i < j) ^ (rng.random() < 0.05)))
            )
    return jr.Comparisons.from_arrays(*zip(*rows, strict=True))


@pytest.mark.parametrize(
    ("name", "n_judges", "n_sets", "alone"),
    [
        ("JAM", 1, 1, True),
        ("JAM", 2, 2, True),
        ("JAM", 2, 1, False),
        ("CrowdBT", 2, 2, True),
        ("BradleyTerry", 1, 1, True),
    ],
)
def test_agreement_with_oneself_is_not_taken_for_reliability(name, n_judges, n_sets, alone):
    votes = lone(n_judges, n_sets)
    frame = getattr(jr, name)().fit(votes).annotators_
    for verdict, evidence, action in frame.select("verdict", "evidence", "action").iter_rows():
        assert (verdict == "alone") == alone
        assert evidence.startswith("no vote is between two items on which others voted too") == alone
        assert (action == "have others vote on the same items") == alone


def test_a_lone_judge_is_never_to_be_left_out():
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 4, 300), rng.integers(4, 8, 300)
    for outcome in (np.ones(300), rng.integers(0, 2, 300)):
        frame = jr.CrowdBT().fit(jr.Comparisons.from_arrays(left, right, ["me"] * 300, outcome)).annotators_
        assert frame["verdict"].to_list() == ["alone"]


def test_whoever_may_be_careful_is_not_called_random():
    flip, low, high = np.array([0.42, 0.42]), np.array([0.16, 0.3]), np.array([0.64, 0.55])
    assert verdicts(flip, low, high) == ["too few votes", "random"]


def test_random_wins_over_tie_lazy():
    # 40 decided votes, half of them left as expected; 160 ties where 20 were expected
    sums = np.array([40.0, 20, 20, 10, 200, 160, 20, 10, 40])
    flip, low, high = np.array([0.49, 0.1]), np.array([0.4, 0.05]), np.array([0.6, 0.15])
    assert verdicts(flip, low, high, ResponseBias(np.stack([sums, sums]))) == ["random", "tie-lazy"]


def test_one_annotator_is_told_what_flips_mean(tmp_path):
    votes = lone(1, 1)
    assert any("All votes are by one annotator" in told for told in jr.check(votes).sentences)
    model = jr.JAM().fit(votes)
    assert any("All votes are by one annotator" in told for told in findings(Analysis(model.result_, votes)))
    assert not any("All votes are by one annotator" in told for told in jr.check(lone(2, 1)).sentences)
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    assert again.annotators_["evidence"].to_list() == model.annotators_["evidence"].to_list()


def test_those_with_too_few_votes_come_last():
    frame = pl.DataFrame(
        {"annotator": list("abc"), "flip": [0.0, 0.3, 0.1], "verdict": ["too few votes", "noisy", "reliable"]}
    )
    assert best_first(frame)["annotator"].to_list() == ["c", "b", "a"]


def star(flips, cycle=False, ties=0.0):
    """Votes of judges, 400 on each pair, on five items against a baseline; with a cycle, also between two of them."""
    rng, scores = np.random.default_rng(0), np.array([0.0, 1.2, 0.7, -0.3, -0.9, 0.4])
    pairs = np.array([(0, other) for other in range(1, 6)] + [(1, 2)] * cycle)
    who, at = (grid.ravel() for grid in np.indices((len(flips), 400 * len(pairs))))
    left, right = pairs[at % len(pairs)].T
    won = rng.random(len(at)) < expit(scores[left] - scores[right])
    outcome = (won ^ (rng.random(len(at)) < np.array(flips)[who])).astype(float)
    outcome[rng.random(len(at)) < ties] = 0.5
    return jr.Comparisons.from_arrays(left, right, who, outcome)


def test_a_star_tells_only_who_errs_more():
    model = jr.CrowdBT().fit(star([0.05, 0.2, 0.5, 0.95]))
    frame = model.annotators_
    assert frame["verdict"].to_list() == ["unresolved", "unresolved", "random", "adversarial"]
    assert frame["flip_low"].null_count() == frame["flip_high"].null_count() == 4
    assert model.flip_[0] < model.flip_[1]
    told = " ".join(findings(Analysis(model.result_, star([0.05, 0.2, 0.5, 0.95]))))
    assert "How often 2 annotators (0 and 1) err is unknown" in told
    assert "reliable" not in told
    # The claim itself: with any flips of the same ratios of 1 - 2 flip there are margins that predict the same.
    skill, chance = 1 - 2 * np.array([0.05, 0.2]), 2 * expit(np.array([0.9, -0.4])) - 1
    other, margins = skill / 0.9, logit((1 + 0.9 * chance) / 2)
    np.testing.assert_allclose(np.outer(other, 2 * expit(margins) - 1), np.outer(skill, chance))


@pytest.mark.parametrize(
    ("model", "votes"),
    [
        (jr.CrowdBT(), star([0.05, 0.1, 0.15], cycle=True)),
        (jr.CrowdBT(), star([0.05, 0.1, 0.15], ties=0.2)),
        (jr.JAM(), star([0.05, 0.1, 0.15])),
    ],
)
def test_a_cycle_ties_or_a_truth_per_pair_tell_how_often_annotators_err(model, votes):
    frame = model.fit(votes).annotators_
    assert "unresolved" not in frame["verdict"].to_list()
    assert frame["flip_low"].null_count() == 0


def test_a_saved_star_has_the_same_verdicts(tmp_path):
    model = jr.Auto().fit(star([0.05, 0.1, 0.15]))
    frame = model.annotators_
    assert set(frame["verdict"]) == {"unresolved"}
    model.save(tmp_path / "m.jamrank")
    assert jr.load(tmp_path / "m.jamrank").annotators_.equals(frame)


def test_where_only_ratios_are_known_the_evidence_has_the_flip_that_is_shown():
    flip = np.array([0.225, 0.246, 0.8, 0.5])
    found = judge_relative(flip, flip - 0.05, flip + 0.05)
    assert found.verdict == ["unresolved", "unresolved", "adversarial", "random"]
    assert found.evidence[2:] == ["flip 0.80: more wrong than right", "flip 0.50: as often wrong as right"]


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
@pytest.mark.parametrize("frames", ["polars", "pandas"])
@pytest.mark.parametrize("model", [jr.BradleyTerry(), jr.CrowdBT(), jr.JAM()])
def test_the_flip_of_a_single_annotator_is_missing(model, frames):
    frame = jr.simulate(6, 1, 80, random_state=0).frame
    for name in ("ann", UNNAMED):
        own = frame.with_columns(annotator=pl.lit(name))
        found = model.fit(jr.Comparisons.from_frame(own if frames == "polars" else own.to_pandas())).annotators_
        for column in ("flip", "flip_low", "flip_high"):
            assert found[column].isna().all() if frames == "pandas" else found[column].null_count() == 1
        assert list(found["verdict"]) == ["alone"]
        assert ("the votes name no annotators" in list(found["evidence"])) is (name == UNNAMED)


def test_features_and_known_truths_tell_of_the_errors_of_a_single_annotator():
    drawn = jr.simulate(20, 1, 400, n_features=2, flips=[0.2], random_state=0)
    assert jr.JAM().fit(drawn.votes, drawn.features).annotators_["flip"].to_list()[0] == pytest.approx(0.2, abs=0.1)
    gold = [(f"item{k:02}", f"item{k + 1:02}") for k in range(9)]
    assert jr.JAM().fit(drawn.votes, gold=gold).annotators_["flip"].null_count() == 0


@pytest.mark.parametrize("n_votes", [20, 100, 800])
def test_on_two_items_more_votes_are_no_remedy(n_votes):
    rng = np.random.default_rng(1)
    who = np.repeat(["a", "b", "c"], n_votes)
    votes = jr.Comparisons.from_arrays(["new"] * len(who), ["old"] * len(who), who, rng.random(len(who)) < 0.63)
    model = jr.fit(votes)
    analysis = Analysis(model.result_, votes)
    frame = analysis.annotators
    assert set(frame["verdict"]) <= {"unresolved", "random"} and "unresolved" in set(frame["verdict"])
    told = [*findings(analysis), *frame["evidence"], *frame["action"]]
    assert not any("too few votes" in one or "other pairs" in one or "more votes" in one for one in told)
    assert "only votes on further items would tell" in " ".join(told)
    page = render(describe(analysis, "A/B", {}))
    assert "other pairs of these items" not in page and "have them vote on further items too" in page
