"""Pairs that are hard for everyone."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

import jamrank as jr
from jamrank.data.storage import FIRST
from jamrank.engines import MemoryEngine
from jamrank.errors import ParameterError
from jamrank.fitting.em import Problem, run
from jamrank.noise import Difficulty, Flip
from jamrank.rows import ROWS_BY, Rows
from jamrank.rows.eased import N_NODES
from jamrank.scorers import ObjectScorer
from jamrank.simulation import Simulation


def _drawn(seed: int = 0, **changes) -> Simulation:
    given = {
        "n_items": 12,
        "n_annotators": 5,
        "n_votes": 400,
        "noise": "difficulty",
        "flips": [0.05, 0.1, 0.2, 0.3, 0.7],
    }
    return jr.simulate(**(given | changes), random_state=seed)


def _problem(votes: jr.Comparisons) -> Problem:
    engine = MemoryEngine(ROWS_BY["pair-by-ease"](votes, 1))
    noise = Difficulty(engine.vote_counts, 1.0, 2.0)
    return Problem(engine, ObjectScorer(engine.n_items, 4.0), noise)


def _params(problem: Problem, deviation: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    flips = rng.uniform(0.05, 0.7, problem.noise.n_groups)
    return rng.standard_normal(problem.scorer.n_params), np.append(logit(flips), np.log(deviation))


def test_without_difficulty_it_is_the_flip_noise():
    votes = _drawn().votes
    eased = _problem(votes)
    theta, params = _params(eased, 1e-3)
    engine = MemoryEngine(Rows.per_pair(votes))
    plain = Problem(engine, eased.scorer, Flip(engine.vote_counts, 1.0, 2.0)).evaluate(theta, params[:-1])
    with_ease = eased.evaluate(theta, params)
    assert with_ease.expectation.value == pytest.approx(plain.expectation.value, abs=1e-4)
    assert with_ease.expectation.gradient == pytest.approx(plain.expectation.gradient, abs=1e-4)
    by_truth = with_ease.expectation.expected_counts.reshape(2, N_NODES, -1, 2).sum(axis=1)
    assert by_truth[1] == pytest.approx(plain.expectation.expected_counts, abs=1e-4)
    assert by_truth.sum(axis=0) == pytest.approx(engine.vote_counts, abs=1e-9)


def test_the_likelihood_of_a_pair_integrates_over_its_ease():
    # Three annotators on one pair: two for the first item, one against.
    votes = jr.Comparisons.from_arrays(["a"] * 3, ["b"] * 3, ["x", "y", "z"], [1, 1, 0])
    problem = _problem(votes)
    flips, deviation, theta = np.array([0.1, 0.25, 0.3]), 0.5, np.array([0.4, -0.3])
    params = np.append(logit(flips), np.log(deviation))
    said = np.array([1, 1, 0])

    def of_truth(truth: int) -> float:
        def at(z: float) -> float:
            wrong = expit(logit(flips) * np.exp(deviation * z))
            return float(np.prod(np.where(said == truth, 1 - wrong, wrong)) * norm.pdf(z))

        return float(quad(at, -8, 8)[0])

    better = expit(theta[0] - theta[1])
    expected = np.log(better * of_truth(1) + (1 - better) * of_truth(0))
    assert problem.evaluate(theta, params).expectation.value == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("deviation", [0.1, 0.8, 2.0])
def test_the_slope_is_the_gradient_of_the_objective(deviation: float):
    problem = _problem(_drawn().votes)
    theta, params = _params(problem, deviation)
    x, n, step = np.concatenate([theta, params]), len(theta), 1e-5

    def objective(x: np.ndarray) -> float:
        return problem.evaluate(x[:n], x[n:]).objective

    slopes = [(objective(x + step * one) - objective(x - step * one)) / (2 * step) for one in np.eye(len(x))]
    assert problem.slope(problem.evaluate(theta, params)) == pytest.approx(np.array(slopes), abs=1e-5)


def test_the_m_step_raises_the_objective_to_its_maximum():
    problem = _problem(_drawn().votes)
    noise = problem.noise
    theta, params = _params(problem, 0.7)
    counts = problem.evaluate(theta, params).expectation.expected_counts
    cells = noise._cells(counts)
    best = params
    for _ in range(20):
        best = noise.update(counts, best)
    top = noise._objective(best, *cells)
    assert top > noise._objective(params, *cells)
    assert np.abs(noise.slope(best, counts)).max() < 1e-4
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert noise._objective(best + 0.05 * rng.standard_normal(len(best)), *cells) < top


def test_the_objective_never_falls_and_sides_do_not_matter():
    drawn = _drawn(1)
    problem = _problem(drawn.votes)
    start = problem.evaluate(*problem.start_from(problem.in_memory.rows.share))
    fit = run(problem, start, max_iter=300, tol=1e-7)
    assert fit.converged and min(np.diff(fit.objectives)) > -1e-9
    turned = drawn.frame.rename({"left": "right", "right": "left"}).with_columns(
        winner=drawn.frame["winner"].replace({"left": "right", "right": "left"})
    )
    model, other = (
        jr.JAM(noise="difficulty", tol=1e-8).fit(votes) for votes in (drawn.votes, jr.Comparisons.from_frame(turned))
    )
    assert other.scores_ == pytest.approx(model.scores_, abs=1e-8)
    assert other.flip_ == pytest.approx(model.flip_, abs=1e-8)


def test_a_pattern_for_each_row_gives_the_same_sums(monkeypatch):
    problem = _problem(_drawn().votes)
    theta, params = _params(problem, 0.8)
    before = problem.evaluate(theta, params)
    monkeypatch.setattr("jamrank.engines.passes._MOST_PATTERNS_IN_PASS", 0)
    after = problem.evaluate(theta, params)
    assert after.objective == pytest.approx(before.objective, abs=1e-9)
    assert after.expectation.expected_counts == pytest.approx(before.expectation.expected_counts, abs=1e-9)


def test_a_large_crowd_has_a_list_for_each_pair():
    drawn = jr.simulate(80, 40, 30_000, noise="difficulty", difficulty=1.2, random_state=3)
    model = jr.JAM(noise="difficulty").fit(drawn.votes)
    assert model.converged_
    assert abs(model.flip_ - drawn.flips).mean() < 0.05
    assert 0.7 < model.result_.extras["difficulty"] < 1.7


def test_planted_parameters_are_found_and_no_difficulty_where_there_is_none():
    flips = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    hard = jr.simulate(30, 6, 4000, noise="difficulty", difficulty=1.0, flips=flips, random_state=5)
    model = jr.JAM(noise="difficulty").fit(hard.votes)
    assert model.result_.extras["difficulty"] == pytest.approx(1.0, abs=0.35)
    low, high = model.result_.annotators.flip_range
    assert ((low <= hard.flips) & (hard.flips <= high)).mean() >= 5 / 6
    plain = jr.simulate(30, 6, 4000, flips=flips, random_state=5)
    without = jr.JAM(noise="difficulty").fit(plain.votes)
    assert without.result_.extras["difficulty"] < 0.35
    assert without.flip_ == pytest.approx(jr.JAM(flips="joint").fit(plain.votes).flip_, abs=0.01)


def test_a_vote_is_predicted_from_the_ease_that_other_votes_on_the_pair_show():
    drawn = jr.simulate(20, 8, 3000, noise="difficulty", difficulty=1.5, flips=[0.2] * 8, random_state=2)
    losses = {}
    for noise in ("flip", "difficulty"):
        rng = np.random.default_rng(0)
        out = rng.random(len(drawn.votes.vote_result)) < 0.2
        model = jr.JAM(noise=noise).fit(drawn.votes.only(~out))
        test = drawn.votes.only(out)
        proba = model.vote_proba(test)
        won = test.vote_result == FIRST
        losses[noise] = -np.log(np.where(won, proba, 1 - proba)).mean()
    assert min(losses.values()) > 0.1
    assert losses["difficulty"] < losses["flip"] - 0.02


def test_it_goes_with_ties_gold_features_and_files(tmp_path):
    drawn = _drawn(2, tie_rate=0.15, n_features=2, n_votes=800)
    best, worst = (drawn.votes.items[at] for at in (drawn.scores.argmax(), drawn.scores.argmin()))
    for changes in ({"ties": "davidson"}, {"ties": "auto"}, {"scorer": "objects", "ties": "half"}):
        model = jr.JAM(noise="difficulty", **changes).fit(drawn.votes, drawn.features, gold=[(best, worst)])
        assert model.converged_
        assert np.corrcoef(model.scores_, drawn.scores)[0, 1] > 0.5
        frame, votes = model.annotators_, model.vote_proba(drawn.votes)
        assert frame["flip_low"].is_finite().all()
        model.save(tmp_path / "model.jam")
        again = jr.load(tmp_path / "model.jam")
        assert again.vote_proba(drawn.votes) == pytest.approx(votes, abs=1e-12)
        assert again.result_.extras["difficulty"] == model.result_.extras["difficulty"]


def test_it_needs_a_truth_per_pair_and_votes_in_memory():
    votes = _drawn().votes
    with pytest.raises(ParameterError, match="needs a truth per pair"):
        jr.CrowdBT(noise="difficulty").fit(votes)
    with pytest.raises(ParameterError, match="needs the logistic loss"):
        jr.JAM(noise="difficulty", loss="hinge").fit(votes)
    with pytest.raises(ParameterError, match="difficulty is -1"):
        _drawn(difficulty=-1)
    assert jr.DawidSkene(noise="difficulty").fit(votes).converged_
