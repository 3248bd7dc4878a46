"""Flips with the scores integrated out: against known truths, differences and the joint fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.engines import MemoryEngine
from jamrank.engines.marginal import MarginalEngine
from jamrank.fitting.em import Problem
from jamrank.kernels import kernels, twin
from jamrank.noise import Flip
from jamrank.rows import ROWS_BY
from jamrank.scorers import ObjectScorer
from jamrank.typing import FloatArray


def crowd(n_items: int, n_votes: int, seed: int, n_annotators: int = 50) -> tuple[jr.Comparisons, FloatArray]:
    """Votes on random pairs, a truth for each, and the flips that they were made with."""
    return drawn(n_items, n_votes, seed, n_annotators)[:2]


def drawn(
    n_items: int, n_votes: int, seed: int, n_annotators: int = 50, spread: float = 1.0, worst: float = 0.45
) -> tuple[jr.Comparisons, FloatArray, FloatArray]:
    """Return such votes, flips up to the worst, and scores."""
    rng = np.random.default_rng(seed)
    scores, flips = spread * rng.standard_normal(n_items), rng.uniform(0.05, worst, n_annotators)
    a = rng.integers(0, n_items, n_votes)
    b = (a + rng.integers(1, n_items, n_votes)) % n_items
    who = rng.integers(0, n_annotators, n_votes)
    first = (rng.random(n_votes) < expit(scores[a] - scores[b])) ^ (rng.random(n_votes) < flips[who])
    return jr.Comparisons.from_arrays(a, b, who, first.astype(int)), flips, scores


@pytest.mark.parametrize("n_items", [1000, 2000])
def test_flips_are_found_on_sparse_designs(n_items: int) -> None:
    votes, flips = crowd(n_items, 20_000, 0)
    found, joint = jr.CrowdBT().fit(votes).flip_, jr.CrowdBT(flips="joint").fit(votes).flip_
    assert np.abs(found - flips).mean() < 0.07
    assert np.abs(joint - flips).mean() > 0.12
    assert np.corrcoef(found, flips)[0, 1] > 0.8


def test_a_flip_lies_in_its_interval_about_as_often_as_said() -> None:
    votes, flips = crowd(3000, 30_000, 1)
    table = jr.CrowdBT(flips="marginal").fit(votes).annotators_
    held = (table["flip_low"].to_numpy() <= flips) & (flips <= table["flip_high"].to_numpy())
    assert held.mean() >= 0.88


def test_flips_of_many_votes_on_many_items_lie_in_their_intervals() -> None:
    votes, flips = crowd(500, 400_000, 4)

    def held(model: jr.CrowdBT) -> float:
        table = model.fit(votes).annotators_
        return float(((table["flip_low"].to_numpy() <= flips) & (flips <= table["flip_high"].to_numpy())).mean())

    assert held(jr.CrowdBT(flips="joint")) < 0.7
    assert held(jr.CrowdBT()) >= 0.88


@pytest.mark.parametrize("n_items", [1500, 3000])  # with the covariance of the scores, and as if independent
def test_scores_have_the_right_scale_and_intervals_on_sparse_designs(n_items: int, tmp_path: Path) -> None:
    votes, flips, scores = drawn(n_items, 10 * n_items, 1, spread=1.5, worst=0.35)
    model = jr.CrowdBT().fit(votes)
    variance = model.result_.scores.score_variance
    assert variance is not None and abs(variance / scores.var() - 1) < 0.2
    assert abs((model.flip_ - flips).mean()) < 0.02
    ranking = model.ranking_.sort("item")
    inside = np.abs(ranking["score"].to_numpy() - (scores - scores.mean())) < 1.96 * ranking["score_se"].to_numpy()
    assert 0.92 < inside.mean() < 0.97
    model.save(tmp_path / "model")
    assert jr.load(tmp_path / "model").uncertainty("information").score_se == pytest.approx(
        ranking["score_se"].to_numpy()
    )


def test_the_objective_rises() -> None:
    votes, _ = crowd(200, 3000, 2, 10)
    assert (np.diff(jr.CrowdBT(flips="marginal").fit(votes).log_likelihoods_) >= -1e-6).all()


@pytest.mark.parametrize("unit", ["vote", "pair"])
def test_the_gradient_is_that_of_the_value(unit: str) -> None:
    votes, _ = crowd(12, 150, 3, 4)
    engine = MemoryEngine(ROWS_BY[unit](votes, None), None)
    rng = np.random.default_rng(0)
    problem = Problem(
        MarginalEngine(engine, rng.uniform(0.05, 0.8, engine.n_items)),
        ObjectScorer(engine.n_items, 1.3),
        Flip(engine.vote_counts, 1.0, 2.0),
    )
    at = np.concatenate([rng.standard_normal(engine.n_items), rng.standard_normal(4)])

    def value(x: FloatArray) -> float:
        return problem.evaluate(x[: engine.n_items], x[engine.n_items :]).objective

    steps = 1e-5 * np.eye(len(at))
    differences = [(value(at + step) - value(at - step)) / 2e-5 for step in steps]
    slope = problem.slope(problem.evaluate(at[: engine.n_items], at[engine.n_items :]))
    np.testing.assert_allclose(slope, differences, atol=1e-6)


def test_without_variance_the_pass_is_the_plain_one() -> None:
    votes, _ = crowd(30, 500, 4, 5)
    engine = MemoryEngine(ROWS_BY["vote"](votes, None), None)
    scores = np.random.default_rng(0).standard_normal(30)
    emission = Flip(engine.vote_counts).log_emission(np.linspace(-2, 0, 5))
    plain, integrated = engine.expectation(scores, emission), engine.marginal(scores, emission, np.zeros(30))
    np.testing.assert_allclose(integrated.value, plain.value, rtol=1e-12)
    np.testing.assert_allclose(integrated.gradient, plain.gradient, atol=1e-10)
    np.testing.assert_allclose(integrated.expected_counts, plain.expected_counts, atol=1e-9)


@pytest.mark.parametrize("runs", [False, True])
def test_the_kernel_is_its_twin(runs: bool) -> None:
    rng = np.random.default_rng(5)
    n, n_links, kinds = 30, 300, 14
    first = np.sort(rng.integers(0, n - 1, n_links))
    second = (first + 1 + rng.integers(0, n, n_links) % (n - 1 - first)).astype(np.int32)
    start = np.searchsorted(first, np.arange(n + 1)).astype(np.int64)
    counts = rng.integers(1, 300, n_links) if runs else np.ones(n_links, dtype=np.int64)
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) if runs else np.empty(0, dtype=np.int64)
    kind = rng.integers(0, kinds, int(counts.sum())).astype(np.uint8)
    asked = (
        *(start, second, begin, kind, rng.random(len(kind)), np.empty(0), np.exp(rng.normal(0, 1, kinds))),
        *(rng.standard_normal(n), rng.random(n)),
    )
    answers = []
    for module in (kernels, twin):
        out = [np.empty(len(kind)), np.empty(n_links, np.float32), *(np.empty(n) for _ in range(3))]
        out += [np.empty(kinds), np.empty(kinds)]
        answers.append([module.marginal(*asked, *out, 2), *out])
    for own, other in zip(*answers, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6 if np.asarray(own).dtype == np.float32 else 1e-9, atol=1e-9)


def test_it_is_chosen_by_votes_an_item() -> None:
    sparse, _ = crowd(200, 2000, 1)
    dense, _ = crowd(10, 6000, 1)
    for votes, how in ((sparse, "marginal"), (dense, "joint")):
        np.testing.assert_array_equal(jr.CrowdBT().fit(votes).flip_, jr.CrowdBT(flips=how).fit(votes).flip_)
    alone = jr.Comparisons.from_arrays(["a", "b", "a"], ["b", "c", "c"], ["me"] * 3, [1, 1, 0])
    np.testing.assert_array_equal(jr.CrowdBT().fit(alone).flip_, jr.CrowdBT(flips="joint").fit(alone).flip_)


def test_flips_shrink_to_a_common_value_where_annotators_are_alike() -> None:
    rng = np.random.default_rng(4)
    scores = rng.standard_normal(30)
    a = rng.integers(30, size=4000)
    b = (a + rng.integers(1, 30, size=4000)) % 30
    who, flipped = rng.integers(40, size=4000), rng.random(4000) < 0.2
    votes = jr.Comparisons.from_arrays(a, b, who, (rng.random(4000) < expit(scores[a] - scores[b])) ^ flipped)
    pooled = jr.CrowdBT().fit(votes).flip_.std()
    alone = jr.CrowdBT(flips="marginal", prior=jr.Prior(flip_wrong=1.0, flip_right=2.0)).fit(votes).flip_.std()
    assert pooled < 0.75 * alone


def test_a_step_that_leaps_to_certain_flips_is_not_taken() -> None:
    """Eight judges on a star: an extrapolated step without a known objective once led to logits in the thousands."""
    wins = [
        [3, 16, 6, 10, 5, 8, 16, 8],
        [4, 13, 6, 3, 6, 15, 8, 9],
        [8, 5, 12, 8, 12, 17, 5, 10],
        [4, 11, 7, 11, 11, 11, 9, 10],
        [7, 9, 8, 11, 7, 8, 7, 15],
    ]
    losses = [
        [6, 3, 5, 4, 2, 2, 1, 0],
        [10, 2, 2, 6, 2, 3, 3, 3],
        [4, 2, 2, 1, 4, 1, 0, 4],
        [3, 0, 2, 6, 2, 3, 4, 2],
        [7, 1, 4, 3, 5, 4, 3, 0],
    ]
    counts = np.array([losses, wins])
    outcome, item, who = np.nonzero(counts)
    weight = counts[outcome, item, who]
    votes = jr.Comparisons.from_arrays(np.zeros(len(who), dtype=int), item + 1, who, outcome, weight=weight)
    model = jr.JAM(flips="marginal").fit(votes)
    assert model.result_.convergence.converged
    assert ((model.flip_ > 0.05) & (model.flip_ < 0.55)).all()
