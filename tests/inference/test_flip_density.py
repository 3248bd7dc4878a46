"""The density of scores and flips by one call is that of the usual pass."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.engines.memory import MemoryEngine
from jamrank.inference.posterior_draws import Posterior
from jamrank.noise import Flip
from jamrank.rows import ROWS_BY, Patterns, RaggedVotes


def posterior(votes: jr.Comparisons, by: str, errors: float = 1.0, correct: float = 2.0) -> Posterior:
    engine, rng = MemoryEngine(ROWS_BY[by](votes, 1), 1), np.random.default_rng(7)
    noise = Flip(engine.vote_counts, errors, correct)
    theta, params = rng.normal(size=engine.n_items), rng.normal(-1.0, 0.5, size=len(engine.vote_counts))
    return Posterior(engine, noise, theta, params, None, oriented=True)


def usual(target: Posterior, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the density by the usual pass."""
    target.__dict__["_of_flips"] = None
    found = target.density(x)
    del target.__dict__["_of_flips"]
    return found


def weighted(seed: int) -> jr.Comparisons:
    """Return random votes of which some have a weight."""
    rng = np.random.default_rng(seed)
    left, apart, annotator, outcome = (rng.integers(0, most, 400) for most in (12, 11, 5, 2))
    right, weight = (left + 1 + apart) % 12, rng.choice([1.0, 1.7], 400)
    return jr.Comparisons.from_arrays(left, right, annotator, outcome, weight=weight)


DRAWN = {
    "patterns": (jr.simulate(30, 4, 900, random_state=1).votes, "pair", Patterns),
    "all pairs": (jr.simulate(9, 3, 400, random_state=2).votes, "pair", Patterns),
    "lists": (jr.simulate(100, 500, 10_000, random_state=3).votes, "pair", RaggedVotes),
    "weighted lists": (weighted(5), "pair", Patterns),
    "weighted votes": (weighted(6), "vote", Patterns),
    "single votes": (jr.simulate(20, 6, 500, random_state=4).votes, "vote", Patterns),
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize(("errors", "correct"), [(1.0, 2.0), (0.0, 0.0), (0.0, 3.0), (2e6, 1e6), (5.0, 0.0)])
def test_the_density_by_one_call_is_the_usual_one(name, errors, correct):
    votes, by, ballots = DRAWN[name]
    target = posterior(votes, by, errors, correct)
    assert isinstance(target.engine.rows.ballots, ballots)
    assert target._of_flips is not None
    centre, rng = target._joined(target.theta, target.params), np.random.default_rng(3)
    for scale in (0.1, 1.0, 3.0):
        x = centre + scale * rng.normal(size=len(centre))
        (value, slope), (other, other_slope) = target.density(x), usual(target, x)
        np.testing.assert_allclose(value, other, rtol=1e-10)
        np.testing.assert_allclose(slope, other_slope, rtol=1e-9, atol=1e-9 * np.abs(other_slope).max())


@pytest.mark.parametrize("name", DRAWN)
def test_votes_that_point_the_wrong_way_have_no_density(name):
    votes, by, _ = DRAWN[name]
    target = posterior(votes, by)
    wrong = target._joined(target.theta, np.abs(target.params))
    assert target._of_flips(wrong)[0] == usual(target, wrong)[0] == -np.inf


@pytest.mark.parametrize("far", [400.0, 800.0, np.nan])
def test_a_point_far_away_is_left_to_the_usual_pass(far):
    votes, by, _ = DRAWN["all pairs"]
    target = posterior(votes, by)
    x = target._joined(target.theta, np.where(np.arange(3) == 1, -far, target.params))
    with np.errstate(all="ignore"):
        assert target._of_flips(x) is None
        np.testing.assert_array_equal(target.density(x)[1], usual(target, x)[1])


def test_long_lists_and_gold_are_left_to_the_usual_pass():
    left, right = np.array(["a"] * 400), np.array(["b"] * 400)
    votes = jr.Comparisons.from_arrays(left, right, np.arange(400) % 3, np.arange(400) % 4 > 0)
    assert posterior(votes, "pair")._of_flips is None
    assert posterior(votes, "vote")._of_flips is not None
    known = jr.JAM().fit(jr.simulate(5, 3, 60, random_state=0).votes, gold=[("item0", "item1")])
    assert known.result_.inference.sampler.posterior._of_flips is None


def test_only_a_plain_flip_has_it():
    votes = jr.simulate(8, 3, 200, random_state=0).votes
    assert jr.CrowdBT().fit(votes).result_.inference.sampler.posterior._of_flips is not None
    two_coin = jr.CrowdBT(noise="two-coin").fit(votes).result_.inference.sampler.posterior
    assert two_coin._of_flips is None
    assert np.isfinite(two_coin.density(two_coin._joined(two_coin.theta, two_coin.params))[0])
