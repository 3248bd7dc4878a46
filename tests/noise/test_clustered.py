from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine
from jamrank.noise import ClusteredFlip, Flip
from jamrank.noise.clustered import choose_strength
from jamrank.rows import Rows


def full_pass(engine: MemoryEngine, scores, log_emission) -> SimpleNamespace:
    """Run a pass; find the posterior of each row and the curvature of each link too."""
    at = engine.expectation(scores, log_emission)
    found = vars(at) | {"curvature": engine.bends(at.curvature).copy()}
    return SimpleNamespace(**found, posterior=engine.posterior(scores, log_emission))


@pytest.fixture
def rows() -> Rows:
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(8, 1)
    outcomes = rng.integers(-1, 2, (len(first), 3))
    outcomes[0] = 1
    return Rows.per_pair(Comparisons.from_matrix(first, second, outcomes))


def halves(rows: Rows) -> np.ndarray:
    return (np.arange(len(rows)) % 2).astype(np.int32)


def test_the_prior_is_highest_at_the_annotators_own_flip(rows):
    flip = np.array([0.1, 0.3, 0.8])
    noise = ClusteredFlip(rows.clustered(halves(rows), 2).vote_counts, 2, flip, strength=20.0, wrong=0.0, right=0.0)
    found = minimize(lambda params: -noise.log_prior(params), np.zeros(6))
    np.testing.assert_allclose(expit(found.x).reshape(3, 2), np.repeat(flip[:, None], 2, axis=1), atol=1e-4)


def test_a_cell_without_votes_keeps_the_annotators_flip(rows):
    flip = np.array([0.1, 0.3, 0.8])
    cluster = np.zeros(len(rows), dtype=np.int32)
    clustered = rows.clustered(cluster, 2)
    noise = ClusteredFlip(clustered.vote_counts, 2, flip, strength=5.0, wrong=0.0, right=0.0)
    updated = noise.rates(noise.update(clustered.over_votes(rows.share))).reshape(3, 2)
    np.testing.assert_allclose(updated[:, 1], flip)
    assert (np.abs(updated[:, 0] - flip) > 1e-3).all()


def test_a_strong_prior_draws_every_cell_to_the_annotators_flip(rows):
    flip = np.array([0.1, 0.3, 0.8])
    clustered = rows.clustered(halves(rows), 2)
    distance = []
    for strength in (1.0, 100.0, 1e6):
        noise = ClusteredFlip(clustered.vote_counts, 2, flip, strength, wrong=1.0, right=1.0)
        updated = noise.rates(noise.update(clustered.over_votes(rows.share))).reshape(3, 2)
        distance.append(np.abs(updated - flip[:, None]).max())
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 1e-4


def test_no_strength_is_a_free_flip_in_each_cell(rows):
    clustered = rows.clustered(halves(rows), 2)
    expected_counts = clustered.over_votes(rows.share)
    free = ClusteredFlip(clustered.vote_counts, 2, np.array([0.1, 0.3, 0.8]), strength=0.0, wrong=1.0, right=1.0)
    np.testing.assert_allclose(
        free.update(expected_counts), Flip(clustered.vote_counts, 1.0, 1.0).update(expected_counts)
    )


def test_the_same_flip_in_every_cluster_has_the_likelihood_of_one_flip(rows):
    params, scores = np.array([-1.0, 0.2, 1.5]), np.linspace(-1, 1, 8)
    clustered = rows.clustered(halves(rows), 2)
    one = full_pass(MemoryEngine(rows, 1), scores, Flip(rows.vote_counts).log_emission(params))
    two = full_pass(
        MemoryEngine(clustered, 1), scores, Flip(clustered.vote_counts).log_emission(np.repeat(params, 2))
    )
    assert two.value == pytest.approx(one.value, rel=1e-13)
    np.testing.assert_allclose(two.posterior, one.posterior, rtol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_strength_is_large_where_clusters_do_not_differ_and_small_where_they_do(seed):
    rng = np.random.default_rng(seed)
    flip, votes = rng.uniform(0.1, 0.4, 20), np.full((20, 6), 200.0)
    alike = rng.binomial(200, np.repeat(flip[:, None], 6, axis=1)).astype(np.float64)
    apart = rng.binomial(200, rng.beta(4 * flip[:, None], 4 * (1 - flip[:, None]), (20, 6))).astype(np.float64)
    assert choose_strength(alike, votes, flip) > 300
    assert 1.5 < choose_strength(apart, votes, flip) < 10


def test_strength_does_not_depend_on_the_order_of_annotators_and_clusters():
    rng = np.random.default_rng(5)
    flip, votes = rng.uniform(0.1, 0.4, 9), rng.integers(5, 60, (9, 4)).astype(np.float64)
    errors = rng.binomial(votes.astype(int), rng.uniform(0.05, 0.6, (9, 4))).astype(np.float64)
    order = rng.permutation(9)
    assert choose_strength(errors[order][:, ::-1], votes[order][:, ::-1], flip[order]) == choose_strength(
        errors, votes, flip
    )


def test_strength_is_finite_for_annotators_who_never_err():
    votes = np.full((3, 2), 50.0)
    assert np.isfinite(choose_strength(np.zeros((3, 2)), votes, np.zeros(3)))
