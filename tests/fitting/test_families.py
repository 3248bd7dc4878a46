from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal

import jamrank as jr
from jamrank.fitting import families
from jamrank.fitting.families import ALONE, Normal, absorb, evidence, log_membership, sample_families
from jamrank.fitting.family_votes import AnnotatorPairs, polya_gamma
from jamrank.simulation import Tastes


def partitions(n: int):
    """All ways to put annotators into families or none."""
    found = [()]
    for _ in range(n):
        found = [(*one, g) for one in found for g in range(ALONE, max(one, default=ALONE) + 2)]
    return np.array(found)


def sizes(family):
    return np.array([(np.asarray(family) == g).sum() for g in range(len(family))], dtype=np.float64)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_prior_of_the_families_is_a_distribution_without_one_family_of_all(n):
    total = sum(np.exp(log_membership(sizes(family), n)) for family in partitions(n))
    # There are families, any number of members is as likely, and all are in one.
    everybody = 0.5 / (n + 1) / n
    assert total == pytest.approx(1 - everybody)
    assert log_membership(np.array([float(n), 0.0]), n) == -np.inf


def test_polya_gamma_variables_have_their_moments():
    rng = np.random.default_rng(0)
    for b, c in ((1.0, 0.0), (1.0, 2.5), (3.0, 1.0), (0.5, 4.0)):
        drawn = polya_gamma(np.full(200_000, b), np.full(200_000, c), rng)
        mean = b / 4 if c == 0 else b * np.tanh(c / 2) / (2 * c)
        variance = b / 24 if c == 0 else b * (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2)
        assert drawn.mean() == pytest.approx(mean, rel=0.01)
        assert drawn.var() == pytest.approx(variance, rel=0.03)


def test_effects_are_integrated_out_as_a_normal_says():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((4, 4))
    precision, mean, sd, top = root @ root.T, rng.standard_normal(4), 0.7, 1.3
    below = Normal(precision[None], (precision @ mean)[None], np.zeros(1))
    # exp(h x - x L x / 2) is a normal density in the mean, up to a factor that does not depend on the deviations.
    noise = np.linalg.inv(precision)
    flat = 0.5 * mean @ precision @ mean + 0.5 * np.linalg.slogdet(2 * np.pi * noise)[1]
    for effects in ((sd,), (sd, top)):
        covariance = noise + sum(e**2 for e in effects) * np.eye(4)
        expected = multivariate_normal(np.zeros(4), covariance).logpdf(mean) + flat
        got = absorb(below, np.asarray(sd)) if len(effects) > 1 else below
        np.testing.assert_allclose(evidence(got, np.asarray(effects[-1])), expected, rtol=1e-10)


def prior_sample(votes: AnnotatorPairs, n: int, rng: np.random.Generator):
    """Draw everything from the prior and weigh it by the likelihood: another way to the same posterior."""
    k, items = votes.n_annotators, votes.n_items
    all_families = partitions(k)
    weight = np.array([np.exp(log_membership(sizes(one), k)) for one in all_families])
    family = all_families[rng.choice(len(weight), n, p=weight / weight.sum())]
    score_sd = np.sqrt(0.5 / rng.standard_gamma(0.5, n))
    family_sd = rng.choice(families.FAMILY_SDS, n)
    own_sd = rng.choice(families.OWN_SDS, n, p=families._OWN_WEIGHTS)
    a, b = families._FLIP_PRIORS[:, rng.integers(families._FLIP_PRIORS.shape[1], size=n)]
    flip = rng.beta(a[:, None], b[:, None], (n, k))
    scores = score_sd[:, None] * rng.standard_normal((n, items))
    effects = family_sd[:, None, None] * rng.standard_normal((n, k + 1, items))
    effects[:, -1] = 0.0
    own = scores[:, None] + effects[np.arange(n)[:, None], family]
    own = own + own_sd[:, None, None] * rng.standard_normal((n, k, items))
    better = expit(own[:, votes.annotator, votes.first] - own[:, votes.annotator, votes.second])
    says = flip[:, votes.annotator] * (1 - better) + (1 - flip[:, votes.annotator]) * better
    says = np.clip(says, 1e-300, 1 - 1e-16)
    weight = np.exp(np.log(says) @ votes.wins + np.log1p(-says) @ votes.losses)
    return scores, own, flip, family, own_sd, weight


@pytest.mark.long
def test_draws_are_from_the_posterior():
    # Two annotators agree with each other and not with the third, on three items.
    said = [(0, 0, 1, 5, 0), (0, 1, 2, 4, 1), (1, 0, 1, 4, 0), (1, 0, 2, 5, 0), (2, 0, 1, 0, 4), (2, 1, 2, 1, 3)]
    who, first, second, wins, losses = np.array(said).T
    votes = AnnotatorPairs(who, first, second, wins.astype(float), losses.astype(float), 3, 3)
    got = sample_families(votes, n_draws=16_000, n_chains=40, warm_up=100, thin=2)

    def features(scores, own, flip, family, own_sd):
        gap = np.clip(scores[:, 0] - scores[:, 1], -9, 9)
        return {
            "margin": gap,
            "surely above": gap > 0,
            "own margin": np.clip(own[:, 2, 0] - own[:, 2, 1], -9, 9),
            "flip of the first": flip[:, 0],
            "flip of the third": flip[:, 2],
            "no family": (family == ALONE).all(axis=1),
            "first two together": (family[:, 0] == family[:, 1]) & (family[:, 0] != ALONE),
            "third in a family": family[:, 2] != ALONE,
            "no own effects": own_sd == 0,
        }

    found = features(got.scores, got.own, got.flip, got.family, got.sds[:, 2])
    rng, total, sums, squares = np.random.default_rng(2), 0.0, dict.fromkeys(found, 0.0), dict.fromkeys(found, 0.0)
    for _ in range(8):
        *drawn, weight = prior_sample(votes, 300_000, rng)
        total += weight.sum()
        for name, values in features(*drawn).items():
            sums[name], squares[name] = sums[name] + weight @ values, squares[name] + weight @ (values * values)
    # About 1,000 effective draws on either side.
    for name, values in found.items():
        mean = sums[name] / total
        deviation = np.sqrt(squares[name] / total - mean**2)
        assert values.mean() == pytest.approx(mean, abs=0.12 * deviation), name


@pytest.mark.long
def test_a_family_of_five_is_found_among_eight_and_none_where_there_is_none():
    def together(tastes, seed):
        drawn = jr.simulate(15, 8, 2000, truth="vote", flips=[0.05] * 8, spread=1.5, tastes=tastes, random_state=seed)
        got = sample_families(AnnotatorPairs.of(drawn.votes), n_draws=100, warm_up=60)
        return np.array([(got.family[:, 0] == got.family[:, k]).mean() for k in range(8)]), got

    same, _ = together(Tastes(families=(5,), family_sd=1.2), 0)
    assert same[:5].min() > 0.8 > 0.4 > same[5:].max()
    _, got = together(Tastes(), 1)
    assert (got.family != ALONE).mean(axis=0).max() < 0.5
