from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from jamrank.fitting.family_votes import FamilyVotes
from jamrank.inference.taste_test import _Cells, taste_p_value


def crowd(seed, effects=None, n_items=8, n_annotators=4, each=60):
    """Votes by scores with effects of single annotators added; the mean scores and the true flips."""
    rng = np.random.default_rng(seed)
    scores, flips = rng.standard_normal(n_items), rng.uniform(0.02, 0.2, n_annotators)
    own = scores + (0.0 if effects is None else effects(rng, n_annotators, n_items))
    own = np.broadcast_to(own, (n_annotators, n_items))
    who = np.repeat(np.arange(n_annotators), each)
    left = rng.integers(0, n_items, len(who))
    right = (left + rng.integers(1, n_items, len(who))) % n_items
    won = rng.random(len(who)) < expit(own[who, left] - own[who, right])
    won ^= rng.random(len(who)) < flips[who]
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return FamilyVotes(who, winner, loser, np.ones(len(who)), n_annotators, n_items), own.mean(axis=0), flips


def test_what_is_left_of_gradients_does_not_depend_on_small_errors_of_scores_and_flips():
    # Residuals that other scores or flips explain leave nothing.
    cells = _Cells.of(*crowd(0))
    rng = np.random.default_rng(1)
    scores, flips = rng.standard_normal(cells.n_items), rng.standard_normal(cells.n_annotators)
    moved = cells.on_margin * (scores[cells.first] - scores[cells.second]) + cells.on_flip * flips[cells.annotator]
    left = cells.products((cells.count * moved)[None])
    np.testing.assert_allclose(left, 0.0, atol=1e-18 + 1e-9 * cells.products(cells.residuals[None]).max())


def test_products_are_those_of_weighted_least_squares():
    # Gradients without what is explained: by least squares over all cells at once.
    cells = _Cells.of(*crowd(2))
    n, k, size = cells.n_items, cells.n_annotators, len(cells.count)
    root = np.sqrt(cells.count / (cells.proba * (1 - cells.proba)))
    row, own = np.arange(size), np.zeros((size, k, n))
    own[row, cells.annotator, cells.first] = cells.on_margin * root
    own[row, cells.annotator, cells.second] = -cells.on_margin * root
    flips = np.zeros((size, k))
    flips[row, cells.annotator] = cells.on_flip * root
    # The common scores act through what flips do not explain of each annotator's own.
    nuisance = np.concatenate([own.sum(axis=1), flips], axis=1)
    target = root * cells.residuals / np.maximum(cells.count, 1e-300)
    rest = target - nuisance @ np.linalg.lstsq(nuisance, target, rcond=1e-10)[0]
    gradient = np.einsum("vki,v->ki", own, rest)
    np.testing.assert_allclose(cells.products(cells.residuals[None])[0], gradient @ gradient.T, rtol=1e-7, atol=1e-9)


def test_independent_annotators_rarely_fail():
    p = np.array([taste_p_value(*crowd(seed)) for seed in range(100)])
    # With probability 0.02 each: more than 7 of 100 in fewer than 1 of 1,000 cases.
    assert np.count_nonzero(p <= 0.02) <= 7
    # Not too cautious either.
    assert 0.25 < np.count_nonzero(p > 0.5) / 100 < 0.75


@pytest.mark.parametrize("shared", [True, False])
def test_effects_on_items_are_found(shared):
    def effects(rng, n_annotators, n_items):
        effect = 1.5 * rng.permuted(np.tile([-1.0, 1.0], (n_annotators, n_items // 2)), axis=1)
        return np.where(np.arange(n_annotators)[:, None] < 3, effect[0], 0.0) if shared else effect

    p = [taste_p_value(*crowd(seed, effects, n_annotators=6, each=200)) for seed in range(5)]
    assert max(p) <= 0.02
