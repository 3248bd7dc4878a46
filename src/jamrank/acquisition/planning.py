"""How many votes a target needs, by simulating the collection from the current posterior.

In each run a truth is drawn from the posterior, scores and annotators. Then the strategy chooses votes, round by
round, which are drawn from that truth; the belief is updated vote by vote, without refits. The error compares the
order of the belief with the truth of the run and, of few items, with draws from the belief: a few runs of a single
truth would tell little of the order of two items. The mean of the runs begins at the present error, and never
increases: the expected error cannot, and a dip by chance must not count as the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.channel import LEFT, RIGHT, TIE, outcomes
from jamrank.acquisition.goals import Goal
from jamrank.acquisition.groups import joinable_groups
from jamrank.acquisition.stopping import error_curve, error_of_draws, verdict_error
from jamrank.acquisition.view import Proposals, View, candidate_pairs
from jamrank.typing import FloatArray, IntArray

# Items that are compared with the belief's order, of the truth and of draws.
_COMPARED = 400
# Number of rounds of a run.
_MOST_ROUNDS = 200


@dataclass(frozen=True)
class Plan:
    """The expected course of a collection.

    Attributes
    ----------
    votes, cost : ndarray
        Further votes after each round, and their mean cost.
    error, low, high : ndarray
        Mean error of the runs after each round, and the range of nine runs in ten.
    target : float
    votes_needed, cost_needed : float or None
        Votes at which the mean error reaches the target; None if not within the horizon.
    runs : int
    exhausted : bool
        Whether it ends because nothing is left to ask: every annotator has judged every pair or has no capacity left.
    """

    votes: FloatArray
    cost: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    target: float
    votes_needed: float | None
    cost_needed: float | None
    runs: int
    exhausted: bool = False


def simulate_collection(
    belief: Belief,
    goal: Goal,
    strategy: Callable[[View], Proposals],
    cost: FloatArray,
    *,
    now: float,
    target: float,
    runs: int,
    most_votes: float,
    left_to_ask: float,
    share_cap: float,
    rng: np.random.Generator,
) -> Plan:
    """Simulate the collection a few times and say when its error reaches the target.

    now: The present error.
    left_to_ask: How many comparisons can be asked at most.
    """
    n_items = len(belief.pool.items)
    a_round = max(n_items // 2, len(cost), int(np.ceil(most_votes / _MOST_ROUNDS)))
    rounds = max(int(np.ceil(most_votes / a_round)), 1)
    exhausted = rounds * a_round > left_to_ask
    if exhausted:
        rounds = int(np.ceil(left_to_ask / a_round))
        a_round = int(left_to_ask) // max(rounds, 1)
    curves = [_run(belief.copy(), goal, strategy, cost, a_round, rounds, share_cap, rng) for _ in range(runs)]
    errors, costs, joined = zip(*curves, strict=True)
    error, price = np.stack(errors) * _excess(belief, goal, now), np.mean(costs, axis=0)
    mean = _never_increasing(error.mean(axis=0), now)
    votes = np.arange(rounds + 1, dtype=np.float64) * a_round
    low, high = np.quantile(error, [0.05, 0.95], axis=0)
    at = _crossing(mean, target, max(joined))
    needed, paid = (None, None) if at is None else (_between(votes, at), _between(price, at))
    return Plan(votes, price, mean, low, high, target, needed, paid, runs, exhausted)


def no_plan(error: float, target: float) -> Plan:
    """Return the plan where nothing can be said of further votes: it ends at the present error."""
    now, none = np.array([error]), np.zeros(1)
    return Plan(none, none, now, now, now, target, None, None, 0)


def _run(
    belief: Belief,
    goal: Goal,
    strategy: Callable[[View], Proposals],
    cost: FloatArray,
    a_round: int,
    rounds: int,
    share_cap: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, int]:
    """Return error and cost after each round, and the round from which on votes connect all items."""
    truth, flips = _draw_truth(belief, rng)
    component = None if belief.has_features else joinable_groups(belief.pool, goal.group)
    joined, asked = 0, np.empty((2, 0), dtype=np.int64)
    apart = rng.spawn(1)[0]
    error, spent = [_error(belief, goal, truth, component, apart)], [0.0]
    given = np.zeros(len(cost))
    for _ in range(rounds):
        who, first, second = _ask(belief, goal, strategy, cost, given, a_round, share_cap, rng)
        for annotator, left, right in zip(who.tolist(), first.tolist(), second.tolist(), strict=True):
            if rng.random() < 0.5:
                left, right = right, left
            outcome = _vote(truth[left] - truth[right], flips[annotator], belief.tie[annotator], rng)
            belief.observe(annotator, left, right, outcome)
        np.add.at(given, who, 1.0)
        if component is not None:
            asked = np.concatenate([asked, [first, second]], axis=1)
            component, joined = joinable_groups(belief.pool, goal.group, (asked[0], asked[1])), joined + 1
        error.append(_error(belief, goal, truth, component, apart))
        spent.append(spent[-1] + float(cost[who].sum()))
    return np.array(error), np.array(spent), joined if component is None else rounds + 1


def _draw_truth(belief: Belief, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    scores = belief.scores
    noise = rng.standard_normal(len(scores.mean))
    if scores.dense:
        values, vectors = np.linalg.eigh(scores.covariance)
        noise = vectors @ (np.sqrt(np.maximum(values, 0.0)) * noise)
    else:
        noise = np.sqrt(scores.variance) * noise
    votes = np.bincount(belief.pool.columns()[0], belief.pool.weight, len(belief.pool.annotators))
    return scores.mean + noise, belief.reliability.draw(rng, np.asarray(votes, dtype=np.float64))


def _vote(margin: float, flip: float, tie: float, rng: np.random.Generator) -> int:
    says_left = np.asarray(flip), np.asarray(1 - flip)
    right, left, _ = outcomes(np.asarray(margin), says_left, tie).tolist()
    drawn = rng.random()
    return LEFT if drawn < left else RIGHT if drawn < left + right or not tie else TIE


def _error(
    belief: Belief, goal: Goal, truth: FloatArray, component: IntArray | None, rng: np.random.Generator
) -> float:
    """Return the error by the truth and as many draws from the belief as few items need."""
    if goal.name == "verdicts":
        return verdict_error(belief)
    mean = belief.scores.mean - belief.scores.mean.mean()
    drawn = mean + belief.scores.deviations(_COMPARED // max(len(mean), 1), rng)
    return error_of_draws(np.concatenate([(truth - truth.mean())[None, :], drawn]), mean, goal, component)


def _ask(
    belief: Belief,
    goal: Goal,
    strategy: Callable[[View], Proposals],
    cost: FloatArray,
    given: FloatArray,
    count: int,
    share_cap: float,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray, IntArray]:
    """Choose a round: the best proposals, each pair once, annotators within their shares."""
    first, second = candidate_pairs(belief.scores.mean, rng, goal.group)
    everyone = np.arange(len(cost))
    votes = np.zeros(len(belief.scores.mean))
    view = View(belief, goal, first, second, everyone, cost, given, votes, lambda: np.zeros(len(first)), rng)
    proposals = strategy(view)
    value = proposals.value + 1e-12 * rng.random(proposals.value.shape)
    expensive = belief.expensive
    of_a_kind = np.where(expensive, expensive.sum(), (~expensive).sum())
    most = share_cap * (given.sum() + count) / of_a_kind
    room = np.maximum(np.ceil(most - given), 1).astype(np.int64)
    seats = np.repeat(np.argsort(-value.max(axis=1)), room[np.argsort(-value.max(axis=1))])[:count]
    best = np.argsort(-value.max(axis=0))
    pairs = proposals.pairs[np.resize(best, len(seats))]
    return rng.permutation(seats), first[pairs], second[pairs]


def _excess(belief: Belief, goal: Goal, now: float) -> float:
    """Return the present error as a multiple of that by the belief, whose annotators share no tastes.

    The same factor is assumed later.
    """
    if goal.name == "verdicts":
        return 1.0
    component = None if belief.has_features else joinable_groups(belief.pool, goal.group)
    return now / max(error_curve(belief.scores, goal, belief.prior_variance, component)(0.0), 1e-12)


def _never_increasing(error: FloatArray, now: float) -> FloatArray:
    """Return the nearest curve that begins at the present error and never increases."""
    from scipy.optimize import isotonic_regression

    if len(error) == 1:
        return np.array([now])
    later = isotonic_regression(error[1:], increasing=False).x
    return np.concatenate([[now], np.minimum(later, now)])


def _crossing(error: FloatArray, target: float, earliest: int) -> float | None:
    """Return where a curve first reaches a target, interpolated between its points, but not before one of them."""
    below = earliest + np.flatnonzero(error[earliest:] <= target)
    if not len(below):
        return None
    at = int(below[0])
    if at == earliest and error[max(at - 1, 0)] <= target:
        return float(at)
    return at - 1 + float((error[at - 1] - target) / (error[at - 1] - error[at]))


def _between(values: FloatArray, place: float) -> float:
    return float(np.interp(place, np.arange(len(values)), values))
