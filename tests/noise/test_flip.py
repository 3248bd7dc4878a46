from __future__ import annotations

import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.engines import MemoryEngine
from jamrank.noise import Flip, NoNoise
from jamrank.noise.flip import pooled_variance
from jamrank.rows import Rows


def full_pass(engine: MemoryEngine, scores, log_emission) -> SimpleNamespace:
    """Run a pass; find the posterior of each row and the curvature of each link too."""
    at = engine.expectation(scores, log_emission)
    found = vars(at) | {"curvature": engine.bends(at.curvature).copy()}
    return SimpleNamespace(**found, posterior=engine.posterior(scores, log_emission))


KINDS = {"pair": Rows.per_pair, "vote": Rows.per_vote}


def draw_votes(seed: int, n_votes: int = 9, n_items: int = 4, weighted: bool = True) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    weight = rng.choice([0.5, 1.0, 2.0], n_votes) if weighted else None
    return Comparisons.from_arrays(left, right, rng.integers(0, 3, n_votes), rng.integers(0, 2, n_votes), weight)


def by_hand(votes: Comparisons, scores: np.ndarray, flips: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum over all truths of all pairs: the log-likelihood, and each pair's P(first truly better)."""
    prior = expit(scores[votes.pair_first] - scores[votes.pair_second])
    weights, truths = [], list(product([False, True], repeat=votes.n_pairs))
    for truth in truths:
        probability = np.prod(np.where(truth, prior, 1 - prior))
        for pair, who, result, weight in zip(
            votes.vote_pair, votes.vote_annotator, votes.vote_result, votes.vote_weight, strict=True
        ):
            told_truth = (result == FIRST) == truth[pair]
            probability *= (1 - flips[who] if told_truth else flips[who]) ** weight
        weights.append(probability)
    total = float(np.sum(weights))
    return np.log(total), np.array(weights) @ np.array(truths) / total


@pytest.mark.parametrize("seed", range(6))
def test_posterior_and_likelihood_equal_the_sum_over_all_truths(seed):
    votes = draw_votes(seed)
    rng = np.random.default_rng(100 + seed)
    scores, flips = rng.standard_normal(votes.n_items), rng.uniform(0.05, 0.95, votes.n_annotators)
    rows = Rows.per_pair(votes)
    at = full_pass(MemoryEngine(rows, 1), scores, Flip(rows.vote_counts).log_emission(logit(flips)))
    likelihood, posterior = by_hand(votes, scores, flips)
    assert at.value == pytest.approx(likelihood, rel=1e-12)
    np.testing.assert_allclose(at.posterior, posterior, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_truth_per_vote_weighs_the_log_likelihood_of_each_vote(seed):
    votes = draw_votes(seed)
    rng = np.random.default_rng(200 + seed)
    scores, flips = rng.standard_normal(votes.n_items), rng.uniform(0.05, 0.95, votes.n_annotators)
    rows = Rows.per_vote(votes)
    at = full_pass(MemoryEngine(rows, 1), scores, Flip(rows.vote_counts).log_emission(logit(flips)))
    prior = expit(scores[votes.pair_first] - scores[votes.pair_second])[votes.vote_pair]
    flip = flips[votes.vote_annotator]
    first = prior * (1 - flip) + (1 - prior) * flip
    likely = np.where(votes.vote_result == FIRST, first, 1 - first)
    assert at.value == pytest.approx(float(votes.vote_weight @ np.log(likely)), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vote_of_weight_two_counts_like_two(kind):
    column = [0, 0, 1], [1, 2, 2], [0, 1, 0], [1, 0, 1]
    doubled = [[*values, values[0]] for values in column]
    scores, params = np.array([0.3, -0.4, 1.0]), np.array([-1.0, 0.5])
    results = []
    for votes in (Comparisons.from_arrays(*column, weight=[2, 1, 1]), Comparisons.from_arrays(*doubled)):
        rows = KINDS[kind](votes)
        noise = Flip(rows.vote_counts)
        at = MemoryEngine(rows, 1).expectation(scores, noise.log_emission(params))
        results.append([at.value, *at.gradient, *noise.update(at.expected_counts)])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-14)


def expected_log_likelihood(votes, posterior, flips, errors, correct) -> float:
    truly = posterior[votes.vote_pair]
    right = np.where(votes.vote_result == FIRST, truly, 1 - truly)
    flip = flips[votes.vote_annotator]
    data = votes.vote_weight @ (right * np.log(1 - flip) + (1 - right) * np.log(flip))
    return float(data + (errors * np.log(flips) + correct * np.log(1 - flips)).sum())


@pytest.mark.parametrize(("errors", "correct"), [(0.0, 0.0), (1.0, 1.0), (0.5, 3.0)])
@pytest.mark.parametrize("seed", range(3))
def test_update_maximises_the_expected_log_likelihood_plus_prior(seed, errors, correct):
    votes = draw_votes(seed, n_votes=30)
    rows = Rows.per_pair(votes)
    posterior = np.random.default_rng(seed).uniform(0.05, 0.95, len(rows))
    flips = expit(Flip(rows.vote_counts, errors, correct).update(rows.over_votes(posterior)))
    for who in range(votes.n_annotators):

        def loss(flip: float, who: int = who) -> float:
            moved = np.where(np.arange(votes.n_annotators) == who, flip, flips)
            return -expected_log_likelihood(votes, posterior, moved, errors, correct)

        best = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10})
        assert flips[who] == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("errors", "correct"), [(0.0, 0.0), (1.0, 2.0)])
def test_the_slope_is_that_of_log_likelihood_plus_log_prior(kind, errors, correct):
    rows = KINDS[kind](draw_votes(1, n_votes=30))
    noise, engine = Flip(rows.vote_counts, errors, correct), MemoryEngine(rows, 1)
    scores, params = np.array([0.3, -0.4, 1.0, 0.0]), np.array([-1.0, 0.5, 2.0])

    def objective(at: np.ndarray) -> float:
        return engine.expectation(scores, noise.log_emission(at)).value + noise.log_prior(at)

    slope = noise.slope(params, engine.expectation(scores, noise.log_emission(params)).expected_counts)
    steps = 1e-5 * np.eye(3)
    np.testing.assert_allclose(
        slope, [(objective(params + h) - objective(params - h)) / 2e-5 for h in steps], atol=1e-7
    )


def test_what_is_missing_is_the_share_of_the_curvature_that_hidden_truths_take_away():
    rows = Rows.per_vote(draw_votes(1, n_votes=60))
    noise, engine = Flip(rows.vote_counts, 1.0, 2.0), MemoryEngine(rows, 1)
    scores, params = np.array([0.3, -0.4, 1.0, 0.0]), np.array([-1.0, -0.5, -2.0])

    def slope(at: np.ndarray) -> np.ndarray:
        return noise.slope(at, engine.expectation(scores, noise.log_emission(at)).expected_counts)

    truth_variance = engine.expectation(scores, noise.log_emission(params)).truth_variance
    steps = 1e-5 * np.eye(3)
    observed = np.array([(slope(params - h) - slope(params + h))[k] / 2e-5 for k, h in enumerate(steps)])
    known = (noise.votes + 3.0) * expit(params) * expit(-params)
    np.testing.assert_allclose(1 - noise.missing_information(params, truth_variance), observed / known, atol=1e-8)


def test_log_prior_is_highest_at_the_mode_and_zero_there():
    rows = Rows.per_pair(draw_votes(0))
    noise = Flip(rows.vote_counts, errors=2.0, correct=6.0)
    mode = np.full(len(noise.votes), logit(0.25))
    assert noise.log_prior(mode) == pytest.approx(0.0, abs=1e-12)
    for shift in (-1.0, -1e-3, 1e-3, 1.0):
        assert noise.log_prior(mode + shift) < noise.log_prior(mode)


def test_differences_of_the_log_prior_are_those_of_the_beta_density():
    noise = Flip(Rows.per_pair(draw_votes(0)).vote_counts, errors=2.0, correct=6.0)
    a, b = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.25, 0.9])
    wanted = (2 * np.log(a / b) + 6 * np.log((1 - a) / (1 - b))).sum()
    assert noise.log_prior(logit(a)) - noise.log_prior(logit(b)) == pytest.approx(wanted, rel=1e-12)


def test_the_gradient_of_objective_and_prior_vanishes_at_the_update():
    votes = draw_votes(4, n_votes=40)
    rows = Rows.per_pair(votes)
    noise, engine = Flip(rows.vote_counts), MemoryEngine(rows, 1)
    scores = np.array([0.5, -0.5, 0.2, 0.0])
    params = np.zeros(3)
    for _ in range(2000):
        params = noise.update(engine.expectation(scores, noise.log_emission(params)).expected_counts)

    def objective(at):
        return engine.expectation(scores, noise.log_emission(at)).value + noise.log_prior(at)

    for confusion_group in range(3):
        step = 1e-5 * np.eye(3)[confusion_group]
        assert (objective(params + step) - objective(params - step)) / 2e-5 == pytest.approx(0, abs=1e-6)


def test_an_annotator_without_votes_or_prior_is_a_fair_coin():
    votes = Comparisons.from_arrays(["a", "a"], ["b", "b"], ["x", "y"], [1, np.nan])
    rows = Rows.per_pair(votes)
    noise = Flip(rows.vote_counts, 0.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flips = noise.rates(noise.update(rows.over_votes(np.array([0.7]))))
    np.testing.assert_allclose(flips, [0.3, 0.5])


def test_certain_flips_keep_the_likelihood_finite():
    votes = Comparisons.from_arrays(["a", "a"], ["b", "b"], ["x", "y"], [1, 0])
    rows = Rows.per_pair(votes)
    noise = Flip(rows.vote_counts, 0.0, 0.0)
    params = noise.update(rows.over_votes(np.array([1.0])))
    np.testing.assert_allclose(noise.rates(params), [0, 1], atol=1e-12)
    at = MemoryEngine(rows, 1).expectation(np.array([-800.0, 800.0]), noise.log_emission(params))
    assert np.isfinite(at.value)
    assert np.isfinite(at.gradient).all()


@given(st.integers(0, 1000))
def test_mirrored_flips_with_negated_scores_say_the_same(seed):
    rng = np.random.default_rng(seed)
    rows = Rows.per_pair(draw_votes(seed, n_votes=20))
    noise, engine = Flip(rows.vote_counts), MemoryEngine(rows, 1)
    params, scores = 2 * rng.standard_normal(len(noise.votes)), rng.standard_normal(rows.n_items)
    here = full_pass(engine, scores, noise.log_emission(params))
    mirror = full_pass(engine, -scores, noise.log_emission(noise.sign_flipped(params)))
    assert mirror.value == pytest.approx(here.value, rel=1e-12)
    np.testing.assert_allclose(mirror.posterior, 1 - here.posterior, atol=1e-12)
    assert noise.log_prior(noise.sign_flipped(params)) == pytest.approx(noise.log_prior(params), rel=1e-12)
    assert noise.orientation(noise.sign_flipped(params)) == pytest.approx(-noise.orientation(params), rel=1e-9)


def test_good_will_counts_votes_not_annotators():
    left, who = ["a"] * 4, ["x", "x", "x", "y"]
    rows = Rows.per_pair(Comparisons.from_arrays(left, ["b", "c", "d", "b"], who, [1, 1, 1, 0]))
    noise = Flip(rows.vote_counts)
    assert noise.votes.tolist() == [3, 1]
    assert noise.orientation(logit([0.1, 0.9])) > 0 > noise.orientation(logit([0.6, 0.1]) * [1, 0])


def test_random_starts_are_better_than_chance_and_follow_the_seed():
    noise = Flip(Rows.per_pair(draw_votes(0)).vote_counts)
    drawn = noise.random(np.random.default_rng(1))
    assert ((noise.rates(drawn) > 0) & (noise.rates(drawn) < 0.5)).all()
    np.testing.assert_array_equal(drawn, noise.random(np.random.default_rng(1)))
    assert (drawn != noise.random(np.random.default_rng(2))).all()


def test_without_noise_the_likelihood_is_that_of_bradley_terry():
    votes = draw_votes(7, n_votes=20)
    rows = Rows.per_vote(votes)
    noise = NoNoise(rows.n_confusion_groups)
    scores = np.array([0.1, 0.9, -0.3, 0.0])
    at = full_pass(MemoryEngine(rows, 1), scores, noise.log_emission(np.empty(0)))
    won = expit(scores[votes.pair_first] - scores[votes.pair_second])[votes.vote_pair]
    likely = np.where(votes.vote_result == FIRST, won, 1 - won)
    assert at.value == pytest.approx(float(votes.vote_weight @ np.log(likely)), rel=1e-12)
    np.testing.assert_allclose(at.posterior, rows.first_won, atol=1e-15)


@pytest.mark.parametrize(("n", "spread"), [(3, 0.5), (30, 1.0), (200, 0.3)])
def test_the_spread_that_is_a_fixed_point_maximises_the_marginal_likelihood(n, spread):
    rng = np.random.default_rng(n)
    information = rng.uniform(0.5, 20.0, n)
    estimates = spread * rng.standard_normal(n) + rng.standard_normal(n) / np.sqrt(information)
    variance = 1.0
    for _ in range(2000):
        shrunk = information * estimates / (information + 1.0 / variance)
        variance = pooled_variance(float((shrunk**2).sum()) + 2.0, information, 1.0 / variance)

    def loss(log_variance):
        own = np.exp(log_variance) + 1.0 / information
        return (np.log(own) + estimates**2 / own).sum() + 2.0 * (log_variance + np.exp(-log_variance))

    assert np.log(variance) == pytest.approx(minimize_scalar(loss, bounds=(-8, 4), method="bounded").x, abs=1e-3)


def test_rescaled_flips_keep_close_votes_and_know_their_jacobian():
    noise, params = Flip(np.ones((3, 2))), np.array([-2.0, -0.5, 0.8])
    moved, log_jacobian = noise.rescaled(params, 1.3)
    margin = 1e-4
    before, after = (r + (1 - 2 * r) * expit(m) for r, m in ((expit(params), margin), (expit(moved), 1.3 * margin)))
    np.testing.assert_allclose(after - 0.5, before - 0.5, rtol=1e-6)
    step = 1e-6
    slopes = (noise.rescaled(params + step, 1.3)[0] - noise.rescaled(params - step, 1.3)[0]) / (2 * step)
    assert log_jacobian == pytest.approx(np.log(slopes).sum())
    assert noise.rescaled(moved, 1 / 1.3)[0] == pytest.approx(params)
    assert noise.rescaled(params, 0.1) is None  # an annotator cannot be better than always right
