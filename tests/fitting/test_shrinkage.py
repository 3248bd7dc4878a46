import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr

FIXED = jr.Prior(flip_wrong=1.0, flip_right=2.0, bias_variance=1.0, discrimination_variance=1.0)


def crowd(bias: float = 0.0, ties: float = 0.0, seed: int = 0) -> jr.Comparisons:
    """Return the votes of 60 annotators who do not differ, 25 each, on 12 items."""
    rng = np.random.default_rng(seed)
    scores, n = 1.2 * rng.standard_normal(12), 1500
    left = rng.integers(12, size=n)
    right = (left + rng.integers(1, 12, size=n)) % 12
    truth = rng.random(n) < expit(scores[left] - scores[right])
    logit = np.log(0.15 / 0.85) + np.where(truth, -bias, bias)
    outcome = (truth ^ (rng.random(n) < expit(logit))).astype(float)
    outcome[rng.random(n) < ties] = 0.5
    return jr.Comparisons.from_arrays(left, right, rng.permutation(n) % 60, outcome)


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_biases_that_annotators_share_shrink_towards_each_other(ties: float) -> None:
    votes = crowd(bias=0.8, ties=ties)
    pooled, alone = (jr.CrowdBT(noise="two-coin", prior=prior).fit(votes) for prior in ("auto", FIXED))
    bias, before = (model.result_.annotators.traits["bias"] for model in (pooled, alone))
    assert bias.std() < 0.7 * before.std()
    assert abs(bias.mean() - 0.8) < abs(before.mean() - 0.8)
    assert pooled.flip_.std() < 0.75 * alone.flip_.std()


def test_discriminations_of_equal_annotators_shrink_towards_one() -> None:
    votes = crowd()
    pooled, alone = (jr.AmElo(prior=prior).fit(votes).discrimination_ for prior in ("auto", FIXED))
    assert pooled.std() < 0.75 * alone.std()


def test_held_out_votes_are_predicted_better_by_shrunk_biases() -> None:
    train, test = crowd(bias=0.8), crowd(bias=0.8, seed=0)
    late = np.arange(len(train.vote_pair)) % 5 == 0
    losses = []
    for prior in ("auto", FIXED):
        proba = jr.CrowdBT(noise="two-coin", prior=prior).fit(train.only(~late)).vote_proba(test.only(late))
        won = test.only(late).vote_result == 1
        losses.append(-np.log(np.where(won, proba, 1 - proba)).mean())
    assert losses[0] < losses[1]


def test_joint_and_a_lone_annotator_keep_the_fixed_prior() -> None:
    votes = crowd(bias=0.8)
    joint, fixed = (
        jr.CrowdBT(noise="two-coin", flips="joint", prior=prior, tol=1e-9).fit(votes) for prior in ("auto", FIXED)
    )
    np.testing.assert_array_equal(joint.flip_, fixed.flip_)
    alone = jr.Comparisons.from_arrays([0, 1, 0, 2], [1, 2, 2, 1], ["me"] * 4, [1, 1, 0, 1])
    a, b = (jr.CrowdBT(noise="two-coin", prior=prior).fit(alone) for prior in ("auto", FIXED))
    np.testing.assert_array_equal(a.scores_, b.scores_)


@pytest.mark.parametrize("model", [jr.CrowdBT(noise="two-coin"), jr.AmElo(), jr.JAM(noise="two-coin")])
def test_a_loaded_model_has_the_estimated_prior(model, tmp_path) -> None:
    fitted = model.fit(crowd(bias=0.5))
    fitted.save(tmp_path / "m.jamrank")
    loaded = jr.load(tmp_path / "m.jamrank")
    own, kept = (one.result_.inference.fit.fitted for one in (fitted, loaded))
    assert kept.noise.prior == own.noise.prior
    assert own.noise.prior != jr.Prior()
    np.testing.assert_allclose(kept.point.objective, own.point.objective, rtol=1e-12)
