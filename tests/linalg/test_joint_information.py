from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.engines import MemoryEngine
from jamrank.fitting.em import Problem
from jamrank.linalg.joint_information import factored, joint_information
from jamrank.noise import ClusteredFlip, Flip
from jamrank.rows import ROWS_BY
from jamrank.scorers import LinearScorer, ObjectScorer


def weighted_votes() -> jr.Comparisons:
    rng = np.random.default_rng(3)
    left, who = rng.integers(0, 6, 90), rng.integers(0, 4, 90)
    right = (left + rng.integers(1, 6, 90)) % 6
    return jr.Comparisons.from_arrays(left, right, who, rng.integers(0, 2, 90), weight=rng.uniform(0.5, 2.0, 90))


def curvature(problem: Problem, theta: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Negated second derivatives of the objective, by differences of its slope."""
    x, step, n = np.concatenate([theta, params]), 1e-5, len(theta)

    def slope(at):
        return problem.slope(problem.evaluate(at[:n], at[n:]))

    return -np.array([(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(len(x))])


@pytest.mark.parametrize("by", ["pair", "vote"])
@pytest.mark.parametrize("votes", [weighted_votes(), jr.simulate(6, 4, 60, random_state=0).votes], ids=["w", "plain"])
def test_the_joint_information_is_the_curvature_of_the_objective(by, votes):
    engine = MemoryEngine(ROWS_BY[by](votes, 1), 1)
    noise, rng = Flip(engine.vote_counts, 1.0, 2.0), np.random.default_rng(1)
    problem = Problem(engine, ObjectScorer(votes.n_items, 2.0), noise)
    theta, params = rng.normal(size=votes.n_items), rng.normal(size=votes.n_annotators)
    at = engine.information(theta, noise.log_emission(params))
    found = joint_information(at, noise.complete_information(params), noise.loglik_jacobian(params), 0.5)
    np.testing.assert_allclose(found, curvature(problem, theta, params), atol=1e-6)


def test_it_is_so_for_weights_of_features_and_flips_by_cluster():
    votes, rng = jr.simulate(6, 4, 200, random_state=0).votes, np.random.default_rng(1)
    rows = ROWS_BY["pair"](votes, 1)
    engine = MemoryEngine(rows.clustered((np.arange(len(rows)) % 2).astype(np.int32), 2), 1)
    noise = ClusteredFlip(engine.vote_counts, 2, np.full(4, 0.2), 5.0, 1.0, 2.0)
    matrix = rng.normal(size=(6, 2))
    problem = Problem(engine, LinearScorer(matrix, 4.0), noise)
    theta, params = rng.normal(size=2), rng.normal(size=8)
    at = engine.information(problem.scorer.scores(theta), noise.log_emission(params))
    found = joint_information(
        at, noise.complete_information(params), noise.loglik_jacobian(params), problem.scorer.precision, matrix
    )
    np.testing.assert_allclose(found, curvature(problem, theta, params), atol=1e-6)


def test_a_matrix_is_raised_only_where_it_must_be():
    good = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert factored(good).raised == 0
    np.testing.assert_allclose(factored(good).inverse(), np.linalg.inv(good))
    bad = factored(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert 1.0 <= bad.raised < 1.001
