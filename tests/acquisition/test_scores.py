"""The normal posterior of the scores, against linear algebra done the long way."""

from __future__ import annotations

import numpy as np
import pytest

from jamrank.acquisition import scores as scores_module
from jamrank.acquisition.goals import Goal, question_weight, relevance, top_probability
from jamrank.acquisition.scores import GaussianScores


@pytest.fixture
def drawn():
    rng = np.random.default_rng(3)
    root = rng.standard_normal((5, 5))
    return GaussianScores(rng.standard_normal(5), root @ root.T + np.eye(5))


def test_the_precision_is_that_of_the_prior_plus_the_votes():
    first, second = np.array([0, 1, 0]), np.array([1, 2, 2])
    information = np.array([0.5, 1.0, 0.25])
    made = GaussianScores.from_information(np.zeros(3), np.full(3, 2.0), first, second, information)
    precision = np.eye(3) / 2
    for a, b, w in zip(first, second, information, strict=True):
        along = np.eye(3)[a] - np.eye(3)[b]
        precision += w * np.outer(along, along)
    assert made.covariance == pytest.approx(np.linalg.inv(precision))
    with_matrix = GaussianScores.from_information(np.zeros(3), 2.0 * np.eye(3), first, second, information)
    assert with_matrix.covariance == pytest.approx(made.covariance)


def test_conditioning_on_a_margin_is_gaussian_conditioning(drawn):
    along = np.array([0.0, 1.0, 0.0, -1.0, 0.0])
    mean, covariance = drawn.mean.copy(), drawn.covariance.copy()
    variance, noise, seen = along @ covariance @ along, 0.8, 1.1
    gain = covariance @ along / (variance + noise)
    after_mean = mean + gain * (seen - along @ mean)
    after = covariance - np.outer(gain, along @ covariance)
    drawn.condition(1, 3, float(along @ after_mean), float(along @ after @ along))
    assert drawn.mean == pytest.approx(after_mean)
    assert drawn.covariance == pytest.approx(after)


def test_new_items_are_independent_of_the_old_ones(drawn):
    before = drawn.covariance.copy()
    drawn.add(np.array([0.5]), np.array([3.0]))
    assert drawn.covariance[:5, :5] == pytest.approx(before)
    assert drawn.covariance[5].tolist() == [0, 0, 0, 0, 0, 3.0]


def test_beyond_the_dense_limit_only_variances_are_kept(monkeypatch):
    monkeypatch.setattr(scores_module, "MOST_DENSE", 3)
    votes = np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1.0])
    made = GaussianScores.from_information(np.zeros(4), np.ones(4), *votes)
    assert not made.dense
    assert made.variance[1] < made.variance[0] < made.variance[3] == 1.0
    made.condition(0, 1, 0.5, 0.2)
    assert made.mean[0] > 0 > made.mean[1]


def test_the_weight_of_a_question_is_how_fast_its_entropy_falls():
    """The expected entropy of an answer after a small reduction of the variance, by quadrature."""
    from scipy.special import ndtr, xlogy

    mean, variance, small = 0.7, 1.9, 1e-4

    def entropy(p):
        return -xlogy(p, p) - xlogy(1 - p, 1 - p)

    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    later = ndtr((mean + np.sqrt(small) * nodes) / np.sqrt(variance - small))
    lost = entropy(ndtr(mean / np.sqrt(variance))) - (entropy(later) @ weights) / weights.sum()
    assert question_weight(np.array([mean]), np.array([variance]))[0] == pytest.approx(lost / small, rel=1e-3)


def test_relevance_is_the_entropy_that_a_known_margin_saves(drawn):
    """All pairs one by one: each question's weight times what the vote takes off its variance."""
    first, second = np.triu_indices(5, 1)
    worth = relevance(drawn, Goal("ranking"), first, second, np.random.default_rng(0))
    along = drawn.covariance[0] - drawn.covariance[2]
    own = along[0] - along[2]
    total = 0.0
    for k, other in zip(first, second, strict=True):
        mean, variance = drawn.margin(k, other)
        total += question_weight(mean, variance) * (along[k] - along[other]) ** 2 / own
    place = int(np.flatnonzero((first == 0) & (second == 2))[0])
    assert worth[place] == pytest.approx(float(total))


def test_as_many_are_expected_at_the_top_as_it_holds(drawn):
    assert top_probability(drawn, 2).sum() == pytest.approx(2.0, abs=1e-6)
    assert (top_probability(drawn, 5) > 0.999).all()
