"""How many votes a target needs, by simulating the collection from the current posterior.

In each run a truth is drawn from the posterior, scores and annotators. Then the strategy chooses votes, round by
round, which are drawn from that truth; the belief is updated vote by vote, without refits. The error of a run is what
its belief expects, so that all runs begin at the present error (:mod:`jamrank.acquisition.forecast`). Where there is
one pair to ask and no annotator to choose, nothing is simulated: the error is that of votes like those so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.channel import LEFT, RIGHT, TIE, outcomes
from jamrank.acquisition.forecast import ErrorsOfRuns, Forecast, State, errors_of_runs, forecast_for
from jamrank.acquisition.goals import Goal
from jamrank.acquisition.groups import joinable_groups
from jamrank.acquisition.stopping import curve_of_votes, groups_apart, questions_of
from jamrank.acquisition.view import Proposals, View, candidate_pairs
from jamrank.typing import FloatArray, IntArray

# Number of rounds of a run, and of those after which the error is computed.
_MOST_ROUNDS, _POINTS = 200, 40
# Seconds that all runs may take, and the limits of their number.
_SECONDS, _FEWEST_RUNS, _MOST_RUNS = 2.0, 4, 100
# Seconds that a vote and a round take, with few items and for the square of their number.
_A_VOTE, _A_ROUND = (4e-5, 2e-9), (4e-4, 4e-7)
# The range of votes allows for the noise of the mean error on either side up to this quantile.
_COVERED = 0.975
_EXAMPLES = ndtri((np.arange(400) + 0.5) / 400)


@dataclass(frozen=True)
class Plan:
    """The expected course of a collection.

    Attributes
    ----------
    votes, cost : ndarray
        Further votes after each round, or after some of many rounds, and their mean cost.
    error, low, high : ndarray
        Expected error after these votes, and the range of nine runs in ten, which contains it.
    target : float
    votes_needed, cost_needed : float or None
        Votes at which the expected error reaches the target; None if not within the horizon.
    runs : int
        Number of simulated collections; 0 where the error was computed without: there is one pair to ask.
    exhausted : bool
        Whether it ends because nothing is left to ask: every annotator has judged every pair or has no capacity left.
    votes_range : tuple of float or None
        Between which ``votes_needed`` is, given the noise of the simulation; the second is None where the target may
        be beyond the horizon.
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
    votes_range: tuple[float, float | None] | None = None


def plan_collection(
    belief: Belief,
    goal: Goal,
    strategy: Callable[[View], Proposals],
    cost: FloatArray,
    *,
    now: float,
    target: float,
    runs: int | None,
    most_votes: float,
    left_to_ask: float,
    share_cap: float,
    rng: np.random.Generator,
) -> Plan:
    """Say when the error reaches the target.

    now: The present error.
    runs: Number of simulated collections; None for as many as about two seconds allow.
    left_to_ask: How many comparisons can be asked at most.
    """
    a_round, rounds, exhausted = _rounds(len(belief.pool.items), len(cost), most_votes, left_to_ask)
    if nothing_to_choose(belief, goal, cost):
        ahead = np.linspace(0.0, a_round * rounds, min(rounds, _POINTS) + 1)
        return _computed(belief, goal, ahead, float(cost[0]), now, target, exhausted)
    component = groups_apart(belief, goal)
    forecast = forecast_for(belief, goal, component, now)
    n_runs = _affordable(len(belief.pool.items), a_round, rounds) if runs is None else runs
    points = np.unique(np.linspace(0, rounds, _POINTS + 1).round().astype(np.int64))
    simulated = _Simulated(goal, strategy, cost, a_round, points, share_cap, forecast)
    found = [_run(belief.copy(), component, simulated, rng) for _ in range(n_runs)]
    states, costs, joined = zip(*found, strict=True)
    errors = errors_of_runs(forecast, list(states), now)
    earliest = int(np.searchsorted(points, max(joined)))
    price = np.asarray(np.mean(costs, axis=0), dtype=np.float64)
    votes = points.astype(np.float64) * a_round
    return _summary(votes, price, errors, now, target, earliest, exhausted)


def nothing_to_choose(belief: Belief, goal: Goal, cost: FloatArray) -> bool:
    """Say whether all votes are alike: on one pair, of annotators of one price who are not told apart."""
    if len(belief.pool.items) != 2 or len(belief.pool) == 0 or goal.name == "verdicts":
        return False
    comparable = goal.group is None or np.ptp(goal.group) == 0
    return bool(comparable and np.ptp(cost) == 0 and np.ptp(belief.reliability.flip) < 1e-9)


def _rounds(n_items: int, n_annotators: int, most_votes: float, left_to_ask: float) -> tuple[int, int, bool]:
    """Return the votes of a round, the number of rounds, and whether nothing is left to ask after them."""
    a_round = max(n_items // 2, n_annotators, int(np.ceil(most_votes / _MOST_ROUNDS)))
    rounds = max(int(np.ceil(most_votes / a_round)), 1)
    if rounds * a_round <= left_to_ask:
        return a_round, rounds, False
    rounds = int(np.ceil(left_to_ask / a_round))
    return int(left_to_ask) // max(rounds, 1), rounds, True


def _affordable(n_items: int, a_round: int, rounds: int) -> int:
    """Return the number of runs that take about two seconds: the work is estimated, a plan must not vary."""
    a_vote, once = (few + square * n_items**2 for few, square in (_A_VOTE, _A_ROUND))
    return int(np.clip(_SECONDS / max(rounds * (a_round * a_vote + once), 1e-9), _FEWEST_RUNS, _MOST_RUNS))


def _computed(
    belief: Belief, goal: Goal, votes: FloatArray, price: float, now: float, target: float, exhausted: bool
) -> Plan:
    """Return the plan for votes like those so far."""
    curve, given = curve_of_votes(belief, goal), float(belief.pool.weight.sum())
    factor = now / max(curve(0.0), 1e-12)
    error = np.minimum([factor * curve(more / given) for more in votes], now)
    fine = np.linspace(0.0, votes[-1], 4_001)
    at = _crossing(np.minimum([factor * curve(more / given) for more in fine], now), target, 0)
    needed = None if at is None else _between(fine, at)
    asked = questions_of(belief.scores, goal, belief.prior_variance)
    mean, variance = asked.mean[0], asked.variance[0]
    later = 1.0 / (1.0 / variance + np.maximum(1.0 / variance - 1.0 / asked.prior, 0.0) * votes / given)
    estimate = mean + np.sqrt(np.maximum(variance - later, 0.0))[:, None] * _EXAMPLES
    possible = ndtr(-np.abs(estimate) / np.sqrt(later)[:, None])
    possible *= (error / np.maximum(possible.mean(axis=1), 1e-12))[:, None]
    low, high = np.quantile(possible, [0.05, 0.95], axis=1)
    low, high = np.minimum(low, error), np.maximum(high, error)
    paid = None if needed is None else needed * price
    between = None if needed is None else (needed, needed)
    return Plan(votes, votes * price, error, low, high, target, needed, paid, 0, exhausted, between)


def _summary(
    votes: FloatArray,
    price: FloatArray,
    errors: ErrorsOfRuns,
    now: float,
    target: float,
    earliest: int,
    exhausted: bool,
) -> Plan:
    """Return the plan of runs.

    earliest: Before this point the target does not count as reached.
    """
    runs, even = len(errors.even), errors.even
    noise = stdtrit(runs - 1, _COVERED) * even.std(axis=0, ddof=1) / np.sqrt(runs)
    mean = even.mean(axis=0)
    curve = _never_increasing(mean, now)
    at = _crossing(curve, target, earliest)
    needed, paid, between = None, None, None
    if at is not None:
        needed, paid = _between(votes, at), _between(price, at)
        ends = [_crossing(_never_increasing(mean + side * noise, now), target, earliest) for side in (-1, 1)]
        low, high = (None if end is None else _between(votes, end) for end in ends)
        between = (needed if low is None else min(low, needed)), (None if high is None else max(high, needed))
    low, high = np.quantile(errors.own, [0.05, 0.95], axis=0)
    low, high = np.minimum(low, curve), np.maximum(high, curve)
    return Plan(votes, price, curve, low, high, target, needed, paid, runs, exhausted, between)


@dataclass(frozen=True)
class _Simulated:
    """What all runs share.

    points: After which rounds the state is kept.
    """

    goal: Goal
    strategy: Callable[[View], Proposals]
    cost: FloatArray
    a_round: int
    points: IntArray
    share_cap: float
    forecast: Forecast


def no_plan(error: float, target: float) -> Plan:
    """Return the plan where nothing can be said of further votes: it ends at the present error."""
    now, none = np.array([error]), np.zeros(1)
    return Plan(none, none, now, now, now, target, None, None, 0)


def _run(
    belief: Belief, component: IntArray | None, simulated: _Simulated, rng: np.random.Generator
) -> tuple[list[State], FloatArray, int]:
    """Return states and cost at the points, and the round from which on votes connect all items."""
    goal, cost, forecast = simulated.goal, simulated.cost, simulated.forecast
    truth, flips = _draw_truth(belief, rng)
    joined, asked = 0, np.empty((2, 0), dtype=np.int64)
    states, spent = [forecast.state(belief, component)], [0.0]
    given, paid, kept = np.zeros(len(cost)), 0.0, set(simulated.points.tolist())
    rounds = int(simulated.points[-1])
    for done in range(1, rounds + 1):
        who, first, second = _ask(belief, simulated, given, rng)
        _answer(belief, who, first, second, truth, flips, rng)
        np.add.at(given, who, 1.0)
        paid += float(cost[who].sum())
        if component is not None:
            asked = np.concatenate([asked, [first, second]], axis=1)
            component, joined = joinable_groups(belief.pool, goal.group, (asked[0], asked[1])), joined + 1
        if done in kept:
            states.append(forecast.state(belief, component))
            spent.append(paid)
    return states, np.array(spent), joined if component is None else rounds + 1


def _answer(
    belief: Belief,
    who: IntArray,
    first: IntArray,
    second: IntArray,
    truth: FloatArray,
    flips: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Draw the votes of a round and update the belief."""
    for annotator, left, right in zip(who.tolist(), first.tolist(), second.tolist(), strict=True):
        if rng.random() < 0.5:
            left, right = right, left
        outcome = _vote(truth[left] - truth[right], flips[annotator], belief.tie[annotator], rng)
        belief.observe(annotator, left, right, outcome)


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


def _ask(
    belief: Belief, simulated: _Simulated, given: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Choose a round: the best proposals, each pair once, annotators within their shares."""
    goal, cost, count = simulated.goal, simulated.cost, simulated.a_round
    first, second = candidate_pairs(belief.scores.mean, rng, goal.group)
    everyone = np.arange(len(cost))
    votes = np.zeros(len(belief.scores.mean))
    view = View(belief, goal, first, second, everyone, cost, given, votes, lambda: np.zeros(len(first)), rng)
    proposals = simulated.strategy(view)
    value = proposals.value + 1e-12 * rng.random(proposals.value.shape)
    expensive = belief.expensive
    of_a_kind = np.where(expensive, expensive.sum(), (~expensive).sum())
    most = simulated.share_cap * (given.sum() + count) / of_a_kind
    room = np.maximum(np.ceil(most - given), 1).astype(np.int64)
    seats = np.repeat(np.argsort(-value.max(axis=1)), room[np.argsort(-value.max(axis=1))])[:count]
    best = np.argsort(-value.max(axis=0))
    pairs = proposals.pairs[np.resize(best, len(seats))]
    return rng.permutation(seats), first[pairs], second[pairs]


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
