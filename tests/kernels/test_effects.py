"""The kernels of the families model against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jamrank.kernels import compiled, kernels, twin

needs_compiled = pytest.mark.skipif(not compiled, reason="jamrank was built without its compiled kernels")


@pytest.fixture(params=["baseline", "v3", "v4"])
def native(request):
    """The compiled kernels with one set of instructions."""
    if not kernels.select(request.param):
        pytest.skip("this processor lacks these instructions")
    yield kernels
    kernels.select("auto")


def stack(seed, items, matrices, each, columns):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((matrices, items, items)) * 3
    variance = rng.choice([0.0, 0.02, 1.0, 6.0], matrices * each)
    return (root @ np.swapaxes(root, 1, 2)).ravel(), rng.standard_normal(matrices * items * columns), variance


@needs_compiled
@pytest.mark.parametrize("items, matrices, each, columns", [(1, 3, 1, 1), (5, 9, 1, 2), (20, 3, 7, 1), (33, 2, 2, 2)])
def test_absorbed_effects_equal_their_twins(native, items, matrices, each, columns):
    precision, shift, variance = stack(items, items, matrices, each, columns)
    found = []
    for module in (native, twin):
        left, moved = np.empty(each * len(precision)), np.empty(each * len(shift))
        gained, alone = np.empty((2, len(variance) * columns))
        module.absorb_effects(precision, shift, variance, left, moved, gained, items)
        module.absorb_effects(precision, shift, variance, np.empty(0), np.empty(0), alone, items)
        np.testing.assert_allclose(alone, gained, rtol=1e-12)
        found.append(np.concatenate([left, moved, gained]))
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-8)


@needs_compiled
@pytest.mark.parametrize("items, matrices", [(1, 2), (6, 17), (21, 8)])
def test_drawn_effects_equal_their_twins(native, items, matrices):
    precision, shift, variance = stack(7, items, matrices, 1, 1)
    noise, found = np.random.default_rng(8).standard_normal(len(shift)), np.empty((2, len(shift)))
    for module, drawn in zip((native, twin), found, strict=True):
        module.draw_effects(precision, shift, variance, noise, drawn, items)
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-8)


@needs_compiled
@settings(deadline=None)
@given(
    st.integers(1, 5),
    st.integers(2, 9),
    st.integers(1, 20),
    st.integers(0, 40),
    st.sampled_from([0.0, 1.0, 30.0, 1000.0]),
    st.integers(0, 2**32 - 1),
)
def test_likelihoods_with_lapses_equal_their_twins(annotators, items, chains, votes, spread, seed):
    rng = np.random.default_rng(seed)
    who, winner = np.sort(rng.integers(0, annotators, votes)), rng.integers(0, items, votes)
    loser, count = (winner + rng.integers(1, items, votes)) % items, 3 * rng.random(votes)
    own, lapse = spread * rng.standard_normal(chains * annotators * items), rng.uniform(1e-6, 1, chains * annotators)
    found = []
    for module in (kernels, twin):
        value, alone, on_lapse = np.empty((3, len(lapse)))
        on_own, none = np.empty(len(own)), np.empty(0)
        given = (who, winner, loser, count, own, lapse)
        module.lapse_likelihood(*given, value, on_own, on_lapse, annotators, items)
        module.lapse_likelihood(*given, alone, none, none, annotators, items)
        np.testing.assert_array_equal(value, alone)
        found.append(np.concatenate([value, on_own, on_lapse]))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


@needs_compiled
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("annotators, items, wide", [(1, 2, 0.0), (4, 9, 1.0), (3, 30, 3.0), (2, 12, 1000.0)])
def test_expanded_cells_equal_their_twins(native, annotators, items, wide, spread):
    rng, (first, second) = np.random.default_rng(items), np.triu_indices(items, 1)
    who, pair = np.nonzero(rng.random((annotators, len(first))) < 0.8)
    who = who + (annotators > 1) * (who > 0) * (who < annotators - 1)  # The second has no votes.
    who, pair = np.unique(np.stack([who, pair]), axis=1)
    won, lost = np.floor(5 * rng.random((2, len(who))))
    root = rng.standard_normal((annotators, items + 1, items + 1))
    covariance = root @ root.transpose(0, 2, 1) / items
    parts = covariance[:, :-1, :-1], covariance[:, -1, :-1], covariance[:, -1, -1]
    about = [np.ascontiguousarray(part).ravel() if spread else np.empty(0) for part in parts]
    scores, log_odds = wide * rng.standard_normal(annotators * items), 2 * rng.standard_normal(annotators)
    found = []
    for module in (native, twin):
        out = [np.full(annotators * size, np.nan) for size in (items**2, items, items, 1, 1)]
        module.expand_cells(who, first[pair], second[pair], won, lost, scores, log_odds, *about, *out, items)
        found.append(np.concatenate(out))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


@needs_compiled
def test_cells_that_are_not_sorted_are_refused():
    codes, one, none = np.array([1, 0]), np.ones(2), np.empty(0)
    out = np.empty(8), np.empty(4), np.empty(4), np.empty(2), np.empty(2)
    with pytest.raises(ValueError, match="sorted by annotator"):
        kernels.expand_cells(codes, codes, 1 - codes, one, one, np.ones(4), one, none, none, none, *out, 2)


@needs_compiled
def test_codes_out_of_bounds_are_refused():
    codes, one = np.array([0]), np.ones(1)
    with pytest.raises(ValueError, match="codes must be known"):
        kernels.lapse_likelihood(codes, codes, codes + 2, one, np.ones(2), one, one, np.empty(0), np.empty(0), 1, 2)
