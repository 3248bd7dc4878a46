from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from jamrank.linalg.normal_effects import Normal, absorb, absorb_columns, draw_effect, evidence, evidence_columns


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


def some(rng, n=4):
    root = rng.standard_normal((3, n, n))
    return Normal(root @ np.swapaxes(root, 1, 2), rng.standard_normal((3, n)), np.zeros(3))


def test_columns_are_the_same_likelihood_with_other_shifts():
    below, sd = some(np.random.default_rng(2)), np.array([0.0, 0.5, 2.0])
    either = Normal(below.precision, np.stack([below.shift, -below.shift], axis=-1), below.log_factor[:, None])
    both = absorb_columns(either, sd)
    for column, sign in enumerate((1.0, -1.0)):
        one = absorb(below.signed(np.full(3, sign)), sd)
        np.testing.assert_allclose(both.precision, one.precision, atol=1e-10)
        np.testing.assert_allclose(both.shift[..., column], one.shift, rtol=1e-9)
        np.testing.assert_allclose(both.log_factor[:, column], one.log_factor, rtol=1e-9)
        np.testing.assert_allclose(
            evidence_columns(either, sd)[:, column], evidence(below.signed(np.full(3, sign)), sd), rtol=1e-9
        )
    # Nothing is integrated out where the deviation is 0.
    np.testing.assert_array_equal(both.precision[0], below.precision[0])


def test_drawn_effects_have_the_mean_and_covariance_of_the_posterior():
    rng = np.random.default_rng(3)
    below, sd, n = some(rng)[:1], 0.8, 40_000
    many = Normal(*(np.repeat(x, n, axis=0) for x in vars(below).values()))
    drawn = draw_effect(many, np.asarray(sd), rng)
    covariance = np.linalg.inv(below.precision[0] + np.eye(4) / sd**2)
    np.testing.assert_allclose(drawn.mean(axis=0), covariance @ below.shift[0], atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.02)
