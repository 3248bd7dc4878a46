from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from jamrank.fitting.families import start
from jamrank.fitting.family_state import SCORE_SHAPE, State, log_lapses
from jamrank.fitting.family_trajectory import log_density, move, rescale
from jamrank.fitting.family_votes import FamilyVotes


def some(seed=0, chains=3) -> tuple[FamilyVotes, State]:
    rng = np.random.default_rng(seed)
    who, winner, loser = np.repeat(np.arange(4), 6), rng.integers(5, size=24), rng.integers(1, 5, size=24)
    votes = FamilyVotes(who, winner, (winner + loser) % 5, rng.integers(1, 4, 24).astype(float), 4, 5)
    drawn = {name: rng.standard_normal(np.shape(value)) for name, value in vars(start(votes, None, chains)).items()}
    drawn |= {name: np.abs(value) for name, value in drawn.items() if name.endswith("_sd")}
    family = np.array([[0, 0, -1, 1]] * chains)
    sign = np.where(drawn["sign"] < 0, -1.0, 1.0)
    return votes, State(**{**drawn, "family": family, "sign": sign})


def position(state: State):
    return state.scores, state.effects, state.tastes, state.log_odds


def test_the_density_is_that_of_each_vote():
    votes, state = some()
    found, _ = log_density(votes, state, position(state))
    for c in range(3):
        total = 0.0
        for who, winner, loser, count in zip(votes.annotator, votes.winner, votes.loser, votes.count, strict=True):
            q, g = state.scores[c] + state.own_sd[c] * state.tastes[c, who], state.family[c, who]
            q = q + (state.family_sd[c] * state.effects[c, g] if g >= 0 else 0.0)
            lapse = expit(state.log_odds[c, who])
            total += count * np.log(0.5 * lapse + (1 - lapse) * expit(state.sign[c, who] * (q[winner] - q[loser])))
        total -= (SCORE_SHAPE + 2.5) * np.log(0.5 + 0.5 * (state.scores[c] ** 2).sum())
        total -= 0.5 * (state.effects[c] ** 2).sum() + 0.5 * (state.tastes[c] ** 2).sum()
        assert found[c] == pytest.approx(total + log_lapses(state.log_odds, state.lapse_sd)[0][c])


def test_the_gradient_is_that_of_the_density():
    votes, state = some(1)
    at, h = position(state), 1e-5
    _, slope = log_density(votes, state, at)
    rng = np.random.default_rng(2)
    for part in range(4):
        way = rng.standard_normal(at[part].shape)
        ends = [
            log_density(votes, state, tuple(x + s * h * way if i == part else x for i, x in enumerate(at)))[0]
            for s in (1, -1)
        ]
        along = (slope[part] * way).reshape(len(way), -1).sum(axis=1)
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), along, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_both_steps_leave_the_posterior_as_it_is():
    # One annotator, two items, nothing shared: lapse and margin by quadrature.
    votes = FamilyVotes(np.zeros(2, int), np.array([0, 1]), np.array([1, 0]), np.array([9.0, 3.0]), 1, 2)
    state, rng, seen = start(votes, np.array([-1]), 400), np.random.default_rng(3), []
    for sweep in range(120):
        state, _ = move(votes, rescale(votes, state, rng), 0.4, rng)
        if sweep >= 40:
            seen.append([np.abs(state.scores[:, 0] - state.scores[:, 1]), state.log_odds[:, 0]])
    drawn = np.array(seen).transpose(1, 0, 2).reshape(2, -1)
    a, b, x = (grid.ravel() for grid in np.meshgrid(*[np.linspace(-12, 12, 121)] * 2, np.linspace(-7, 5, 61)))
    p = 0.5 * expit(x) + (1 - expit(x)) * expit(a - b)
    density = 9 * np.log(p) + 3 * np.log1p(-p) - (SCORE_SHAPE + 1) * np.log(0.5 + 0.5 * (a**2 + b**2))
    density += log_lapses(x[:, None], np.full(len(x), 0.8))[0]
    weight = np.exp(density - density.max())
    for values, exact in ((drawn[0] < 1.0, np.abs(a - b) < 1.0), (drawn[1], x)):
        assert values.mean() == pytest.approx((weight * exact).sum() / weight.sum(), abs=0.05)
