"""Annotators who differ too much to count their votes alike."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.rows import by_one
from jamrank.selection import compare
from jamrank.selection.differing import THEY_DIFFER, _chance, differences


def star(flips, seed, each=40):
    """A baseline always on the left of five candidates: ``each`` votes by every annotator on every pair."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 0.7, 6)
    n = 5 * each * len(flips)
    right, who = np.arange(n) % 5 + 1, np.arange(n) // 5 % len(flips)
    won = (rng.random(n) < expit(scores[0] - scores[right])) ^ (rng.random(n) < np.asarray(flips)[who])
    return jr.Comparisons.from_arrays(np.zeros(n, dtype=int), right, who, won.astype(float)), scores


@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (5, 7), (20, 3)])
def test_the_bound_is_the_law_of_the_largest_root(shape):
    rng = np.random.default_rng(0)
    roots = [np.linalg.svd(rng.standard_normal(shape), compute_uv=False)[0] ** 2 for _ in range(4000)]
    beyond = np.array([_chance(root, *shape) for root in roots])
    for level in (0.05, 0.01, 0.001):
        assert (beyond < level).mean() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 4000))


def test_an_inverted_annotator_is_no_chance_and_honest_ones_are():
    inverted = [differences(star([0.05, 0.1, 0.9], seed)[0]) for seed in range(20)]
    honest = [differences(star([0.1] * n, seed)[0]) for n in (3, 8) for seed in range(20)]
    assert sum(found.matter for found in inverted) >= 15
    assert not any(found.matter for found in honest)
    # Two votes for, one against: a ninth of the votes would say as much.
    assert np.median([found.efficiency for found in inverted]) == pytest.approx(0.13, abs=0.1)


def test_the_chance_depends_on_neither_names_nor_order_nor_weights():
    votes, _ = star([0.1, 0.1, 0.5], 3)
    order = np.random.default_rng(1).permutation(len(votes.vote_result))
    pair = votes.vote_pair[order]
    turned = jr.Comparisons.from_arrays(
        9 - votes.pair_second[pair],
        9 - votes.pair_first[pair],
        7 - votes.vote_annotator[order],
        1.0 - votes.vote_result[order],
        weight=votes.vote_weight[order],
    )
    assert differences(turned).chance == pytest.approx(differences(votes).chance, rel=1e-6)
    assert differences(by_one(votes)).chance == 1.0


def test_auto_and_compare_take_a_model_of_annotators_and_say_why():
    votes, _ = star([0.05, 0.1, 0.9], 8)
    model = jr.Auto().fit(votes)
    assert model.chosen_ == "CrowdBT"
    assert model.reason_.endswith(f"; {THEY_DIFFER}.")
    found = compare(votes, models=["BradleyTerry", "CrowdBT"])
    assert found.held_out["vote"].simplest == "BradleyTerry"
    assert found.choice == "CrowdBT"
    assert f"CrowdBT is recommended: {THEY_DIFFER}." in found.sentences


def test_models_that_auto_does_not_try_are_not_recommended_as_simpler():
    votes, _ = star([0.05, 0.1, 0.9], 3)
    found = compare(votes, splits=["vote"])
    assert found.choice == jr.Auto().fit(votes).chosen_
    names = list(found.held_out["vote"].trials)
    assert names.index("CrowdBT") < names.index("MajorityVote")


def test_the_fit_that_tests_share_does_not_keep_votes_alive():
    votes = jr.simulate(8, 4, 300, random_state=0).votes
    differences(votes)
    kept = weakref.ref(votes)
    del votes
    gc.collect()
    assert kept() is None
