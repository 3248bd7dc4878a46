"""The number of clusters is that with which held-out votes are predicted best."""

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.storage import FIRST
from jamrank.fitting import clustered
from jamrank.fitting.cluster_choice import HeldOutVotes, choose_number
from jamrank.noise.clustered import choose_strength


def _votes(seed: int = 0, n: int = 200) -> tuple[jr.Comparisons, np.random.Generator]:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 8, n)
    right = (left + rng.integers(1, 8, n)) % 8
    return jr.Comparisons.from_arrays(left, right, rng.integers(0, 3, n), rng.integers(0, 2, n)), rng


def test_a_vote_is_predicted_without_itself():
    votes, rng = _votes()
    posterior, flip = rng.uniform(0.1, 0.9, votes.n_pairs), np.array([0.1, 0.2, 0.4])
    cluster = rng.integers(0, 2, votes.n_pairs).astype(np.int32)
    found = HeldOutVotes(votes, posterior, flip, (1.0, 2.0)).losses(cluster, 2)
    first, who, pair, weight = votes.vote_result == FIRST, votes.vote_annotator, votes.vote_pair, votes.vote_weight
    wrong = np.where(first, 1 - posterior[pair], posterior[pair])
    errors, counts = np.zeros((3, 2)), np.zeros((3, 2))
    for v in range(len(pair)):
        errors[who[v], cluster[pair[v]]] += weight[v] * wrong[v]
        counts[who[v], cluster[pair[v]]] += weight[v]
    strength = choose_strength(errors, counts, flip)
    for v in range(len(pair)):
        k, d, q = who[v], cluster[pair[v]], posterior[pair[v]]
        likely = ((1 - flip[k]) if first[v] else flip[k]) ** weight[v]
        unlikely = (flip[k] if first[v] else 1 - flip[k]) ** weight[v]
        without = (q / likely) / (q / likely + (1 - q) / unlikely)
        own = 1.0 + strength * flip[k] + errors[k, d] - weight[v] * wrong[v]
        rate = own / (3.0 + strength + counts[k, d] - weight[v])
        chance = without * (1 - rate) + (1 - without) * rate
        assert found[v] == pytest.approx(-np.log(chance if first[v] else 1 - chance), abs=1e-8)


def test_the_smallest_number_that_is_not_clearly_worse_is_taken():
    votes, _ = _votes()
    held_out = HeldOutVotes(votes, np.full(votes.n_pairs, 0.5), np.full(3, 0.2), (1.0, 2.0))
    n = len(votes.vote_pair)
    rng = np.random.default_rng(1)
    losses = {1: np.full(n, 0.7), 2: 0.6 + 0.01 * rng.standard_normal(n), 3: np.full(n, 0.6), 4: np.full(n, 0.6)}
    losses[4] = losses[4] - 5e-5
    held_out.losses = lambda cluster, number: losses[number]  # type: ignore[method-assign]
    assert choose_number(4, lambda number: (np.zeros(votes.n_pairs, np.int32), number), held_out) == 2


def _turning(waves: int, n_votes: int, seed: int = 0) -> tuple[jr.Comparisons, np.ndarray]:
    """Draw votes by annotators whose flips depend on the direction of the difference of two features."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((60, 2))
    scores = 2 * features[:, 0]
    left = rng.integers(0, 60, n_votes)
    right = (left + rng.integers(1, 60, n_votes)) % 60
    who = rng.integers(0, 6, n_votes)
    truth = rng.random((60, 60))[np.minimum(left, right), np.maximum(left, right)]
    first = (truth < expit(scores[np.minimum(left, right)] - scores[np.maximum(left, right)])) ^ (left > right)
    along = features[np.minimum(left, right)] - features[np.maximum(left, right)]
    angle = np.arctan2(along[:, 1], along[:, 0])
    logits = -1.5 + (2.0 * np.cos(waves * angle + who * np.pi / 3) if waves else 0.0)
    votes = jr.Comparisons.from_arrays(left, right, who, (first ^ (rng.random(n_votes) < expit(logits))).astype(int))
    return votes, features[votes.items.astype(int)]


@pytest.mark.parametrize(
    ("waves", "n_votes", "fewest", "most"), [(0, 4000, 1, 2), (2, 8000, 9, 32), (6, 8000, 16, 32)]
)
def test_more_clusters_are_taken_where_reliability_varies_more(waves, n_votes, fewest, most):
    votes, features = _turning(waves, n_votes)
    assert fewest <= len(jr.VRJAM().fit(votes, features).centroids_) <= most


def test_a_sample_of_pairs_and_votes_does_not_depend_on_order_names_and_sides(monkeypatch):
    monkeypatch.setattr(clustered, "_MOST_PAIRS", 300)
    monkeypatch.setattr(clustered, "_MOST_VOTES", 2000)
    votes, features = _turning(2, 8000)
    every = np.repeat(np.arange(len(votes.vote_pair)), votes.vote_weight.astype(int))
    pair, who = votes.vote_pair[every], votes.vote_annotator[every]
    first, second = votes.pair_first[pair], votes.pair_second[pair]
    renamed, rng = np.random.default_rng(5).permutation(60), np.random.default_rng(6)
    order, turned = rng.permutation(len(who)), rng.random(len(who)) < 0.5
    ends = np.where(turned, second, first)[order], np.where(turned, first, second)[order]
    won = (votes.vote_result[every] ^ turned)[order]
    again = jr.Comparisons.from_arrays(*(renamed[end] for end in ends), 5 - who[order], won)
    here = np.argsort(renamed)
    one = jr.VRJAM().fit(votes, features)
    other = jr.VRJAM().fit(again, features[here][again.items.astype(int)])
    assert 4 <= len(one.centroids_) == len(other.centroids_)
    np.testing.assert_allclose(one.centroids_, other.centroids_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.flip_, other.flip_[::-1], rtol=0, atol=1e-9)
