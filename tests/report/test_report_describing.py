"""Fitted models as reports, and the sentences that go with them."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.errors import JamrankWarning
from jamrank.models import MODELS
from jamrank.report import describe, findings, render, write_report

FLIPS = [0.05, 0.1, 0.1, 0.2, 0.5, 0.9]


@pytest.fixture(scope="module")
def drawn():
    return jr.simulate(20, len(FLIPS), 3000, flips=FLIPS, n_features=3, random_state=3)


@pytest.fixture(scope="module")
def fitted(drawn):
    return jr.JAM().fit(drawn.votes)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
def test_every_model_has_a_report(drawn, name):
    model = MODELS[name]()
    model.fit(drawn.votes, drawn.features if name in ("IAM", "VRJAM") else None)
    report = describe(model, drawn.votes, name, {})
    order = model.items_[np.argsort(-model.scores_, kind="stable")]
    assert report.beats.items == order.tolist()
    expected = model.predict_proba(order[[0, 3]], order[[5, 1]])
    assert report.beats.chance[[0, 3], [5, 1]] == pytest.approx(expected)
    if report.beats.log_odds is not None:
        odds = report.beats.log_odds
        assert expit(odds[:, None] - odds)[0, 5] == pytest.approx(expected[0], abs=1e-6)
    assert (report.beats.log_odds is None) == (name == "MajorityVote")
    assert "<h2>Ranking</h2>" in render(report)


def test_the_summary_says_who_is_first_whom_to_leave_out_and_what_to_ask(drawn, fitted):
    told = describe(fitted, drawn.votes, "x", {}).summary
    ranking = pl.DataFrame(fitted.ranking_)
    assert told["Ranking"][0].startswith(f"{ranking['item'][0]} ranks first of 20 items")
    assert f"{ranking['item'][-1]} comes last" in told["Ranking"][0]
    assert "Leave out or replace: 1 annotator (ann4) cannot be told from coin tossers." in told["Annotators"]
    assert any("ann5" in sentence and "against the truth" in sentence for sentence in told["Annotators"])
    assert any(sentence.startswith("Least settled") for sentence in told["Pairs"])
    assert any("3,000 votes by 6 annotators" in sentence for sentence in told["Data"])


def test_who_else_could_be_first_is_named(drawn):
    few = jr.simulate(8, 3, 60, random_state=2)
    model = jr.JAM().fit(few.votes)
    report = describe(model, few.votes, "x", {})
    could = pl.DataFrame(model.ranking_).filter((pl.col("rank_low") == 1) & (pl.col("rank") > 1))["item"].to_list()
    assert could and could[0] in report.summary["Ranking"][0] and "not settled" in report.summary["Ranking"][0]
    assert report.summary["Pairs"][0].startswith("To settle the first place, ask about")


def test_pairs_to_ask_about_carry_their_votes(drawn, fitted):
    report = describe(fitted, drawn.votes, "x", {})
    pairs = pl.DataFrame(fitted.pairs_)
    for row in report.unsettled.iter_rows(named=True):
        both = pairs.filter(
            pl.col("left").is_in([row["left"], row["right"]]) & pl.col("right").is_in([row["left"], row["right"]])
        )
        assert row["votes"] == both["votes"].sum()
        assert row["p_left"] == pytest.approx(fitted.predict_proba(row["left"], row["right"])[0])
        assert row["left_rank"] < row["right_rank"]


def test_votes_are_counted_over_questions():
    drawn = jr.simulate(6, 3, 200, random_state=1).frame
    asked = drawn.with_columns(question=pl.Series(["p", "q"] * 100))
    votes = jr.Comparisons.from_frame(asked)
    report = describe(jr.CrowdBT().fit(votes), votes, "x", {})
    row = report.unsettled.row(0, named=True)
    ends = [row["left"], row["right"]]
    assert row["votes"] == drawn.filter(pl.col("left").is_in(ends) & pl.col("right").is_in(ends)).height
    assert "question" in report.contested.columns


def test_findings_keep_their_order(drawn, fitted):
    told = "\n".join(findings(fitted, drawn.votes))
    assert 0 < told.index("Leave out or replace") < told.index("A rank is known to within")


def test_skills_and_features_of_vrjam(drawn):
    model = jr.VRJAM(n_clusters=2).fit(drawn.votes, drawn.features)
    report = describe(model, drawn.votes, "x", {})
    assert report.skills.flip.shape == (6, 2) and report.skills.interval.shape == (6, 2, 2)
    html = render(report)
    assert "<h2>Who is good at what</h2>" in html and "<h2>What drives the score</h2>" in html


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
    html = render(describe(jr.JAM().fit(drawn.votes), drawn.votes, "x", {}))
    assert len(html.encode()) < 1_000_000
    assert html.count('<th scope="row"') > 1000
