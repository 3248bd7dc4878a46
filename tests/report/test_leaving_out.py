"""What leaving an annotator out changes."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.inference.ranks import ranks
from jamrank.report import Analysis
from jamrank.report.build import write_report
from jamrank.report.leaving_out import LeftOut, leave_out
from jamrank.selection.judging import assessed


def study(flips: list[float]) -> jr.Comparisons:
    return jr.simulate(12, len(flips), 1200, flips=flips, truth="vote", random_state=3).votes


def test_it_tells_what_a_fit_without_the_judge_gives(tmp_path):
    votes = study([0.1, 0.1, 0.1, 0.5])
    model = jr.CrowdBT().fit(votes)
    (found,) = leave_out(Analysis(model.result_, votes))
    name = str(model.annotators_.filter(model.annotators_["flip"] > 0.4)["annotator"][0])
    assert found.annotator == name
    kept = votes.only(votes.vote_annotator != votes.annotators.tolist().index(name))
    then = ranks(jr.CrowdBT().fit(kept).scores_, within=1e-9)
    now = ranks(model.scores_, within=1e-9)
    moved = {str(votes.items[k]): (int(now[k]), int(then[k])) for k in np.flatnonzero(now != then)}
    assert {item: (a, b) for item, a, b in found.moved} == moved
    write_report(model, votes, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"Without {name}," in page
    assert f"jamrank fit VOTES --without {name}" in page


def test_nobody_is_left_out_without_a_reason():
    votes = study([0.1, 0.1, 0.2])
    assert leave_out(Analysis(jr.CrowdBT().fit(votes).result_, votes)) == []


def test_those_whose_votes_the_model_reverses_are_not_left_out():
    votes = study([0.1, 0.1, 0.1, 0.9])
    assert leave_out(Analysis(jr.CrowdBT().fit(votes).result_, votes)) == []
    assert len(leave_out(Analysis(assessed(jr.BradleyTerry().fit(votes)), votes))) == 1


def test_nobody_is_left_out_where_the_others_would_balance_each_other():
    found = LeftOut("ann", [("a", 1, 2)], 5, opens=True)
    assert "upside down: add gold pairs" in found.sentence


@pytest.mark.parametrize(
    ("moved", "sentence"),
    [
        ([], "Without ann, no item changes its rank."),
        ([("a", 1, 2)], "Without ann, 1 of 5 items changes its rank (a 1 → 2)."),
        ([(n, 1, 2) for n in "abcd"], "Without ann, 4 of 5 items change their ranks (a 1 → 2, b 1 → 2, c 1 → 2, …)."),
    ],
)
def test_the_sentence(moved, sentence):
    assert LeftOut("ann", moved, 5).sentence == sentence


def test_names_are_quoted():
    assert LeftOut("ann; rm x", [], 5).command == "jamrank fit VOTES --without 'ann; rm x'"
