from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from jamrank.errors import ParameterError
from jamrank.simulation import Effect, Tastes, simulate


def drawn(tastes, n_items=200, n_votes=20_000, seed=0, **more):
    return simulate(
        n_items, 8, n_votes, truth="vote", flips=[0.0] * 8, spread=1.0, tastes=tastes, random_state=seed, **more
    )


def test_members_of_a_family_share_an_effect_of_its_deviation():
    found = drawn(Tastes(families=(5,), family_sd=0.8))
    effect = found.tastes.scores - found.scores
    assert found.tastes.family.tolist() == [0] * 5 + [-1] * 3
    np.testing.assert_array_equal(effect[:5], np.tile(effect[0], (5, 1)))
    np.testing.assert_array_equal(effect[5:], 0.0)
    assert effect[0].std() == pytest.approx(0.8, abs=0.12)


def test_own_tastes_are_independent():
    found = drawn(Tastes(own_sd=0.5))
    effect = found.tastes.scores - found.scores
    np.testing.assert_allclose(np.corrcoef(effect) - np.eye(8), 0.0, atol=0.3)
    assert effect.std() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("correlation", [-1.0, 0.0, 0.7])
def test_camps_have_tastes_of_that_correlation(correlation):
    found = drawn(Tastes(camps=(5, 3), camp_correlation=correlation))
    np.testing.assert_array_equal(found.tastes.scores[:5], np.tile(found.scores, (5, 1)))
    assert np.corrcoef(found.scores, found.tastes.scores[6])[0, 1] == pytest.approx(correlation, abs=0.2)


def test_copies_cast_the_same_votes_and_others_do_not():
    found = drawn(Tastes(copies=3), n_items=20, n_votes=1000)
    votes = {
        name: own.drop("annotator").rows() for (name,), own in found.frame.group_by("annotator", maintain_order=True)
    }
    assert votes["ann5"] == votes["ann6"] == votes["ann7"] != votes["ann4"]
    assert 900 <= found.votes.n_votes <= 1100
    assert found.flips[5] == found.flips[7]


def test_a_given_array_of_flips_is_left_alone():
    flips = np.linspace(0.0, 0.35, 8)
    before = flips.copy()
    simulate(20, 8, 1000, truth="vote", flips=flips, tastes=Tastes(copies=4), random_state=0)
    np.testing.assert_array_equal(flips, before)


def test_everybody_votes_on_the_same_pairs_if_asked():
    found = drawn(Tastes(same_pairs=125, copies=2), n_items=20)
    assert found.votes.n_pairs == 125
    assert found.votes.annotator_weight.tolist() == [125.0] * 8


def test_votes_follow_the_covariates():
    effects = {"longer": Effect(common=2.0), "own": Effect(sd=1.0, of_items=True)}
    found = drawn(Tastes(effects=effects), n_votes=5000)
    longer, left = found.frame["longer"].to_numpy(), (found.frame["winner"] == "left").to_numpy()
    assert left[longer > 1].mean() > 0.75 > 0.25 > left[longer < -1].mean()
    assert found.tastes.effects.shape == (8, 2)
    np.testing.assert_array_equal(found.tastes.effects[:, 0], 2.0)
    # A difference of constants of items: the same for a pair in every vote, but for the side.
    turned = found.frame.select("left", "right", "own").with_columns(
        pl.when(pl.col("left") < pl.col("right")).then("own").otherwise(-pl.col("own")).alias("own"),
        pl.min_horizontal("left", "right").alias("a"),
        pl.max_horizontal("left", "right").alias("b"),
    )
    assert turned.group_by("a", "b").agg(pl.col("own").round(9).n_unique())["own"].max() == 1


def test_effects_of_single_annotators_and_lengths_of_items():
    found = drawn(Tastes(effects={"longer": Effect(own=(0.8, 0.8, 0.8), item_sd=2.0)}), n_votes=5000)
    np.testing.assert_array_equal(found.tastes.effects[:, 0], [0.8] * 3 + [0.0] * 5)
    # One for each vote, and two items with a deviation of 2: a variance of 1 + 2 · 2².
    assert 1.5 < found.frame["longer"].std() < 4.5
    with pytest.raises(ParameterError, match="longer names 9 of 8 annotators"):
        drawn(Tastes(effects={"longer": Effect(own=(1.0,) * 9)}))


@pytest.mark.parametrize(
    ("tastes", "said"),
    [
        (Tastes(families=(5, 4)), "families"),
        (Tastes(copies=9), "copies is 9"),
        (Tastes(families=(2,), camps=(2,)), "one of them"),
        (Tastes(own_sd=-1.0), "deviations"),
        (Tastes(camp_correlation=2.0), "camp_correlation is 2.0"),
        (Tastes(same_pairs=10**6), "same_pairs"),
    ],
)
def test_what_cannot_be_is_said(tastes, said):
    with pytest.raises(ParameterError, match=said):
        drawn(tastes, n_votes=100)


def test_tastes_need_a_truth_for_each_vote():
    with pytest.raises(ParameterError, match="need truth 'vote'"):
        simulate(tastes=Tastes(families=(2,)))
