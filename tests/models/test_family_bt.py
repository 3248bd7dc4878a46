from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import jamrank as jr
from jamrank.cli.main import main
from jamrank.errors import CopiesWarning, InputError, ParameterError
from jamrank.report.analysis import Analysis
from jamrank.report.judges import family_sentences, too_narrow
from jamrank.simulation import Tastes


def drawn(tastes=None, seed=0, n_items=8, n_annotators=5, n_votes=600):
    return jr.simulate(
        n_items,
        n_annotators,
        n_votes,
        truth="vote",
        flips=[0.1] * n_annotators,
        spread=1.5,
        tastes=tastes or Tastes(),
        random_state=seed,
    )


@pytest.mark.long
def test_known_families_widen_the_intervals_and_are_returned():
    votes = drawn(Tastes(families=(3, 2), family_sd=1.0)).votes
    apart = jr.FamilyBT(families={}, n_draws=96).fit(votes)
    known = jr.FamilyBT(families=dict(zip(votes.annotators.tolist(), "aaabb", strict=True)), n_draws=96).fit(votes)
    assert apart.families_.tolist() == [-1] * 5
    assert known.families_.tolist() == [0, 0, 0, 1, 1]
    assert known.ranking_["score_se"].median() > 1.1 * apart.ranking_["score_se"].median()
    assert apart.effective_judges_ == 5.0
    assert known.effective_judges_ < 4.5


@pytest.fixture(scope="module")
def camps():
    found = drawn(Tastes(camps=(3, 3), camp_correlation=-0.5), n_annotators=6, n_votes=1500)
    return found, jr.FamilyBT(n_draws=160).fit(found.votes)


@pytest.mark.long
def test_camps_have_rankings_of_their_own_and_no_one_order(camps):
    found, model = camps
    by_family = model.rankings_by_family_
    assert set(by_family["annotators"]) == {"ann0, ann1, ann2", "ann3, ann4, ann5"}
    for (members,), own in by_family.group_by("annotators"):
        true = found.tastes.scores[int(members[3])]
        assert np.corrcoef(own.sort("item")["score"], true)[0, 1] > 0.8
    said = " ".join(family_sentences(Analysis(model.result_, found.votes)))
    assert "There is no one order" in said
    # Sides are judged by an annotator's own taste, not by the common scores.
    assert set(model.annotators_["action"].str.slice(0, 4)) == {"keep"}


@pytest.mark.long
def test_votes_of_annotators_follow_their_own_taste(camps):
    found, model = camps
    votes = found.votes
    family, crowd = model.vote_proba(votes), jr.CrowdBT().fit(votes).vote_proba(votes)
    won = votes.vote_result == 1

    def loss(p):
        return -(votes.vote_weight * np.log(np.where(won, p, 1 - p))).sum() / votes.vote_weight.sum()

    assert ((family > 0) & (family < 1)).all()
    assert loss(family) < loss(crowd) - 0.02


def test_nobody_is_warned_of_narrow_intervals_that_allow_for_families():
    votes = drawn(Tastes(families=(4,), family_sd=1.5)).votes
    model = jr.FamilyBT(families=dict.fromkeys(["ann0", "ann1", "ann2", "ann3"], "a"), n_draws=64).fit(votes)
    analysis = Analysis(model.result_, votes)
    assert model.effective_judges_ < 0.8 * 5
    assert too_narrow(analysis) == []
    assert "ann0, ann1, ann2 and ann3 share a taste" in family_sentences(analysis)[0]
    # The sentence on all of them states the probability that the evidence of each states.
    model.result_.extras["in_family"][:4] = 0.79
    assert "(probability 0.79)" in family_sentences(analysis)[0]
    assert model.annotators_["evidence"][0].startswith("shares a taste with them, probability 0.79")
    assert model.annotators_["verdict"][0] == "family of ann1, ann2, ann3"


def test_own_tastes_are_named():
    found = [drawn(Tastes(own_sd=sd), n_items=10) for sd in (1.5, 0.0)]
    fits = [jr.FamilyBT(families={}, n_draws=64).fit(one.votes) for one in found]
    own, none = (" ".join(family_sentences(Analysis(m.result_, d.votes))) for m, d in zip(fits, found, strict=True))
    assert "Annotators have tastes of their own" in own
    assert "of their own" not in none


@pytest.mark.long
def test_copies_count_once():
    found = drawn(Tastes(copies=3, same_pairs=125), n_items=20)
    with pytest.warns(CopiesWarning):
        model = jr.FamilyBT(families={}, n_draws=32).fit(found.votes)
    assert model.effective_judges_ == pytest.approx(3.0)
    assert [str(v).startswith("copy of") for v in model.annotators_["verdict"]] == [False] * 3 + [True] * 2


@pytest.mark.parametrize(
    "votes",
    [
        [("x", "a", "b", "left")],
        [("x", "a", "b", "left"), ("x", "b", "a", "left")],
        [("x", "a", "b", "left")] * 30 + [("y", "a", "b", "left")] * 30,
        [("x", "a", "b", "left"), ("y", "c", "d", "right")],
    ],
)
def test_dull_votes_give_finite_results(votes):
    who, left, right, winner = zip(*votes, strict=True)
    table = jr.Comparisons.from_frame(
        pl.DataFrame({"annotator": who, "left": left, "right": right, "winner": winner})
    )
    model = jr.FamilyBT(n_draws=32).fit(table)
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.ranking_["score_se"].to_numpy()).all()
    assert np.isfinite(model.vote_proba(table)).all()
    assert model.rankings_by_family_.height >= table.n_items


def test_what_cannot_be_fitted_is_said():
    votes = drawn().votes
    with pytest.raises(ParameterError, match="families names nobody, who cast no vote"):
        jr.FamilyBT(families={"nobody": "a"}).fit(votes)
    with pytest.raises(ParameterError, match="expected None or the family"):
        jr.FamilyBT(families=3).fit(votes)
    with pytest.raises(ParameterError, match="too many for FamilyBT"):
        jr.FamilyBT().fit(jr.simulate(400, 5, 2000, random_state=0).votes)
    with pytest.raises(ParameterError, match="n_draws is 0"):
        jr.FamilyBT(n_draws=0).fit(votes)


def test_families_come_from_a_file(tmp_path):
    found = drawn()
    found.frame.write_csv(tmp_path / "votes.csv")
    (tmp_path / "families.csv").write_text("annotator,family\nann0,a\nann1,a\nann2,\n")
    assert jr.read_families(tmp_path / "families.csv") == {"ann0": "a", "ann1": "a"}
    votes, families, out = (str(tmp_path / name) for name in ("votes.csv", "families.csv", "r"))
    done = CliRunner().invoke(main, ["fit", votes, "--families", families, "--out", out])
    assert done.exit_code == 0, done.output
    assert jr.load(tmp_path / "r" / "model.jamrank").families_.tolist() == [0, 0, -1, -1, -1]
    assert (tmp_path / "r" / "report.html").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [("annotator,group\nx,a\n", "no column 'family'"), ("annotator,family\nx,a\nx,b\n", "annotator x comes twice")],
)
def test_a_file_of_families_that_is_wrong_is_said(tmp_path, content, said):
    (tmp_path / "f.csv").write_text(content)
    with pytest.raises(InputError, match=said):
        jr.read_families(tmp_path / "f.csv")
