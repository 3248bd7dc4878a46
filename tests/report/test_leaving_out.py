"""What leaving an annotator out changes."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.inference.ranks import ranks
from jamrank.report import Analysis
from jamrank.report.build import write_report
from jamrank.report.leaving_out import LeftOut, leave_out


def study(flips: list[float]) -> jr.Comparisons:
    return jr.simulate(12, len(flips), 1200, flips=flips, truth="vote", random_state=3).votes


def test_it_tells_what_a_fit_without_the_judge_gives(tmp_path):
    votes = study([0.1, 0.1, 0.1, 0.9])
    model = jr.CrowdBT().fit(votes)
    (found,) = leave_out(Analysis(model.result_, votes))
    name = str(model.annotators_.filter(model.annotators_["flip"] > 0.5)["annotator"][0])
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
