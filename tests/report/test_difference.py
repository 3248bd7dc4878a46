"""What is said of the order of items where votes do not tell it."""

from __future__ import annotations

import pytest

import jamrank as jr
from jamrank.report.analysis import Analysis
from jamrank.report.difference import compare_items, difference_sentences
from jamrank.report.narrative import findings
from jamrank.simulation import Tastes


def test_no_order_is_settled_where_the_orientation_is_open():
    for flips, is_open in (([0.02, 0.98], True), ([0.02, 0.1], False)):
        votes = jr.simulate(6, 2, 1000, flips=flips, truth="vote", random_state=0).votes
        model = jr.CrowdBT().fit(votes)
        best, worst = model.ranking_["item"][0], model.ranking_["item"][-1]
        analysis = Analysis(model.result_, votes)
        found = compare_items(analysis, best, worst)
        assert found.settled != is_open
        assert ("or the other way round" in difference_sentences(analysis, found)[0]) == is_open


@pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")
@pytest.mark.parametrize("items", ["ab", "abc"])
def test_no_order_is_called_certain_where_all_votes_are_ties(items):
    n = len(items) - 1
    votes = jr.Comparisons.from_arrays(list(items[:-1]), list(items[1:]), ["k"] * n, [0.5] * n)
    said = findings(Analysis(jr.MajorityVote().fit(votes).result_, votes))
    assert not [sentence for sentence in said if "certain" in sentence]


@pytest.mark.filterwarnings("ignore::jamrank.errors.CopiesWarning")
def test_votes_of_copies_are_counted_once_as_in_the_pairs():
    tastes = Tastes(same_pairs=250, copies=2)
    votes = jr.simulate(25, 6, 1, truth="vote", flips=[0.2] * 6, tastes=tastes, random_state=0).votes
    model = jr.JAM().fit(votes)
    assert (model.result_.votes.copy_of >= 0).any()
    pairs = model.pairs_
    a, b = pairs["left"][0], pairs["right"][0]
    analysis = Analysis(model.result_, votes)
    found = compare_items(analysis, a, b)
    own = pairs.filter(pairs["left"].is_in([a, b]) & pairs["right"].is_in([a, b]))
    assert found.for_above + found.for_below + found.ties == own["votes"].sum()
    assert difference_sentences(analysis, found)[-1].endswith("; copies of an annotator are counted once).")
