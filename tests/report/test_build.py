"""Fitted models as reports, and the sentences that go with them."""

import re
import warnings

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import JamrankWarning
from jamrank.models import MODELS
from jamrank.report import Analysis, describe, findings, render, warnings_first, write_report
from jamrank.simulation import Effect, Tastes
from jamrank.text import percent

FLIPS = [0.05, 0.1, 0.1, 0.2, 0.5, 0.9]


@pytest.fixture(scope="module")
def drawn():
    return jr.simulate(20, len(FLIPS), 3000, flips=FLIPS, n_features=3, random_state=3)


@pytest.fixture(scope="module")
def fitted(drawn):
    return jr.JAM().fit(drawn.votes)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name == "FamilyBT" else ()) for name in MODELS]
)
@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_every_model_has_a_report(drawn, name):
    model = MODELS[name]()
    model.fit(drawn.votes, drawn.features if name in ("IAM", "VRJAM", "KernelJAM", "MixedBT") else None)
    report = describe(Analysis(model.result_, drawn.votes), name, {})
    order = model.items_[np.argsort(-model.scores_, kind="stable")]
    assert report.wins.items == order.tolist()
    expected = model.predict_proba(order[[0, 3]], order[[5, 1]])
    assert report.wins.chance[[0, 3], [5, 1]] == pytest.approx(expected)
    if report.wins.log_odds is not None:
        odds = report.wins.log_odds
        assert expit(odds[:, None] - odds)[0, 5] == pytest.approx(expected[0], abs=1e-6)
    assert (report.wins.log_odds is None) == (name == "MajorityVote")
    assert "<h2>Ranking</h2>" in render(report)


def test_the_summary_says_who_is_first_whom_to_leave_out_and_what_to_ask(drawn, fitted):
    told = describe(Analysis(fitted.result_, drawn.votes), "x", {}).summary
    ranking = pl.DataFrame(fitted.ranking_)
    assert told["Ranking"][0].startswith(f"{ranking['item'][0]} ranks first of 20 items")
    assert str(ranking["item"][-1]) in told["Ranking"][0]
    assert told["Annotators"][0] == "Exclude 1 of 6 annotators: ann4 is indistinguishable from random voting."
    assert told["Annotators"][1].startswith("Review or invert the votes of ann5 (this model does the latter)")
    assert told["Annotators"][2].startswith("Keep 4: ")
    assert told["Pairs"][0].startswith("Least certain pairs: ")
    assert any("3,000 votes by 6 annotators" in sentence for sentence in told["Data"])


def test_the_least_certain_pairs_are_named_in_the_order_of_the_ranking():
    seen = 0
    for seed in range(8):
        votes = jr.simulate(8, 3, 120, random_state=seed).votes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            analysis = Analysis(jr.BradleyTerry().fit(votes).result_, votes)
        uncertain = analysis.uncertain
        seen += int((uncertain.above[:3] < 0.5).sum())
        rank = dict(zip(*(analysis.ranking[name].to_list() for name in ("item", "rank")), strict=True))
        (told,) = (line for line in findings(analysis) if line.startswith("Least certain pairs: "))
        named = re.findall(r"(\w+) over (\w+) \((\d+ %)\)", told)
        assert all(rank[upper] <= rank[lower] for upper, lower, _ in named)
        assert [p for *_, p in named] == [percent(p) for p in uncertain.above[:3]]
    assert seen


def test_notes_of_the_data_checks_are_counted_where_there_are_no_problems():
    votes = jr.simulate(6, 3, 60, random_state=0).votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        analysis = Analysis(jr.BradleyTerry().fit(votes).result_, votes)
    notes = [finding for finding in analysis.health.findings if finding.level == "note"]
    (told,) = describe(analysis, "x", {}).summary["Data"]
    assert notes and told.endswith(f"no problems, but list {len(notes)} note{'s' * (len(notes) > 1)}.")


def test_who_else_could_be_first_is_named_with_the_chance(drawn):
    few = jr.simulate(8, 3, 60, random_state=2)
    model = jr.JAM().fit(few.votes)
    told = describe(Analysis(model.result_, few.votes), "x", {}).summary
    chance = (model.result_.uncertainty.rank_draws == 1).mean(axis=0)
    order = [k for k in np.argsort(-chance) if k != np.argmax(model.scores_)]
    assert f"(probability {round(100 * chance[np.argmax(model.scores_)])} %)" in told["Ranking"][0]
    assert f"{model.items_[order[0]]} ({round(100 * chance[order[0]])} %)" in told["Ranking"][0]
    assert told["Pairs"][-1].startswith("To determine the first rank, compare")


def test_the_first_rank_needs_more_than_votes_on_a_few_of_many_who_may_have_it():
    many = jr.simulate(150, 5, 600, random_state=1).votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        analysis = Analysis(jr.BradleyTerry().fit(many).result_, many)
    assert np.sort(analysis.first_probability)[-3:].sum() < 0.5
    told = describe(analysis, "x", {}).summary["Pairs"]
    assert told[-1] == "Many items may be first: to determine the first rank, more votes on all of them are needed."


def test_all_probabilities_of_an_order_are_those_of_the_draws(drawn):
    few = jr.simulate(8, 3, 120, random_state=2)
    model = jr.JAM().fit(few.votes)
    report = describe(Analysis(model.result_, few.votes), "x", {})
    draws, place = model.result_.uncertainty.score_draws, {item: k for k, item in enumerate(model.items_)}
    assert len(report.uncertain) and len(report.contested)
    for row in pl.concat([report.uncertain, report.contested], how="diagonal").iter_rows(named=True):
        above = (draws[:, place[row["left"]]] > draws[:, place[row["right"]]]).mean()
        assert row["above"] == pytest.approx(above) and row["left_rank"] <= row["right_rank"]
    far = (report.uncertain["above"] - 0.5).abs().round(2)
    assert far.is_sorted()


def test_pairs_to_ask_about_carry_their_votes(drawn, fitted):
    report = describe(Analysis(fitted.result_, drawn.votes), "x", {})
    pairs = pl.DataFrame(fitted.pairs_)
    assert len(report.uncertain)
    for row in report.uncertain.iter_rows(named=True):
        both = pairs.filter(
            pl.col("left").is_in([row["left"], row["right"]]) & pl.col("right").is_in([row["left"], row["right"]])
        )
        assert row["votes"] == both["votes"].sum()


def votes_on(*counts):
    rows = [
        ("ann", a, b, "left" if k < wins else "right") for a, b, wins, losses in counts for k in range(wins + losses)
    ]
    return jr.read_comparisons(pl.DataFrame(rows, ["annotator", "left", "right", "winner"], orient="row"))


def test_an_order_that_is_not_certain_needs_a_vote(drawn, fitted):
    report = describe(Analysis(fitted.result_, drawn.votes), "x", {})
    assert report.ask_next.height and (report.ask_next["to_settle"] >= 1).all()


def test_pairs_of_two_groups_have_no_probability_and_no_number_of_votes():
    votes = votes_on(("a", "b", 40, 20), ("b", "c", 35, 25), ("x", "y", 40, 20), ("y", "z", 35, 25))
    report = describe(Analysis(jr.BradleyTerry().fit(votes).result_, votes), "x", {})
    joining = [(row["left"] in "abc") != (row["right"] in "abc") for row in report.ask_next.iter_rows(named=True)]
    assert any(joining) and report.ask_next["above"].is_nan().to_list() == joining
    assert all(np.isinf(report.ask_next["to_settle"].to_numpy()[joining]))
    assert "join groups of items without a vote between them" in render(report)


def test_only_items_of_one_question_are_suggested():
    rows = [("p", f"{q}{a}", f"{q}{b}", "left", q) for q in "uvw" for a, b in ("12", "23") for _ in range(3)]
    votes = jr.read_comparisons(
        pl.DataFrame(rows, ["annotator", "left", "right", "winner", "question"], orient="row")
    )
    with pytest.warns(JamrankWarning):
        analysis = Analysis(jr.BradleyTerry().fit(votes).result_, votes)
        pairs = list(zip(votes.items[analysis.ask_next.upper], votes.items[analysis.ask_next.lower], strict=True))
    assert pairs and all(upper[0] == lower[0] for upper, lower in pairs)


@pytest.mark.parametrize(("make", "told"), [(jr.BradleyTerry, False), (jr.JAM, True)])
def test_one_truth_is_told_of_for_models_that_assume_it(make, told):
    rows = [("ann", "tea", other, "left") for other in ("cola", "milk")] * 10
    votes = jr.read_comparisons(pl.DataFrame(rows, ["annotator", "left", "right", "winner"], orient="row"))
    with pytest.warns(JamrankWarning):
        report = describe(Analysis(make().fit(votes).result_, votes), "x", {})
    assert report.ask_next.height
    assert ("are about one truth" in render(report)) == told
    assert "2 items share the last rank." in report.summary["Ranking"][0]


def test_annotators_who_are_swayed_are_kept():
    tastes = Tastes(effects={"longer": Effect(common=2.0, sd=0.0)})
    frame = jr.simulate(8, 2, 1200, truth="vote", flips=[0.0] * 2, tastes=tastes, random_state=0).frame
    model = jr.fit(frame, "CovariateBT", covariates=["longer"])
    told = describe(Analysis(model.result_, model.result_.votes.source), "x", {}).summary["Annotators"]
    assert "Keep ann0 and ann1, swayed by longer: the effect is taken out of the ranking." in told


def test_votes_are_counted_over_questions():
    drawn = jr.simulate(6, 3, 200, random_state=1).frame
    asked = drawn.with_columns(question=pl.Series(["p", "q"] * 100))
    votes = jr.Comparisons.from_frame(asked)
    report = describe(Analysis(jr.CrowdBT().fit(votes).result_, votes), "x", {})
    row = report.uncertain.row(0, named=True)
    ends = [row["left"], row["right"]]
    assert row["votes"] == drawn.filter(pl.col("left").is_in(ends) & pl.col("right").is_in(ends)).height
    for row in report.contested.iter_rows(named=True):
        ends = [row["left"], row["right"]]
        own = drawn.filter(pl.col("left").is_in(ends) & pl.col("right").is_in(ends))
        assert row["for_left"] + row["for_right"] == own.height


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_a_single_vote_leaves_the_order_open():
    votes = jr.Comparisons.from_arrays(["a"], ["b"], ["x"], [1.0])
    told = describe(Analysis(jr.JAM().fit(votes).result_, votes), "x", {}).summary
    assert told["Pairs"] == ["The order of the two items is not certain (probability below 97.5 %)."]
    assert told["Data"][0].startswith("1 vote by 1 annotator on 1 pair of 2 items")


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_items_that_were_never_compared_are_told_of_first_and_ranked_apart():
    one, other = (jr.simulate(n, 4, 400, random_state=n).frame for n in (6, 5))
    other = other.with_columns(pl.col("left", "right").map_elements(lambda name: f"other {name}", pl.String))
    votes = jr.Comparisons.from_frame(pl.concat([one, other]))
    model = jr.JAM().fit(votes)
    report = describe(Analysis(model.result_, votes), "x", {})
    assert report.summary["Ranking"][0].startswith("The items form 2 groups that were never compared")
    assert report.summary["Ranking"][1].startswith("First in each group: ")
    assert (
        findings(Analysis(model.result_, votes))[0]
        == warnings_first(Analysis(model.result_, votes))[0]
        == report.summary["Ranking"][0]
    )
    assert report.within["group"].to_list() == [1] * 6 + [2] * 5
    assert report.within["rank"].to_list() == [*range(1, 7), *range(1, 6)]
    assert report.within["rank_high"].max() <= 6
    assert report.wins is None
    for row in report.uncertain.iter_rows(named=True):
        assert row["left"].startswith("other") == row["right"].startswith("other")
    features = {str(item): [float(k)] for k, item in enumerate(votes.items)}
    assert describe(Analysis(jr.JAM().fit(votes, features).result_, votes), "x", {}).within is None


def test_judges_who_err_together_are_a_warning_near_the_top():
    rng = np.random.default_rng(0)
    left, right = np.triu_indices(40, 1)
    truth = rng.random((len(left), 1)) < 1 / (1 + np.exp(0.2 * (left - right)))[:, None]
    said = (truth ^ (rng.random((len(left), 5)) < 0.2)).astype(float)
    said[:, 1] = said[:, 0]
    said[0, 1] = 1 - said[0, 0]  # all votes the same would be a copy, which is counted once
    votes = jr.Comparisons.from_matrix(left, right, said, list("ABCDE"))
    report = describe(Analysis(jr.JAM().fit(votes).result_, votes), "x", {})
    assert "5 annotators are equivalent to" in report.summary["Ranking"][1]
    assert not any("upper half" in sentence for sentence in report.summary["Ranking"])
    assert "Errors of A and B are correlated" in report.summary["Annotators"][-1]
    (expected,) = (sentence for _, sentence in report.health if "in the right order" in sentence)
    assert "here they are correlated" in expected


def test_the_scale_and_the_anchor_are_shown(drawn, fitted):
    report = describe(Analysis(fitted.result_, drawn.votes, scale="elo", anchor=fitted.items_[3]), "x", {})
    shown = dict(report.ranking.select("item", "score").iter_rows())
    assert shown[fitted.items_[3]] == pytest.approx(1000)
    assert f"{fitted.items_[3]} = 1000" in report.meaning and "distance to the mean" in report.meaning
    assert "mean of all items = 0" in describe(Analysis(fitted.result_, drawn.votes), "x", {}).meaning


def test_a_model_from_a_file_has_a_report(drawn, fitted, tmp_path):
    fitted.save(tmp_path / "model.jamrank")
    again = describe(Analysis(jr.load(tmp_path / "model.jamrank").result_, drawn.votes), "x", {})
    assert again.uncertain["above"].is_between(0.025, 0.975).all()


def test_findings_keep_their_order(drawn, fitted):
    told = "\n".join(findings(Analysis(fitted.result_, drawn.votes)))
    assert 0 < told.index("Exclude 1 of 6") < told.index("Keep 4") < told.index("Median 95 % rank interval: ")


def test_skills_and_features_of_vrjam(drawn):
    model = jr.VRJAM(n_clusters=2).fit(drawn.votes, drawn.features)
    report = describe(Analysis(model.result_, drawn.votes), "x", {})
    assert report.skills.flip.shape == (6, 2) and report.skills.interval.shape == (6, 2, 2)
    html = render(report)
    assert "<h2>Reliability by type of pair</h2>" in html and "<h2>Feature effects</h2>" in html


def test_ids_that_are_numbers_and_pandas_frames(tmp_path):
    pytest.importorskip("pandas")
    frame = jr.simulate(10, 4, 300, random_state=0).frame.with_columns(
        pl.col("left", "right").str.slice(4).cast(pl.Int64)
    )
    votes = jr.Comparisons.from_frame(frame.to_pandas())
    model = jr.JAM().fit(votes)
    write_report(model, votes, tmp_path / "report.html", "numbers")
    html = (tmp_path / "report.html").read_text()
    assert "<h1>numbers</h1>" in html and "polars" in html and "JAM()" in html


@pytest.mark.filterwarnings("error::jamrank.errors.JamrankWarning")
def test_a_thousand_items_take_less_than_three_megabytes():
    assert issubclass(JamrankWarning, UserWarning)
    drawn = jr.simulate(1000, 60, 20_000, random_state=1)
    html = render(describe(Analysis(jr.Borda().fit(drawn.votes).result_, drawn.votes), "x", {}))
    assert len(html.encode()) < 1_000_000
    assert html.count('<th scope="row"') > 1000


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("ab cd ef", None),
        ("ab ab cd ef", "First in some groups: a (of 2 items"),
        ("ab ab ab cd cd", "First in each group: "),
        ("ab ac bc ab ac de de fg fg hi hi", "First in some groups: "),
        ("ab ac bc ab ac bd cd de de fg hi jk", "First in the largest group: "),
    ],
)
def test_firsts_are_named_of_groups_with_votes_enough(pairs, expected):
    left, right = zip(*pairs.split(), strict=True)
    votes = jr.Comparisons.from_arrays(left, right, ["x"] * len(left), [1.0] * len(left))
    told = describe(Analysis(jr.BradleyTerry().fit(votes).result_, votes), "x", {}).summary["Ranking"]
    firsts = [sentence for sentence in told if sentence.startswith("First in")]
    assert not firsts if expected is None else firsts[0].startswith(expected)


def told_of(left, right, who, won):
    votes = jr.Comparisons.from_arrays(left, right, who, np.asarray(won, dtype=float))
    return findings(Analysis(jr.CrowdBT().fit(votes).result_, votes)), jr.check(votes).sentences


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_two_items_are_spoken_of_as_two():
    told, checked = told_of(["a"] * 80, ["b"] * 80, ["u"] * 80, [k % 2 for k in range(80)])
    assert "Both items share the first rank." in told
    assert any("the order of the two items is right with a probability of about 50 %" in line for line in checked)
    assert not any("all pairs of items" in line for line in checked)


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_annotators_with_many_votes_whose_flips_stay_uncertain_cannot_be_assessed():
    rng = np.random.default_rng(0)
    left = rng.integers(8, size=400)
    right = (left + rng.integers(1, 8, size=400)) % 8
    told, _ = told_of(left, right, rng.integers(5, size=400), rng.integers(2, size=400))
    (sentence,) = (line for line in told if "cannot be assessed" in line)
    assert sentence.endswith("the votes tell too little of how often they err.")
