from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal

import jamrank as jr
from jamrank.fitting import family_state as prior
from jamrank.fitting.families import sample_families
from jamrank.fitting.family_state import ALONE, log_lapses, log_membership
from jamrank.fitting.family_votes import FamilyVotes, polya_gamma
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
    assert total == pytest.approx(1.0)
    assert log_membership(np.array([float(n), 0.0]), n) == -np.inf


def test_a_majority_is_likelier_to_have_no_effect():
    seven, one, both = (np.exp(log_membership(np.array(s, dtype=float), 8)) for s in ([1, 0], [7, 0], [7, 1]))
    assert seven / (seven + one + both) == pytest.approx(7**3 / 8**3)
    assert one / (seven + one + both) == pytest.approx(1 / 8**3)


def test_polya_gamma_variables_have_their_moments():
    rng = np.random.default_rng(0)
    for b, c in ((1.0, 0.0), (1.0, 2.5), (3.0, 1.0), (0.5, 4.0)):
        drawn = polya_gamma(np.full(200_000, b), np.full(200_000, c), rng)
        mean = b / 4 if c == 0 else b * np.tanh(c / 2) / (2 * c)
        variance = b / 24 if c == 0 else b * (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2)
        assert drawn.mean() == pytest.approx(mean, rel=0.01)
        assert drawn.var() == pytest.approx(variance, rel=0.03)


def test_logits_of_lapses_are_normal_with_a_common_mean():
    rng = np.random.default_rng(0)
    log_odds, sd = rng.standard_normal((2, 4)) - 1, np.array([0.5, 1.3])
    found, slope = log_lapses(log_odds, sd)
    for c in range(2):
        covariance = sd[c] ** 2 * np.eye(4) + prior.LAPSE_MEAN_SD**2
        normal = multivariate_normal(np.full(4, prior.LAPSE_MEAN), covariance)
        assert found[c] == pytest.approx(normal.logpdf(log_odds[c]) + 2 * np.log(2 * np.pi))
        expected = -np.linalg.solve(covariance, log_odds[c] - prior.LAPSE_MEAN)
        np.testing.assert_allclose(slope[c], expected, rtol=1e-9)


def prior_sample(votes: FamilyVotes, n: int, rng: np.random.Generator):
    """Draw everything from the prior and weigh it by the likelihood: another way to the same posterior."""
    k, items = votes.n_annotators, votes.n_items
    all_families = partitions(k)
    weight = np.array([np.exp(log_membership(sizes(one), k)) for one in all_families])
    family = all_families[rng.choice(len(weight), n, p=weight / weight.sum())]
    score_sd = np.sqrt(0.5 / rng.standard_gamma(0.5, n))
    family_sd = rng.choice(prior.FAMILY_SDS, n)
    own_sd = rng.choice(prior.OWN_SDS, n, p=prior.OWN_WEIGHTS)
    mean = prior.LAPSE_MEAN + prior.LAPSE_MEAN_SD * rng.standard_normal((n, 1))
    lapse = expit(mean + rng.choice(prior.LAPSE_SDS, (n, 1)) * rng.standard_normal((n, k)))
    sign = np.where(rng.random((n, k)) < prior.TURNED, -1.0, 1.0)
    scores = score_sd[:, None] * rng.standard_normal((n, items))
    effects = family_sd[:, None, None] * rng.standard_normal((n, k + 1, items))
    effects[:, -1] = 0.0
    own = scores[:, None] + effects[np.arange(n)[:, None], family]
    own = own + own_sd[:, None, None] * rng.standard_normal((n, k, items))
    margin = own[:, votes.annotator, votes.winner] - own[:, votes.annotator, votes.loser]
    rate = lapse[:, votes.annotator]
    says = 0.5 * rate + (1 - rate) * expit(sign[:, votes.annotator] * margin)
    weight = np.exp(np.log(says) @ votes.count)
    flip = np.where(sign < 0, 1 - 0.5 * lapse, 0.5 * lapse)
    return scores, own, flip, family, own_sd, weight


@pytest.mark.long
def test_draws_are_from_the_posterior():
    # Two annotators agree with each other and not with the third, on three items.
    said = [
        (0, 0, 1, 5),
        (0, 1, 2, 4),
        (0, 2, 1, 1),
        (1, 0, 1, 4),
        (1, 0, 2, 5),
        (2, 1, 0, 4),
        (2, 1, 2, 1),
        (2, 2, 1, 3),
    ]
    who, winner, loser, count = np.array(said).T
    votes = FamilyVotes(who, winner, loser, count.astype(float), 3, 3)
    got = sample_families(votes, n_draws=16_000, n_chains=80, warm_up=100, thin=2)

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
            "third is an adversary": flip[:, 2] > 0.5,
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
        got = sample_families(FamilyVotes.of(drawn.votes), n_draws=100, warm_up=60)
        return np.array([(got.family[:, 0] == got.family[:, k]).mean() for k in range(8)]), got

    same, _ = together(Tastes(families=(5,), family_sd=1.2), 0)
    assert same[:5].min() > 0.8 > 0.4 > same[5:].max()
    _, got = together(Tastes(), 1)
    assert (got.family != ALONE).mean(axis=0).max() < 0.4


@pytest.mark.long
@pytest.mark.parametrize("turned", [False, True])
def test_a_camp_of_opposite_taste_and_an_adversary_are_told_apart_from_any_start(turned):
    tastes = Tastes() if turned else Tastes(camps=(4, 2), camp_correlation=-1.0)
    flips = [0.05] * 5 + [0.95 if turned else 0.05]
    drawn = jr.simulate(8, 6, 900, truth="vote", flips=flips, spread=1.5, tastes=tastes, random_state=0)
    got = sample_families(FamilyVotes.of(drawn.votes), n_draws=320)
    same = got.family[:, 4] == got.family[:, 5]
    against = got.flip[:, 5] > 0.5
    # Chains that start without families and those that start with one each.
    for values in (same, against):
        assert abs(values.reshape(-1, 16)[:, ::2].mean() - values.reshape(-1, 16)[:, 1::2].mean()) < 0.3
    # One opponent is an adversary; two who agree are adversaries or a camp, and alike in either case.
    assert against.mean() > 0.7 if turned else same.mean() > 0.7
