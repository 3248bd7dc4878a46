"""Where votes of an annotator on an item agree more than independent ones, TasteBT is tried."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.report import Analysis, findings
from jamrank.selection import item_agreement
from jamrank.selection.item_agreement import agreement_on_items, have_own_tastes
from jamrank.simulation import Tastes


def drawn(own_sd, seed, flips=0.05, n_annotators=25):
    return jr.simulate(
        30,
        n_annotators,
        5000,
        truth="vote",
        flips=[flips] * n_annotators,
        spread=1.2,
        tastes=Tastes(own_sd=own_sd),
        random_state=seed,
    ).votes


def test_it_is_chosen_where_annotators_have_tastes(tmp_path):
    model = jr.Auto().fit(drawn(1.0, 0))
    assert model.chosen_ == "TasteBT"
    assert model.reason_.endswith("; votes of one annotator on an item agree more than independent votes would.")
    # Flips of a model without tastes take tastes for errors.
    assert model.annotators_["flip_low"].null_count() == 25
    assert any("intervals of flips are withheld" in line for line in findings(Analysis(model.result_, drawn(1.0, 0))))
    model.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    assert (again.chosen_, again.reason_) == (model.chosen_, model.reason_)
    assert again.ranking_.equals(model.ranking_)
    assert again.annotators_.equals(model.annotators_)
    np.testing.assert_array_equal(again.vote_proba(drawn(1.0, 0)), model.vote_proba(drawn(1.0, 0)))


def test_it_is_not_tried_where_annotators_are_independent():
    for seed in range(8):
        votes = drawn(0.0, seed, flips=0.15)
        assert agreement_on_items(votes) < 3
        assert not have_own_tastes(votes)


def test_the_statistic_is_the_sum_of_products():
    votes = drawn(0.5, 1)
    votes = votes.only(np.arange(votes.n_folded) < 400)
    model = jr.CrowdBT(flips="joint", ties="leave out", tol=1e-4).fit(votes)
    proba, flip = model.vote_proba(votes), model.flip_[votes.vote_annotator]
    first, second = votes.pair_first[votes.vote_pair], votes.pair_second[votes.vote_pair]
    truth = 1 / (1 + np.exp(model.scores_[second] - model.scores_[first]))
    slope = (1 - 2 * flip) * truth * (1 - truth)
    said = votes.vote_weight * slope * ((votes.vote_result == 1) - proba) / (proba * (1 - proba))
    information = votes.vote_weight * slope**2 / (proba * (1 - proba))
    total = square = 0.0
    for i in range(len(said)):
        for j in range(i):
            common = {first[i], second[i]} & {first[j], second[j]}
            if votes.vote_annotator[i] == votes.vote_annotator[j] and len(common) == 1:
                (item,) = common
                sign = (1 if first[i] == item else -1) * (1 if first[j] == item else -1)
                total += 2 * sign * said[i] * said[j]
                square += 2 * information[i] * information[j]
    assert agreement_on_items(votes) == pytest.approx(total / np.sqrt(2 * square), rel=1e-6)


def test_it_is_tried_only_where_families_are_not_and_a_fit_is_fast(monkeypatch):
    votes = drawn(1.0, 0)
    assert have_own_tastes(votes)
    monkeypatch.setattr(item_agreement, "_MOST_WORK", 10.0)
    assert not have_own_tastes(votes)
    monkeypatch.undo()
    monkeypatch.setattr(item_agreement, "MOST_SAMPLED", 25 * 30**3)
    assert not have_own_tastes(votes)


def test_it_is_compared_where_the_test_finds_tastes():
    few, many = (jr.selection.compare(drawn(own, 0), splits=["vote"], folds=2) for own in (0.0, 1.0))
    assert few.left_out["TasteBT"] == "it fits the taste of each annotator; name it to wait for it"
    assert "TasteBT" not in many.left_out
    assert many.choice == "TasteBT"
