"""The paper's red wine, whole: what the methods must reach on it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import jamrank as jr

DATA = Path(os.environ.get("JAMRANK_DATA") or Path(__file__).parents[3] / "shared" / "data")
WINE = DATA / "wine_quality" / "winequality-red.csv"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not WINE.exists(), reason=f"needs {WINE.name}: set JAMRANK_DATA to the data folder"),
]

FLIPS = np.arange(1, 7) / 20


def red_wine() -> tuple[np.ndarray, np.ndarray]:
    table = np.genfromtxt(WINE, delimiter=";", skip_header=1)
    return table[:, :-1], table[:, -1]


def vote(flips: np.ndarray, seed: int, n_pairs: int | None = None, one_each: bool = False) -> jr.Comparisons:
    quality, rng = red_wine()[1], np.random.default_rng(seed)
    left, right = np.triu_indices(len(quality), 1)
    different = np.flatnonzero(quality[left] != quality[right])
    if n_pairs is not None:
        different = rng.choice(different, n_pairs, replace=False)
    left, right = left[different], right[different]
    truth = quality[left] > quality[right]
    said = (truth[:, None] ^ (rng.random((len(left), len(flips))) < flips)).astype(np.int8)
    if one_each:
        said[np.arange(len(flips)) != rng.integers(0, len(flips), len(left))[:, None]] = -1
    return jr.Comparisons.from_matrix(left, right, said)


def truth_of(votes: jr.Comparisons) -> np.ndarray:
    return red_wine()[1][votes.items]


@pytest.fixture(scope="module")
def every_pair() -> jr.Comparisons:
    votes = vote(FLIPS, seed=20)
    assert votes.n_pairs == 821_581
    return votes


@pytest.mark.parametrize(
    ("model", "accuracy", "order"),
    [(jr.JAM(), 0.987, 0.999), (jr.JAM(loss="hinge"), 0.985, 0.999), (jr.VRJAM(), 0.987, 0.999)],
    ids=["JAM", "hinge", "VRJAM"],
)
def test_joint_models_find_flips_truths_and_order(every_pair, model, accuracy, order):
    model.fit(every_pair, red_wine()[0])
    np.testing.assert_allclose(model.flip_.reshape(6, -1).mean(axis=1), FLIPS, atol=0.005)
    assert model.score(truth_of(every_pair)) >= accuracy
    assert model.score(truth_of(every_pair), by="scores") >= order


def test_features_alone_order_four_pairs_in_five(every_pair):
    model = jr.JAM().fit(every_pair, red_wine()[0])
    by_features = jr.inference.order_accuracy(model.feature_scores_, truth_of(every_pair))
    assert by_features == pytest.approx(0.80, abs=0.01)


def test_baselines_are_where_theory_puts_them(every_pair):
    truth = truth_of(every_pair)
    assert jr.MajorityVote().fit(every_pair).score(truth) == pytest.approx(0.96366, abs=0.002)
    assert jr.IAM().fit(every_pair, red_wine()[0]).score(truth) >= 0.78


def test_an_adversary_is_recognised_and_inverted():
    votes = vote(np.array([0.05, 0.1, 0.2, 0.3, 0.2, 0.8]), seed=21)
    model = jr.JAM().fit(votes, red_wine()[0])
    assert model.flip_[-1] == pytest.approx(0.8, abs=0.005)
    assert model.annotators_["verdict"].to_list()[-1] == "adversarial"
    assert model.score(truth_of(votes)) >= 0.985


@pytest.mark.parametrize("seed", range(3))
def test_one_vote_a_pair_is_enough_for_the_flips(seed):
    flips = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.8])
    votes = vote(flips, seed, n_pairs=20_000, one_each=True)
    model = jr.JAM(max_iter=100).fit(votes, red_wine()[0][votes.items])
    assert model.converged_
    assert model.n_iter_ <= 100
    np.testing.assert_allclose(model.flip_, flips, atol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_votes_on_few_pairs_order_all_of_them(seed):
    votes = vote(FLIPS, seed, n_pairs=10_000)
    model = jr.JAM().fit(votes, red_wine()[0][votes.items])
    assert model.score(truth_of(votes), by="scores") >= 0.99


def test_where_flips_vary_vrjam_finds_it():
    votes, features = vote(np.zeros(6), seed=5, n_pairs=20_000), red_wine()[0]
    cluster = jr.VRJAM(n_clusters=4).fit(votes, features[votes.items]).cluster_
    flips = np.where(np.arange(4) < 2, 0.1, 0.4)
    rng = np.random.default_rng(6)
    left, right = votes.items[votes.pair_first], votes.items[votes.pair_second]
    truth = red_wine()[1][left] > red_wine()[1][right]
    said = (truth[:, None] ^ (rng.random((len(left), 6)) < flips[cluster][:, None])).astype(np.int8)
    noisy = jr.Comparisons.from_matrix(left, right, said)
    jam = jr.JAM().fit(noisy, features[noisy.items])
    vrjam = jr.VRJAM(n_clusters=4).fit(noisy, features[noisy.items])
    np.testing.assert_allclose(vrjam.flip_, np.tile(flips, (6, 1)), atol=0.06)
    assert vrjam.score(truth_of(noisy)) >= jam.score(truth_of(noisy)) + 0.015
