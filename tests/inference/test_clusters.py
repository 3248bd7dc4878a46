from __future__ import annotations

import numpy as np

import jamrank as jr
from jamrank.inference import describe_cluster
from jamrank.report import Analysis, findings

NAMES, SCALE = ["alcohol", "density", "pH"], np.array([2.0, 0.1, 1.0])


def test_a_cluster_is_told_by_its_largest_differences_in_the_users_units():
    assert (
        describe_cluster(np.array([1.0, 0.2, 0.0]), NAMES, SCALE)
        == "pairs that differ mostly in alcohol (by about 2)"
    )
    told = describe_cluster(np.array([-0.6, 1.0, 0.7]), NAMES, SCALE)
    assert told == (
        "pairs that differ mostly in density (by about 0.1), pH (the same way, by about 0.7) and alcohol (the other "
        "way, by about 1.2)"
    )


def test_a_centroid_and_its_opposite_are_told_alike():
    centroid = np.array([1.0, -0.8, 0.6])
    assert describe_cluster(centroid, NAMES, SCALE) == describe_cluster(-centroid, NAMES, SCALE)


def test_pairs_that_hardly_differ_are_alike():
    assert (
        describe_cluster(np.array([0.2, -0.1, 0.0]), NAMES, SCALE)
        == "pairs of items that are similar in every feature"
    )


def test_who_is_good_at_what_is_told():
    rng = np.random.default_rng(0)
    # Pairs differ in size or in weight; the last annotator knows only sizes.
    sizes, weights = np.repeat([0.0, 3.0], 20), np.tile(np.repeat([0.0, 3.0], 10), 2)
    features = np.stack([sizes, weights], axis=1) + 0.1 * rng.standard_normal((40, 2))
    left, right = np.triu_indices(40, 1)
    one = (np.abs(features[left] - features[right]) > 1.5).sum(axis=1) == 1
    left, right = left[one], right[one]
    truth = features[left].sum(axis=1) > features[right].sum(axis=1)
    by_size = np.abs(features[left, 0] - features[right, 0]) > 1.5
    flips = np.stack([np.full(len(left), 0.1)] * 4 + [np.where(by_size, 0.05, 0.45)], axis=1)
    said = truth[:, None] ^ (rng.random(flips.shape) < flips)
    votes = jr.Comparisons.from_matrix(left, right, said.astype(float), list("abcde"))
    known = dict(zip(votes.items.tolist(), features.tolist(), strict=True))
    model = jr.VRJAM(n_clusters=2).fit(votes, known)
    assert model.clusters_["pairs"].sum() == len(left)
    skills = model.skills_.filter(model.skills_["annotator"] == "e")
    assert skills["flip"].max() > 0.35
    assert skills["flip"].min() < 0.15
    assert any(
        sentence.startswith("e is best on pairs that differ mostly in")
        for sentence in findings(Analysis(model.result_, votes))
    )
