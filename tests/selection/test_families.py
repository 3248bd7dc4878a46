"""Where annotators do not err independently, FamilyBT is chosen."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.selection import differing_tastes, families
from jamrank.selection.differing_tastes import _in_cycles
from jamrank.selection.families import differ_in_taste
from jamrank.simulation import Tastes


def drawn(tastes, seed, n_items=12, n_votes=900, flips=0.05):
    return jr.simulate(
        n_items, 6, n_votes, truth="vote", flips=[flips] * 6, spread=1.5, tastes=tastes, random_state=seed
    )


CAMPS = Tastes(camps=(3, 3))


@pytest.fixture(scope="module")
def chosen() -> jr.Auto:
    """A choice for two camps of annotators."""
    return jr.Auto().fit(drawn(CAMPS, 0).votes)


def test_camps_are_found_and_their_rankings_are_there(chosen, tmp_path):
    assert chosen.chosen_ == "FamilyBT"
    assert chosen.reason_.startswith("FamilyBT: ")
    assert chosen.reason_.endswith("; annotators do not err independently.")
    table = chosen.comparison_
    assert {"FamilyBT", "BradleyTerry"} <= set(table["model"])
    groups = chosen.model_.rankings_by_family_["annotators"].unique().sort().to_list()
    assert groups == ["ann0, ann1, ann2", "ann3, ann4, ann5"]
    alone = jr.FamilyBT().fit(drawn(CAMPS, 0).votes)
    np.testing.assert_array_equal(chosen.scores_, alone.scores_)
    chosen.save(tmp_path / "model.jamrank")
    again = jr.load(tmp_path / "model.jamrank")
    assert (again.chosen_, again.reason_) == (chosen.chosen_, chosen.reason_)
    assert again.ranking_.equals(chosen.ranking_)
    assert again.annotators_.equals(chosen.annotators_)


def test_it_is_compared_where_the_test_fails():
    few, many = (jr.selection.compare(drawn(own, 0).votes, splits=["vote"], folds=2) for own in (Tastes(), CAMPS))
    assert "FamilyBT" in few.left_out
    assert "FamilyBT" not in many.left_out
    assert many.choice == "FamilyBT"
    assert "FamilyBT is recommended: annotators do not err independently." in many.sentences


def test_it_is_left_out_where_its_ranking_would_be_nobody_s(monkeypatch):
    monkeypatch.setattr(families, "agreement_with_ranking", lambda *given: 0.4)
    votes = drawn(CAMPS, 0).votes
    found = jr.selection.compare(votes, splits=["vote"], folds=2)
    assert found.left_out["FamilyBT"] == "it finds no ranking that annotators share"
    assert found.choice != "FamilyBT"
    assert jr.Auto(folds=2).fit(votes).chosen_ != "FamilyBT"


def test_it_is_not_tried_where_it_cannot_be_used(monkeypatch):
    votes = drawn(CAMPS, 0).votes
    assert families.differ_in_taste(votes)
    monkeypatch.setattr(families, "MOST_SAMPLED", 6 * 12**3 - 1)
    assert not families.differ_in_taste(votes)
    monkeypatch.undo()
    monkeypatch.setattr("jamrank.selection.auto.try_families", None)
    monkeypatch.setattr("jamrank.selection.auto.differ_in_taste", lambda votes: True)
    # None of these reach the sampler.
    jr.Auto().choose(votes, gold=True)
    frame = drawn(CAMPS, 0).frame
    ties = pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("tie")).otherwise("winner").alias("winner")
    tied = jr.Comparisons.from_frame(frame.with_columns(ties))
    jr.Auto().choose(tied)
    with pytest.raises(TypeError):
        jr.Auto().choose(votes)


@pytest.mark.parametrize("many", [(), (12, 8)])
def test_families_are_found_among_many_annotators(many):
    votes = jr.simulate(
        25, 40, 60_000, truth="vote", flips=[0.1] * 40, spread=1.5, tastes=Tastes(families=many), random_state=0
    ).votes
    assert (jr.Auto().fit(votes).chosen_ == "FamilyBT") == bool(many)


def test_names_do_not_change_whether_tastes_differ(monkeypatch):
    seen, test = [], differing_tastes.taste_p_value
    monkeypatch.setattr(differing_tastes, "taste_p_value", lambda *given: seen.append(test(*given)) or seen[-1])
    frame = drawn(Tastes(families=(3,)), 1).frame
    renamed = frame.with_columns(
        frame["annotator"].replace_strict({f"ann{k}": f"x{5 - k}" for k in range(6)}),
        *(
            frame[side].replace_strict({f"item{i:02}": f"y{(5 * i) % 12:02}" for i in range(12)})
            for side in ("left", "right")
        ),
    )
    for one in (frame, renamed, frame[::-1]):
        families.differ_in_taste(jr.Comparisons.from_frame(one))
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.long
def test_families_are_hardly_ever_found_where_there_are_none():
    found = [families.differ_in_taste(drawn(Tastes(), seed, 20, 1000, 0.1).votes) for seed in range(200)]
    # With probability .02 each: more than 11 in fewer than 1 of 1,000 cases.
    assert sum(found) <= 11


@pytest.mark.long
def test_a_held_out_loss_that_is_higher_speaks_against_it():
    # A truth for each pair: what annotators agree on beyond the scores is no taste.
    votes = jr.simulate(12, 6, 1500, truth="pair", flips=[0.1] * 6, random_state=3).votes
    assert jr.Auto().fit(votes).chosen_ != "FamilyBT"


def test_families_are_not_looked_for_where_pairs_leave_scores_open():
    def drawn(left: list[int], right: list[int]) -> jr.Comparisons:
        n = 40 * len(left)
        said = np.random.default_rng(0).integers(0, 2, n).astype(float)
        return jr.Comparisons.from_arrays(left * 40, right * 40, [k % 4 for k in range(n)], said)

    assert _in_cycles(drawn([0, 1, 2], [1, 2, 0]))
    assert not _in_cycles(drawn([0, 0, 0], [1, 2, 3]))
    groups = drawn([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
    assert not _in_cycles(groups) and not differ_in_taste(groups)
