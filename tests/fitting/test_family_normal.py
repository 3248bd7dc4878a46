"""The normal approximation of the families model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal

import jamrank as jr
from jamrank.fitting import family_normal
from jamrank.fitting.families import sample_families
from jamrank.fitting.family_expansion import Cells, expand
from jamrank.fitting.family_normal import fit_families, nearly_normal
from jamrank.fitting.family_search import SCORE_SDS, Below, Explanation, weigh
from jamrank.fitting.family_state import ALONE, FAMILY_SDS, LAPSE_MEAN, SCORE_SHAPE
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.linalg.normal_effects import Normal
from jamrank.simulation import Tastes


def drawn(tastes, seed=0, n_items=12, n_annotators=12, n_votes=16_000, flips=None):
    flips = flips or [0.1] * n_annotators
    return jr.simulate(
        n_items, n_annotators, n_votes, truth="vote", flips=flips, spread=1.5, tastes=tastes, random_state=seed
    )


def test_the_expansion_has_the_gradient_of_the_likelihood():
    votes = FamilyVotes.of(drawn(Tastes(), n_items=5, n_annotators=3, n_votes=300).votes)
    rng = np.random.default_rng(0)
    scores, log_odds = rng.standard_normal((3, 5)), rng.standard_normal(3)
    found, lapse = expand(Cells.of(votes), scores, log_odds), expit(log_odds)
    _, on_own, on_lapse = votes.slopes(scores[None], lapse[None])
    at_centre = found.shift - (found.precision @ scores[..., None])[..., 0] - found.slope * log_odds[:, None]
    np.testing.assert_allclose(at_centre, on_own[0], atol=1e-9)
    at_centre = found.pull - found.information * log_odds - (found.slope * scores).sum(axis=1)
    np.testing.assert_allclose(at_centre, on_lapse[0] * lapse * (1 - lapse), atol=1e-9)
    for k in range(3):
        both = np.block([[found.precision[k], found.slope[k][:, None]], [found.slope[k], found.information[k]]])
        assert np.linalg.eigvalsh(both).min() > -1e-9


def test_an_explanation_has_the_probability_of_normal_observations():
    rng, k, n = np.random.default_rng(1), 4, 3
    family, sign = np.array([0, 0, ALONE, 1]), np.array([1.0, -1.0, 1.0, 1.0])
    variance, seen = rng.uniform(0.5, 2, (k, n)), rng.standard_normal((k, n))
    precision = np.stack([np.diag(1 / v) for v in variance])
    shift = np.repeat((seen / variance)[..., None], 3, axis=2)
    # What is observed is the scores times the sign, with normal errors.
    below = Below(Normal(precision, shift, np.zeros((k, 3))), LAPSE_MEAN)
    found = weigh(below, Explanation(family, sign))
    np.testing.assert_allclose(found.lapse_mean, LAPSE_MEAN)
    same = (family[:, None] == family) & (family != ALONE)[:, None]
    prior = Explanation(family, sign).log_prior - np.log(len(FAMILY_SDS))
    of_noise = multivariate_normal(np.zeros(k * n), np.diag(variance.ravel())).logpdf(seen.ravel())
    for f, s in ((0, 8), (4, 20)):
        shared = SCORE_SDS[s] ** 2 + FAMILY_SDS[f] ** 2 * same
        covariance = np.kron(shared * np.outer(sign, sign), np.eye(n)) + np.diag(variance.ravel())
        expected = multivariate_normal(np.zeros(k * n), covariance).logpdf(seen.ravel()) - of_noise
        # The ratio to the density of the observations about 0.
        expected += prior - 2 * SCORE_SHAPE * np.log(SCORE_SDS[s]) - 0.5 / SCORE_SDS[s] ** 2
        assert found.by_sd[f, s] == pytest.approx(expected)


@pytest.mark.parametrize("own_sd", [0.0, pytest.param(0.3, marks=pytest.mark.long)])
def test_it_agrees_with_the_sampler(own_sd):
    votes, _, _ = FamilyVotes.of(drawn(Tastes(families=(4, 3), own_sd=own_sd), seed=1).votes).ordered()
    ours, theirs = fit_families(votes, None, 400), sample_families(votes, n_draws=400)

    def same(draws):
        return (draws.family[:, :, None] == draws.family[:, None, :]).mean(axis=0)

    assert np.abs(same(ours) - same(theirs)).max() < 0.15
    for name in ("scores", "own", "flip"):
        a, b = (getattr(draws, name) for draws in (ours, theirs))
        # Monte Carlo errors of 400 draws are .07 of a standard deviation, with chains more.
        away = (a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)
        assert np.sqrt((away**2).mean()) < 0.3, name
        assert 0.8 < (a.std(axis=0) / b.std(axis=0)).mean() < 1.2, name


def test_families_and_adversaries_among_many_are_found():
    found = drawn(Tastes(families=(12, 8)), 2, 25, 40, 40_000, [0.1] * 37 + [0.9] * 3)
    model = jr.FamilyBT().fit(found.votes)
    assert model.result_.extras["normal"]
    assert model.result_.uncertainty.diagnostics is None
    names = found.votes.annotators.tolist()
    groups = {frozenset(one.split(", ")) for one in model.rankings_by_family_["annotators"]}
    assert groups >= {frozenset(names[:12]), frozenset(names[12:20])}
    flips = dict(zip(model.annotators_["annotator"], model.annotators_["flip"], strict=True))
    assert min(flips[f"ann{i}"] for i in (37, 38, 39)) > 0.7
    assert max(flips[f"ann{i:02}"] for i in range(37)) < 0.3


@pytest.fixture(scope="module")
def many():
    found = drawn(Tastes(families=(12, 8)), 3, 25, 40, 32_000)
    return found, jr.FamilyBT(n_draws=100).fit(found.votes)


def test_names_and_order_change_nothing(many):
    found, model = many
    frame = found.frame.reverse()
    items = sorted(set(frame["left"]) | set(frame["right"]))
    renamed = {name: f"x{(7 * i) % len(items):02}" for i, name in enumerate(items)}
    frame = frame.with_columns(*(frame[name].replace_strict(renamed) for name in ("left", "right")))
    other = jr.FamilyBT(n_draws=100).fit(jr.Comparisons.from_frame(frame))
    at = [other.result_.items.tolist().index(renamed[name]) for name in model.result_.items]
    np.testing.assert_allclose(other.scores_[at], model.scores_, atol=1e-10)
    np.testing.assert_allclose(other.same_taste_, model.same_taste_)


def test_it_is_saved_and_loaded(many, tmp_path):
    found, model = many
    model.save(tmp_path / "m.jamrank")
    again = jr.load(tmp_path / "m.jamrank")
    assert again.ranking_.equals(model.ranking_)
    assert again.annotators_.equals(model.annotators_)
    assert again.result_.uncertainty.diagnostics is None
    np.testing.assert_array_equal(again.vote_proba(found.votes), model.vote_proba(found.votes))


def test_families_may_be_given(many):
    found, _ = many
    given = {name: "a" if i < 12 else "b" for i, name in enumerate(found.votes.annotators.tolist()) if i < 20}
    model = jr.FamilyBT(families=given, n_draws=100).fit(found.votes)
    assert model.families_.tolist() == [0] * 12 + [1] * 8 + [-1] * 20
    assert 0 < model.effective_judges_ < 40


@pytest.mark.long
def test_scores_are_covered():
    held = []
    for seed in range(4):
        found = drawn(Tastes(families=(12, 8), own_sd=0.3), seed, 25, 40, 40_000)
        ranking = jr.FamilyBT().fit(found.votes).ranking_.sort("item")
        low, high = (ranking[name].to_numpy() for name in ("score_low", "score_high"))
        true = found.scores - found.scores.mean()
        held.append((low <= true) & (true <= high))
    # Scores of one set go together: families may have moved all of them.
    assert np.mean(held) > 0.85


def test_it_is_used_where_votes_are_many_and_sampling_is_slow():
    assert nearly_normal(100, 100, 1e6)
    assert not nearly_normal(8, 20, 1e6)
    assert not nearly_normal(100, 100, 1e5)
    assert not nearly_normal(1000, 1000, 1e12)
    assert family_normal.MOST_SAMPLED < 40 * 25**3
