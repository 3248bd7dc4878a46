from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import jamrank as jr
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.engines import MemoryEngine
from jamrank.noise import Flip, TwoCoin
from jamrank.rows import ROWS_BY, Rows, by_side

LEFT_OF = {"pair": "pair-by-side", "vote": "vote-by-side"}


def draw_votes(seed: int, n_votes: int = 9, n_items: int = 4) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    weight = rng.choice([0.5, 1.0, 2.0], n_votes)
    return Comparisons.from_arrays(left, right, rng.integers(0, 3, n_votes), rng.integers(0, 2, n_votes), weight)


def likelihood_by_hand(votes: Comparisons, scores, flip, bias) -> float:
    """Sum over all truths of all pairs."""
    prior = expit(scores[votes.pair_first] - scores[votes.pair_second])
    total = 0.0
    for truth in product([False, True], repeat=votes.n_pairs):
        probability = np.prod(np.where(truth, prior, 1 - prior))
        for pair, who, result, swapped, weight in zip(
            votes.vote_pair,
            votes.vote_annotator,
            votes.vote_result,
            votes.vote_swapped,
            votes.vote_weight,
            strict=True,
        ):
            truth_on_left = truth[pair] != swapped
            error = expit(flip[who] - bias[who] if truth_on_left else flip[who] + bias[who])
            probability *= (1 - error if (result == FIRST) == truth[pair] else error) ** weight
        total += probability
    return float(np.log(total))


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_is_the_sum_over_all_truths(seed):
    votes, rng = draw_votes(seed), np.random.default_rng(seed)
    scores = rng.standard_normal(votes.n_items)
    flip, bias = rng.standard_normal((2, votes.n_annotators))
    rows = ROWS_BY["pair-by-side"](votes, 1)
    log_emission = TwoCoin(rows.vote_counts).log_emission(np.concatenate([flip, bias]))
    assert log_emission.shape == (rows.n_confusion_groups, 2, 2)
    np.testing.assert_allclose(np.exp(log_emission).sum(axis=1), 1.0)
    at = MemoryEngine(rows, 1).expectation(scores, log_emission)
    assert at.value == pytest.approx(likelihood_by_hand(votes, scores, flip, bias), rel=1e-12)


@pytest.mark.parametrize("kind", ["pair", "vote"])
def test_sides_split_an_annotator_in_two_and_nothing_else(kind):
    votes = draw_votes(3, n_votes=60)
    rows, sided = ROWS_BY[kind](votes, 1), ROWS_BY[LEFT_OF[kind]](votes, 1)
    np.testing.assert_allclose(sided.vote_counts.reshape(-1, 2, 2).sum(axis=1), rows.vote_counts)
    on_right = np.bincount(votes.vote_annotator, votes.vote_weight * votes.vote_swapped, votes.n_annotators)
    np.testing.assert_allclose(sided.vote_counts.reshape(-1, 2, 2)[:, 1].sum(axis=1), on_right)


def test_a_jury_shows_a_pair_to_all_on_the_same_side():
    votes = Comparisons.from_matrix(["b", "a"], ["a", "c"], [[1, 0], [1, 1]])
    confusion_groups = by_side(votes).vote_annotator
    assert confusion_groups.tolist() == [1, 3, 0, 2]


def objective(noise: TwoCoin, params, expected_counts) -> float:
    log_emission = noise.log_emission(params)
    likely = expected_counts * log_emission[..., 1] + (noise.vote_counts - expected_counts) * log_emission[..., 0]
    return float(likely.sum()) + noise.log_prior(params)


@pytest.mark.parametrize("variance", [1.0, 1e-3, None])
def test_the_update_maximises_what_tables_and_prior_say(variance):
    rng = np.random.default_rng(0)
    vote_counts = rng.uniform(0.5, 30, (8, 2))
    expected_counts = vote_counts * rng.random(vote_counts.shape)
    noise = TwoCoin(vote_counts, *((1.0, 2.0) if variance else (0.0, 0.0)), variance)
    found = noise.update(expected_counts)
    best = minimize(lambda params: -objective(noise, params, expected_counts), np.zeros(8), tol=1e-12)
    assert objective(noise, found, expected_counts) >= -best.fun - 1e-9
    np.testing.assert_allclose(noise.slope(found, expected_counts), 0.0, atol=1e-6)
    np.testing.assert_allclose(noise.update(expected_counts, rng.standard_normal(8)), found, atol=1e-8)


def test_the_slope_is_the_derivative():
    rng = np.random.default_rng(1)
    vote_counts = rng.uniform(0.5, 30, (6, 2))
    expected_counts, params = vote_counts * rng.random(vote_counts.shape), rng.standard_normal(6)
    noise = TwoCoin(vote_counts, 1.0, 2.0, 0.5)
    by_hand = [
        (objective(noise, params + step, expected_counts) - objective(noise, params - step, expected_counts)) / 2e-6
        for step in 1e-6 * np.eye(6)
    ]
    np.testing.assert_allclose(noise.slope(params, expected_counts), by_hand, atol=1e-6)


@pytest.mark.parametrize("extreme", [0.0, 1.0])
def test_annotators_of_one_side_or_no_vote_have_finite_parameters(extreme):
    vote_counts = np.array([[5.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    for noise in (TwoCoin(vote_counts), TwoCoin(vote_counts, 0.0, 0.0, 1.0), TwoCoin(vote_counts, 0.0, 0.0, None)):
        params = noise.update(extreme * vote_counts)
        assert np.isfinite(params).all()
        assert np.isfinite(noise.log_emission(params)).all()


def test_the_mirror_image_says_the_same_of_the_opposite_truths():
    noise, params = TwoCoin(np.ones((4, 2))), np.array([0.3, -1.0, 0.5, -0.2])
    np.testing.assert_allclose(noise.log_emission(noise.sign_flipped(params)), noise.log_emission(params)[:, :, ::-1])
    assert noise.orientation(noise.sign_flipped(params)) == pytest.approx(-noise.orientation(params))


@pytest.mark.parametrize("model", [jr.JAM, jr.CrowdBT])
def test_without_bias_it_is_the_flip(model):
    votes = jr.simulate(15, 4, 500, noise="two-coin", truth="vote", random_state=2).votes
    plain = model(tol=1e-9, flips="joint").fit(votes)
    held = model(noise="two-coin", prior=jr.Prior(bias_variance=1e-12), tol=1e-9).fit(votes)
    np.testing.assert_allclose(held.scores_, plain.scores_, atol=1e-6)
    np.testing.assert_allclose(held.flip_, plain.flip_, atol=1e-6)
    np.testing.assert_allclose(held.posterior_, plain.posterior_, atol=1e-6)
    assert np.abs(held.result_.annotators.trait("bias")).max() < 1e-6
    assert plain.result_.annotators.trait("bias") is plain.result_.annotators.bias_interval is None


@pytest.mark.parametrize("model", [jr.JAM, jr.CrowdBT])
def test_turning_all_sides_turns_the_bias_and_nothing_else(model):
    votes = jr.simulate(15, 4, 800, noise="two-coin", random_state=3).frame
    turned = votes.rename({"left": "right", "right": "left"}).with_columns(
        winner=votes["winner"].replace({"left": "right", "right": "left"})
    )
    a, b = (model(noise="two-coin").fit(Comparisons.from_frame(frame)) for frame in (votes, turned))
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-10)
    np.testing.assert_allclose(a.flip_, b.flip_, atol=1e-10)
    np.testing.assert_allclose(a.result_.annotators.trait("bias"), -b.result_.annotators.trait("bias"), atol=1e-10)
    np.testing.assert_allclose(
        a.result_.annotators.bias_interval, -b.result_.annotators.bias_interval[:, ::-1], atol=1e-6
    )


def test_an_annotator_who_always_says_left_is_found_out():
    drawn = jr.simulate(
        20, 4, 2000, flips=[0.1, 0.1, 0.1, 0.5], noise="two-coin", bias=[0, 0, 1.5, 4], random_state=4
    )
    model = jr.JAM(noise="two-coin").fit(drawn.votes)
    assert model.result_.annotators.trait("bias")[3] > 2
    assert model.result_.annotators.bias_interval[3, 0] > 1
    row = model.annotators_.to_dicts()[3]
    assert (
        row["bias"] == model.result_.annotators.trait("bias")[3] and row["bias_low"] < row["bias"] < row["bias_high"]
    )
    assert row["verdict"] in ("one-sided", "position-biased")
    assert model.score(dict(zip(drawn.votes.items, drawn.scores, strict=True)), by="scores") > 0.85


def test_flip_and_two_coin_say_the_same_of_votes_on_one_side():
    rows = ROWS_BY["pair-by-side"](draw_votes(5, 30), 1)
    both = TwoCoin(rows.vote_counts, 1.0, 2.0, 1e-14)
    params = both.update(0.3 * rows.vote_counts)
    alone = Flip(rows.vote_counts.reshape(-1, 2, 2).sum(axis=1), 1.0, 2.0)
    expected = alone.update(0.3 * rows.vote_counts.reshape(-1, 2, 2).sum(axis=1))
    np.testing.assert_allclose(params[: len(expected)], expected, atol=1e-9)
    assert isinstance(rows, Rows)
