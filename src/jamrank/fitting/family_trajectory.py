"""Hamiltonian steps of scores, effects and lapses in the families model, given families, signs and deviations.

Votes hardly tell wide scores with many lapses from narrow scores with few. Draws given which votes were lapses walk
along that ridge in small steps; here lapse indicators, the standard deviation of the scores and the prior of the
lapses are integrated out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from jamrank.fitting.family_state import SCORE_SHAPE, State, log_lapses
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.typing import FloatArray

# Scores, effects, tastes, logits of lapses.
Position = tuple[FloatArray, FloatArray, FloatArray, FloatArray]

_LEAPS, _RESCALINGS = 10, 6
# Information of a vote on a margin, about.
_PER_VOTE = 0.12


def move(votes: FamilyVotes, state: State, step: float, rng: np.random.Generator) -> tuple[State, FloatArray]:
    """Return the state after one trajectory of each chain, and the probabilities with which they were accepted."""
    at: Position = (state.scores, state.effects, state.tastes, state.log_odds)
    mass = _masses(votes, state)
    momentum = [np.sqrt(m) * rng.standard_normal(x.shape) for x, m in zip(at, mass, strict=True)]
    size = step * rng.uniform(0.6, 1.4, len(state.scores))
    density, slope = log_density(votes, state, at)
    before = density - _kinetic(momentum, mass)
    now = at
    for _ in range(_LEAPS):
        momentum = [p + _by(0.5 * size, g) for p, g in zip(momentum, slope, strict=True)]
        moved = [x + _by(size, p / m) for x, p, m in zip(now, momentum, mass, strict=True)]
        now = (moved[0], moved[1], moved[2], moved[3])
        density, slope = log_density(votes, state, now)
        momentum = [p + _by(0.5 * size, g) for p, g in zip(momentum, slope, strict=True)]
    gain = np.nan_to_num(density - _kinetic(momentum, mass) - before, nan=-np.inf)
    chance = np.exp(np.minimum(gain, 0.0))
    taken = rng.random(len(chance)) < chance
    scores, effects, tastes, log_odds = (
        np.where(taken.reshape(-1, *[1] * (x.ndim - 1)), x, old) for x, old in zip(now, at, strict=True)
    )
    return replace(state, scores=scores, effects=effects, tastes=tastes, log_odds=log_odds), chance


def log_density(votes: FamilyVotes, state: State, at: Position) -> tuple[FloatArray, Position]:
    """Return the log posterior of each chain up to a constant, and its gradient."""
    scores, effects, tastes, log_odds = at
    lapse, sign = expit(log_odds), state.sign[..., None]
    own = replace(state, scores=scores, effects=effects, tastes=tastes).own
    likelihood, on_own, on_lapse = votes.slopes(sign * own, lapse)
    on_own, on_lapse = sign * on_own, on_lapse * lapse * (1 - lapse)

    of_scores, squares = SCORE_SHAPE + 0.5 * scores.shape[1], 0.5 + 0.5 * (scores**2).sum(axis=1)
    of_lapses, on_prior = log_lapses(log_odds, state.lapse_sd)
    density = (
        likelihood.sum(axis=1)
        - of_scores * np.log(squares)
        - 0.5 * (effects**2).sum(axis=(1, 2))
        - 0.5 * (tastes**2).sum(axis=(1, 2))
        + of_lapses
    )
    slope = (
        on_own.sum(axis=1) - (of_scores / squares)[:, None] * scores,
        _by(state.family_sd, np.swapaxes(state.member, 1, 2) @ on_own) - effects,
        _by(state.own_sd, on_own) - tastes,
        on_lapse + on_prior,
    )
    return np.asarray(density), slope


def _masses(votes: FamilyVotes, state: State) -> Position:
    """Return about the curvature of the posterior in each coordinate."""
    seen = np.broadcast_to(_PER_VOTE * votes.seen, state.tastes.shape)
    shared = np.swapaxes(state.member, 1, 2) @ seen
    return (
        seen.sum(axis=1) + 0.3,
        _by(state.family_sd**2, shared) + 1.0,
        _by(state.own_sd**2, seen) + 1.0,
        _by(1.0 / state.lapse_sd**2, np.ones_like(state.log_odds)) + 0.01 * votes.by_annotator_count,
    )


def _by(factor: FloatArray, values: FloatArray) -> FloatArray:
    return np.asarray(factor.reshape(-1, *[1] * (values.ndim - 1)) * values)


def _kinetic(momentum: list[FloatArray], mass: Position) -> FloatArray:
    energy = [(p**2 / m).reshape(len(p), -1).sum(axis=1) for p, m in zip(momentum, mass, strict=True)]
    return np.asarray(0.5 * sum(energy))


def rescale(votes: FamilyVotes, state: State, rng: np.random.Generator) -> State:
    """Move the common scores by a factor and the logits of all lapses by a term, along the ridge."""
    chains = len(state.scores)
    own = state.sign[..., None] * state.own
    along = state.sign[..., None] * state.scores[:, None]
    n, squares = state.scores.shape[1], 0.5 * (state.scores**2).sum(axis=1)

    def density(factor: FloatArray, log_odds: FloatArray) -> FloatArray:
        of_scores = n * np.log(factor) - (SCORE_SHAPE + 0.5 * n) * np.log(0.5 + factor**2 * squares)
        likelihood = votes.log_likelihood(own + _by(factor - 1, along), expit(log_odds)).sum(axis=1)
        return np.asarray(of_scores + log_lapses(log_odds, state.lapse_sd)[0] + likelihood)

    factor, log_odds = np.ones(chains), state.log_odds
    at = density(factor, log_odds)
    for _ in range(_RESCALINGS):
        # Steps of all sizes: the more votes, the smaller those that are taken.
        both, more = 10.0 ** -rng.uniform(0.0, 1.2, chains) * rng.standard_normal((2, chains))
        wider, rate = factor * np.exp(0.2 * both), log_odds + (both + 0.3 * more)[:, None]
        there = density(wider, rate)
        taken = np.log(rng.random(chains)) < there - at
        factor, at = np.where(taken, wider, factor), np.where(taken, there, at)
        log_odds = np.where(taken[:, None], rate, log_odds)
    return replace(state, scores=factor[:, None] * state.scores, log_odds=log_odds)
