"""Priors that a crowd's own parameters suggest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr

FIXED = jr.Prior(flip_wrong=1.0, flip_right=2.0, bias_variance=1.0)


def crowd(n_annotators: int = 60, ties: float = 0.0) -> jr.Comparisons:
    """Return the votes of annotators who do not differ, 25 each, on 12 items."""
    rng = np.random.default_rng(0)
    scores, n = 1.2 * rng.standard_normal(12), 25 * n_annotators
    left = rng.integers(12, size=n)
    right = (left + rng.integers(1, 12, size=n)) % 12
    better = rng.random((12, 12)) < expit(scores[:, None] - scores)
    truth = np.where(left < right, better[left, right], ~better[right, left])
    outcome = (truth ^ (rng.random(n) < 0.15)).astype(float)
    outcome[rng.random(n) < ties] = 0.5
    return jr.Comparisons.from_arrays(left, right, rng.permutation(n) % n_annotators, outcome)


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_parameters_of_equal_annotators_shrink_towards_each_other(ties: float) -> None:
    votes = crowd(ties=ties)
    pooled, fixed = (jr.JAM(noise="two-coin", prior=prior).fit(votes) for prior in ("auto", FIXED))
    bias, before = (model.result_.annotators.traits["bias"] for model in (pooled, fixed))
    assert bias.std() < 0.7 * before.std()
    assert pooled.flip_.std() < 0.8 * fixed.flip_.std()


@pytest.mark.parametrize(
    ("n_annotators", "model", "flips"),
    [(60, jr.JAM, "joint"), (19, jr.JAM, "auto"), (60, jr.CrowdBT, "joint")],
)
def test_few_annotators_and_joint_flips_keep_the_fixed_prior(n_annotators, model, flips) -> None:
    votes = crowd(n_annotators)
    found, fixed = (model(noise="two-coin", flips=flips, prior=prior).fit(votes) for prior in ("auto", FIXED))
    np.testing.assert_array_equal(found.flip_, fixed.flip_)


def test_with_a_truth_per_vote_biases_shrink_and_the_prior_of_flips_stays() -> None:
    found, fixed = (jr.CrowdBT(noise="two-coin", prior=prior).fit(crowd(60)) for prior in ("auto", FIXED))
    bias, before = (model.result_.annotators.traits["bias"] for model in (found, fixed))
    assert bias.std() < 0.8 * before.std()
    assert found.flip_.std() > 0.9 * fixed.flip_.std()


def test_discriminations_of_equal_annotators_shrink_towards_each_other() -> None:
    votes = crowd()
    fixed, pooled = (jr.AmElo(prior=jr.Prior(discrimination_variance=v)).fit(votes) for v in (1.0, None))
    assert pooled.discrimination_.std() < 0.6 * fixed.discrimination_.std()
    few = crowd(19)
    same = [jr.AmElo(prior=jr.Prior(discrimination_variance=v)).fit(few).discrimination_ for v in (1.0, None)]
    np.testing.assert_array_equal(*same)


def test_an_estimated_variance_is_that_of_discriminations_that_differ() -> None:
    rng, n = np.random.default_rng(1), 12_000
    scores, sharp = 1.5 * rng.standard_normal(20), 1 + 0.6 * rng.standard_normal(80)
    left = rng.integers(20, size=n)
    right, who = (left + rng.integers(1, 20, size=n)) % 20, rng.permutation(n) % 80
    outcome = (rng.random(n) < expit(sharp[who] * (scores[left] - scores[right]))).astype(float)
    fitted = jr.AmElo().fit(jr.Comparisons.from_arrays(left, right, who, outcome)).result_.inference.fit.fitted
    # On a scale with a mean square of 1.
    unit = sharp / np.sqrt((sharp**2).mean())
    assert fitted.noise.prior.discrimination_variance == pytest.approx(((unit - 1) ** 2).mean(), rel=0.25)


def test_what_is_given_is_kept() -> None:
    given = jr.Prior(flip_wrong=1.0, flip_right=2.0)
    used = jr.JAM(noise="two-coin", prior=given).fit(crowd()).result_.inference.fit.fitted.noise.prior
    assert (used.flip_wrong, used.flip_right) == (1.0, 2.0)
    assert used.bias_variance is not None
    assert used.bias_variance < 0.5


@pytest.mark.parametrize("model", [jr.JAM(noise="two-coin"), jr.JAM(), jr.AmElo()])
def test_a_loaded_model_has_the_estimated_prior(model, tmp_path) -> None:
    fitted = model.fit(crowd())
    fitted.save(tmp_path / "m.jamrank")
    loaded = jr.load(tmp_path / "m.jamrank")
    own, kept = (one.result_.inference.fit.fitted for one in (fitted, loaded))
    assert kept.noise.prior == own.noise.prior
    assert own.noise.prior != jr.Prior()
    np.testing.assert_allclose(kept.point.objective, own.point.objective, rtol=1e-9)
