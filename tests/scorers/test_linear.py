from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine
from jamrank.fitting.newton import gradient, newton_step
from jamrank.rows import Rows
from jamrank.scorers import LinearScorer, ObjectScorer, SumScorer, linear
from jamrank.scorers.linear import row_space

N_ITEMS = 9


@pytest.fixture(params=["pair", "vote"])
def engine(request) -> MemoryEngine:
    rng = np.random.default_rng(0)
    left = rng.integers(0, N_ITEMS, 120)
    right = (left + rng.integers(1, N_ITEMS, 120)) % N_ITEMS
    votes = Comparisons.from_arrays(
        left, right, rng.integers(0, 4, 120), rng.integers(0, 2, 120), rng.uniform(0.5, 2, 120)
    )
    rows = Rows.per_pair(votes) if request.param == "pair" else Rows.per_vote(votes)
    return MemoryEngine(rows, 1)


def scorers():
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((N_ITEMS, 3))
    return {
        "linear": LinearScorer(matrix, 2.0),
        "linear without prior": LinearScorer(matrix, None),
        "objects": ObjectScorer(N_ITEMS, 0.5),
        "objects around a centre": ObjectScorer(N_ITEMS, 0.5, rng.standard_normal(N_ITEMS)),
        "objects without prior": ObjectScorer(N_ITEMS, None),
        "sum": SumScorer(LinearScorer(matrix, 2.0), ObjectScorer(N_ITEMS, 0.5)),
        "sum with free weights": SumScorer(LinearScorer(matrix, None), ObjectScorer(N_ITEMS, 0.5)),
    }


def objective(engine, scorer, theta, posterior, loss) -> float:
    value = engine.maximisation(scorer.scores(theta), posterior, loss).value
    return value - 0.5 * float(scorer.precision @ theta**2)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("name", scorers())
def test_the_gradient_is_that_of_the_objective(engine, name, loss):
    rng = np.random.default_rng(2)
    scorer = scorers()[name]
    theta, posterior = 0.7 * rng.standard_normal(scorer.n_params), rng.uniform(0, 1, len(engine.rows))
    slope = gradient(scorer, engine.maximisation(scorer.scores(theta), posterior, loss), theta)
    for k in range(scorer.n_params):
        step = 1e-6 * np.eye(scorer.n_params)[k]
        up, down = (objective(engine, scorer, theta + s, posterior, loss) for s in (step, -step))
        assert (up - down) / 2e-6 == pytest.approx(slope[k], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("name", scorers())
def test_the_curvature_times_a_direction_is_the_change_of_the_gradient(engine, name, loss):
    rng = np.random.default_rng(3)
    scorer = scorers()[name]
    theta, posterior = 0.7 * rng.standard_normal(scorer.n_params), rng.uniform(0, 1, len(engine.rows))
    direction, small = rng.standard_normal(scorer.n_params), 1e-7

    def slope(at):
        return gradient(scorer, engine.maximisation(scorer.scores(at), posterior, loss), at)

    curvature = engine.maximisation(scorer.scores(theta), posterior, loss).curvature
    pushed = engine.curvature_times(curvature, scorer.forward(direction))
    product = scorer.adjoint(pushed) + scorer.precision * direction
    change = (slope(theta - small * direction) - slope(theta + small * direction)) / (2 * small)
    np.testing.assert_allclose(product, change, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", scorers())
def test_gather_is_the_transpose_of_spread(name):
    rng = np.random.default_rng(4)
    scorer = scorers()[name]
    theta, per_item = rng.standard_normal(scorer.n_params), rng.standard_normal(N_ITEMS)
    assert scorer.forward(theta) @ per_item == pytest.approx(theta @ scorer.adjoint(per_item))


@pytest.mark.parametrize("name", scorers())
def test_scores_move_by_what_spread_says(name):
    rng = np.random.default_rng(5)
    scorer = scorers()[name]
    theta, direction = rng.standard_normal((2, scorer.n_params))
    moved = scorer.scores(theta + direction) - scorer.scores(theta)
    np.testing.assert_allclose(moved, scorer.forward(direction))


@pytest.mark.parametrize("name", scorers())
def test_newton_steps_solve_the_m_step(engine, name):
    scorer = scorers()[name]
    posterior = np.random.default_rng(6).uniform(0.2, 0.8, len(engine.rows))
    theta = np.zeros(scorer.n_params)
    for _ in range(30):
        theta = theta + newton_step(engine, scorer, engine.maximisation(scorer.scores(theta), posterior), theta)
    slope = gradient(scorer, engine.maximisation(scorer.scores(theta), posterior), theta)
    np.testing.assert_allclose(slope, 0, atol=1e-9)


@pytest.mark.parametrize("name", scorers())
def test_the_preconditioner_is_positive(name):
    scorer = scorers()[name]
    degree = np.random.default_rng(7).uniform(0, 3, N_ITEMS)
    precondition = scorer.preconditioner(degree)
    inverse = np.stack([precondition(unit) for unit in np.eye(scorer.n_params)])
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)
    assert (np.linalg.eigvalsh(inverse) > 0).all()


def test_the_linear_preconditioner_is_exact_for_evenly_spread_comparisons():
    matrix, degree = np.random.default_rng(8).standard_normal((N_ITEMS, 3)), np.arange(1.0, N_ITEMS + 1)
    laplacian = np.diag(degree) - np.outer(degree, degree) / degree.sum()
    curvature = matrix.T @ laplacian @ matrix + 0.5 * np.eye(3)
    precondition = LinearScorer(matrix, 2.0).preconditioner(degree)
    vector = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(precondition(vector), np.linalg.solve(curvature, vector), rtol=1e-6)


def test_the_preconditioner_of_a_sum_is_exact_for_evenly_spread_comparisons():
    rng = np.random.default_rng(9)
    matrix, degree = rng.standard_normal((N_ITEMS, 3)), np.arange(1.0, N_ITEMS + 1)
    laplacian = np.diag(degree) - np.outer(degree, degree) / degree.sum()
    both = np.hstack([matrix, np.eye(N_ITEMS)])
    curvature = both.T @ laplacian @ both + np.diag(np.repeat([0.5, 2.0], [3, N_ITEMS]))
    scorer = SumScorer(LinearScorer(matrix, 2.0), ObjectScorer(N_ITEMS, 0.5))
    vector = rng.standard_normal(3 + N_ITEMS)
    np.testing.assert_allclose(
        scorer.preconditioner(degree)(vector), np.linalg.solve(curvature, vector), rtol=1e-6, atol=1e-8
    )


def test_a_shortened_step_of_a_sum_moves_no_score_too_far():
    rng = np.random.default_rng(10)
    scorer = SumScorer(LinearScorer(rng.standard_normal((N_ITEMS, 3)), 2.0), ObjectScorer(N_ITEMS, 0.5))
    step = scorer.clip_step(100 * rng.standard_normal(scorer.n_params), 5.0)
    assert np.abs(scorer.forward(step)).max() <= 5.0


def test_items_without_votes_or_prior_stay_where_they_are():
    precondition = ObjectScorer(3, None).preconditioner(np.array([2.0, 0.0, 4.0]))
    assert precondition(np.ones(3)).tolist() == [0.5, 0.0, 0.25]


def test_features_that_repeat_or_vanish_do_not_break_the_preconditioner():
    column = np.arange(N_ITEMS, dtype=np.float64)
    matrix = np.column_stack([column, column, np.zeros(N_ITEMS)])
    step = LinearScorer(matrix, None).preconditioner(np.ones(N_ITEMS))(np.ones(3))
    assert np.isfinite(step).all()


def test_rows_of_a_wide_matrix_span_it_whatever_their_order():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((3, 40))
    matrix = np.concatenate([matrix, matrix[:1] + 1e-3 * matrix[1:2], matrix[2:]])  # nearly and exactly dependent
    basis = row_space(matrix)
    assert basis.shape == (3, 40)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(matrix @ basis.T @ basis, matrix, atol=1e-9)
    np.testing.assert_array_equal(row_space(matrix[rng.permutation(5)]), basis)
    assert row_space(np.zeros((2, 5))).shape == (0, 5)


@pytest.mark.parametrize("variance", [0.5, None])
def test_a_wide_scorer_has_the_scores_and_the_prior_of_the_direct_one(variance):
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((4, 11))
    scorer = LinearScorer(matrix, variance)
    assert scorer.wide and scorer.n_params == 4 and scorer.design().shape == (4, 4)
    theta = rng.standard_normal(4)
    weights = scorer.weights(theta)
    np.testing.assert_allclose(scorer.scores(theta), matrix @ weights)
    np.testing.assert_allclose(weights @ weights, theta @ theta)
    np.testing.assert_allclose(scorer.warm_start(np.zeros(4), np.zeros(4), None, weights), theta)
    # By brute force: the covariance of a normal with information XᵀDX and the prior.
    degree = np.array([1.0, 2.0, 3.0, 4.0])
    inverse = np.linalg.pinv if variance is None else np.linalg.inv
    prior = 0.0 if variance is None else np.eye(11) / variance
    known = np.diag(inverse(matrix.T @ np.diag(degree) @ matrix + prior))
    own = scorer.design().T @ np.diag(degree) @ scorer.design() + (0.0 if variance is None else np.eye(4) / variance)
    np.testing.assert_allclose(scorer.weight_variances(np.linalg.cholesky(np.linalg.inv(own))), known)


def _fit_wide(name: str, **options):
    import jamrank as jr

    votes = jr.simulate(5, 3, 90, random_state=3).votes
    model = getattr(jr, name)(**options).fit(votes, np.random.default_rng(0).standard_normal((5, 13)))
    return model.scores_, model.coef_, model.result_.coef_interval(), model.result_.convergence.log_likelihood


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "options"), [("JAM", {}), ("JAM", {"scorer": "linear+objects"}), ("MixedBT", {}), ("IAM", {})]
)
def test_fits_of_wide_features_are_those_of_the_direct_problem(name, options, monkeypatch):
    found = _fit_wide(name, **options)
    monkeypatch.setattr(linear, "_is_wide", lambda matrix: False)
    for one, other in zip(found, _fit_wide(name, **options), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_many_features_of_few_items_take_no_square_of_memory():
    import jamrank as jr

    votes = jr.Comparisons.from_arrays(list("abcab"), list("bcaca"), list("kklll"), [1, 1, 1, 0, 1])
    tracemalloc.start()
    try:
        model = jr.JAM(prior=jr.Prior(score_variance=1.0)).fit(votes, np.random.default_rng(0).normal(size=(3, 3000)))
        assert np.isfinite(model.result_.coef_interval()).all()
        assert tracemalloc.get_traced_memory()[1] < 3000 * 3000
    finally:
        tracemalloc.stop()
