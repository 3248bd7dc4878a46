"""Stopping: the remaining error, the votes still needed, and the orientation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.goals import Goal
from jamrank.acquisition.groups import are_apart, compared_pairs, joinable_groups
from jamrank.acquisition.obstacles import Obstacle, decided_votes, obstacle_of, open_direction, orientation_of
from jamrank.acquisition.records import Status
from jamrank.acquisition.scores import GaussianScores
from jamrank.diagnostics.graph import WELL_JOINED, weakly_joined
from jamrank.diagnostics.planning import expected_accuracy, score_errors, some_pairs
from jamrank.rows import PairCounts
from jamrank.text import about, in_percent
from jamrank.typing import BoolArray, FloatArray, IntArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST_QUESTIONS = 4_000
# A target that needs more than this multiple of the present votes is out of reach.
_MOST_TIMES = 1e3
# Futile: at least this many votes per item, and this multiple of their cost still needed.
_ENOUGH_AN_ITEM, _TIMES_AGAIN = 10.0, 30.0
# Below this share of the target, the error of the pairs with votes leaves nothing to learn from more votes on them.
_DECIDED = 0.5
# Near the target the error of the normal posterior is checked by draws.
_NEAR = 1.25
_DRAWS = 400
# Draws of a top: about so many numbers, within these limits.
_MOST_NUMBERS, _COUNTS = 400_000, (400, 4_000)
_GROUPS = "without a vote between them: only votes on pairs from two groups tell how the groups compare."
# Standard deviation of the level of such a group: nothing is known of it.
_NO_LEVEL = 1e3
# Bounds of the flip of good, random and adversarial annotators.
_VERDICTS = ((0.0, 0.4), (0.4, 0.6), (0.6, 1.0))


@dataclass(frozen=True)
class Questions:
    """What a goal asks, as normal quantities that are above 0 or not."""

    mean: FloatArray
    variance: FloatArray
    prior: float


def error_curve(
    scores: GaussianScores, goal: Goal, prior_variance: float, component: IntArray | None = None
) -> Callable[[float], float]:
    """Return the expected error of a goal as a function of further votes, as a multiple of the present ones.

    component: The group of each item, as in :func:`error_of_draws`.
    """
    if goal.name == "top-k":
        return _top_curve(scores, goal.k, prior_variance, component)
    asked = questions_of(scores, goal, prior_variance, component)
    return lambda times: projected_error(asked, times)


def questions_of(
    scores: GaussianScores, goal: Goal, prior_variance: float, component: IntArray | None = None
) -> Questions:
    """Return the questions of a ranking or a threshold; with very many, some of them."""
    n = len(scores.mean)
    if goal.name == "threshold":
        if goal.anchor is None:
            return Questions(scores.mean - goal.threshold, scores.centred_variance, prior_variance)
        others = np.delete(np.arange(n), goal.anchor)
        mean, variance = scores.margin(others, np.full(n - 1, goal.anchor))
        return Questions(mean, variance, 2 * prior_variance)
    first, second = some_pairs(n, _MOST_QUESTIONS, goal.group)
    mean, variance = scores.margin(first, second)
    apart = are_apart(component, first, second)
    # Of these orders nothing is known, and votes like the present ones do not change that.
    return Questions(np.where(apart, 0.0, mean), np.where(apart, 2 * prior_variance, variance), 2 * prior_variance)


def projected_error(asked: Questions, times: float = 0.0) -> float:
    """Return the expected error with ``times`` as many further votes, distributed like the present ones.

    The information on each quantity grows by that factor, its prior stays. The error is averaged over the
    distribution of the later mean.
    """
    if not len(asked.mean):  # nothing can be compared
        return 0.5
    later = _later_variance(asked.variance, asked.prior, times)
    moved = np.sqrt(np.maximum(asked.variance - later, 0.0))
    estimate = asked.mean[:, None] + moved[:, None] * _NODES
    return float((ndtr(-np.abs(estimate) / np.sqrt(later)[:, None]) @ _WEIGHTS).mean())


def _later_variance(variance: FloatArray, prior: float, times: float) -> FloatArray:
    before = 1.0 / prior
    known = np.maximum(1.0 / variance - before, 0.0)
    return np.asarray(1.0 / (before + known * (1.0 + times)))


def _top_curve(
    scores: GaussianScores, k: int, prior_variance: float, component: IntArray | None
) -> Callable[[float], float]:
    """Return the expected share of wrong members of the top: later estimates and truths are drawn together.

    A later estimate varies around the present one by the part of the variance that further votes remove, the truth
    around the later estimate by the rest.
    """
    n = len(scores.mean)
    if k >= n:
        return lambda times: 0.0
    variance = scores.centred_variance
    order = np.lexsort((variance, scores.mean))  # the draws must not depend on names
    mean, variance = scores.mean[order], variance[order]
    own = scores.covariance[np.ix_(order, order)] if scores.dense else scores.covariance[order]
    rng, count = np.random.default_rng(0), int(np.clip(_MOST_NUMBERS // n, *_COUNTS))
    sorted_scores = GaussianScores(mean, own)
    moved, rest = sorted_scores.deviations(count, rng), sorted_scores.deviations(count, rng)
    if component is not None:
        level = _NO_LEVEL * rng.standard_normal((count, int(component.max()) + 1))
        rest += np.where(component[order] < 0, 0.0, level[:, component[order]])
    prior = prior_variance * (1 - 1 / n)
    now = _later_variance(variance, prior, 0.0)

    def error(times: float) -> float:
        left = _later_variance(variance, prior, times) / now
        later = mean + np.sqrt(1 - left) * moved
        return 1.0 - float((top_of(later, k) & top_of(later + np.sqrt(left) * rest, k)).sum()) / (k * count)

    return error


def top_of(scores: FloatArray, k: int) -> BoolArray:
    """Return which scores of each row are its k highest."""
    inside = np.zeros(scores.shape, np.bool_)
    np.put_along_axis(inside, np.argpartition(-scores, k - 1, axis=1)[:, :k], True, axis=1)
    return inside


def error_of_draws(draws: FloatArray, scores: FloatArray, goal: Goal, component: IntArray | None = None) -> float:
    """Return the error of the order of the scores, by draws from a posterior.

    component: The group of each item that votes connect, -1 for items without votes: an order of two groups counts as
        half an error. None where all are connected.
    """
    n = len(scores)
    if goal.name == "top-k":
        k = min(goal.k, n)
        top = np.argsort(-scores, kind="stable")[:k]
        drawn = np.argsort(-draws, axis=1, kind="stable")[:, :k]
        return 1.0 - float(np.isin(drawn, top).mean())
    if goal.name == "threshold":
        at = 0.0 if goal.anchor is None else scores[goal.anchor]
        bar = goal.threshold if goal.anchor is None else draws[:, [goal.anchor]]
        above = scores > (goal.threshold if goal.anchor is None else at)
        wrong = (draws > bar) != above
        return float((wrong if goal.anchor is None else np.delete(wrong, goal.anchor, axis=1)).mean())
    first, second = some_pairs(n, _MOST_QUESTIONS, goal.group)
    if not len(first):
        return 0.5
    gap = np.sign(scores[first] - scores[second])
    # Equal scores are half an error.
    wrong = (1 - (np.sign(draws[:, first] - draws[:, second]) * gap).mean(axis=0)) / 2
    return float(np.where(are_apart(component, first, second), 0.5, wrong).mean())


def assess(
    belief: Belief,
    goal: Goal,
    *,
    target: float,
    cost: float,
    usual_cost: float,
    budget: float | None,
    n_pairs: int,
    sign_settled: bool,
) -> Status:
    """Return the status of a collection.

    n_pairs: How many pairs can be asked.
    """
    votes = float(belief.pool.weight.sum())
    judged = goal.name == "verdicts"
    component = groups_apart(belief, goal)
    by_model = None if component is not None else _curve_of_model(belief, goal)
    curve = by_model or error_curve(belief.scores, goal, belief.prior_variance, component)
    error = verdict_error(belief) if judged else curve(0.0)
    obstacle = obstacle_of(belief, goal, sign_settled)
    unknown = obstacle is not None and obstacle.error is not None
    sign_open = unknown or (not sign_settled and not _sign_settled(belief))
    if obstacle is not None and obstacle.error is not None:
        error = obstacle.error
    if not judged and by_model is None and error <= _NEAR * target and not sign_open and component is None:
        error = _closer_look(belief, goal, error)
    needed = None if judged else _votes_needed(curve, votes, target, error)
    needed = 0.0 if error <= target else needed
    price = None if needed is None else needed * usual_cost
    far = not judged and (price is None or price > _TIMES_AGAIN * max(cost, 1e-12))
    decided = target if far else _DECIDED * target
    elsewhere = not judged and error > target and _only_new_pairs_open(belief, decided, n_pairs)
    if elsewhere or component is not None:  # votes like the present ones are not what is needed
        needed, price, far = None, None, False
    if obstacle is None and sign_open and votes and error <= target and not judged:
        obstacle = open_direction()
    if obstacle is not None and (sign_open or error > target):
        hopeless = obstacle.lasting or obstacle.kind == "random"
        needed, price, far = None, None, hopeless or (far and obstacle.kind == "tastes")
    reached = error <= target and not sign_open and component is None
    state, reason = _state(belief, error, target, needed, votes, cost, far, budget, sign_open, reached, obstacle)
    if component is not None:
        several = f"The items form {int(component.max()) + 1:,} groups"
        if goal.group is not None:
            several = "Items of the same question form groups"
        reason += f" {several} {_GROUPS}"
    elif reached and not judged and weakly_joined(PairCounts.decided(belief.pool.to_comparisons())) is not None:
        reason += f" Fewer than {WELL_JOINED} votes join groups of items: this holds if they are equally strong."
    elif elsewhere and state == "go":
        reason += " The pairs compared so far are decided; votes on other pairs are needed."
    hindered = "" if obstacle is None or reached else obstacle.kind
    return Status(state, reason, error, needed, price, sign_open, votes, cost, hindered)


def groups_apart(belief: Belief, goal: Goal) -> IntArray | None:
    """Return the group of each item where items form groups without a vote between them, if the goal needs them."""
    if goal.name == "verdicts" or belief.has_features:
        return None
    return joinable_groups(belief.pool, goal.group)


def curve_of_votes(belief: Belief, goal: Goal) -> Callable[[float], float]:
    """Return the error after further votes like those so far, as :func:`assess` expects it; all items are connected.

    The function takes a multiple of the present votes.
    """
    return _curve_of_model(belief, goal) or error_curve(belief.scores, goal, belief.prior_variance)


def _state(
    belief: Belief,
    error: float,
    target: float,
    needed: float | None,
    votes: float,
    cost: float,
    far: bool,
    budget: float | None,
    sign_open: bool,
    reached: bool,
    obstacle: Obstacle | None,
) -> tuple[str, str]:
    figures = f"expected error {in_percent(error)}, target {in_percent(target)}"
    if reached:
        return "reached", f"The goal is reached: {figures}."
    if budget is not None and cost >= budget:
        return "budget spent", f"The budget of {budget:g} is spent: {figures}."
    enough = votes >= _ENOUGH_AN_ITEM * len(belief.pool.items)
    if obstacle is not None:
        return "futile" if far and (enough or obstacle.lasting) else "go", f"{obstacle.sentence} ({figures})."
    if enough and far and error > target:
        return "futile", f"More votes like these will not reach the target: {figures}."
    if sign_open:
        return (
            "go",
            f"The votes do not determine the direction of the ranking: collect more or give gold ({figures}).",
        )
    more = "" if needed is None else f"; {about(max(needed, 1.0), 'more vote')} like those so far"
    return "go", f"{figures[0].upper()}{figures[1:]}{more}."


def _only_new_pairs_open(belief: Belief, decided: float, n_pairs: int) -> bool:
    """Say whether the error of the pairs with votes is at most this, and there are pairs without."""
    first, second = compared_pairs(belief.pool)
    if not 0 < len(first) < n_pairs:
        return False
    mean, variance = belief.scores.margin(first, second)
    return float(ndtr(-np.abs(mean) / np.sqrt(variance)).mean()) <= decided


def _votes_needed(curve: Callable[[float], float], votes: float, target: float, error: float) -> float | None:
    """Return the approximate number of further votes to the target; None if it is out of reach."""
    if votes == 0:
        return None
    # If draws found more error than the normal posterior, the same factor is assumed later.
    factor = error / max(curve(0.0), 1e-12)

    def above(log_times: float) -> float:
        return factor * curve(float(np.expm1(log_times))) - target

    if above(0.0) <= 0:
        return 0.0
    most = float(np.log1p(_MOST_TIMES))
    if above(most) > 0:
        return None
    from scipy.optimize import brentq

    return float(np.expm1(brentq(above, 0.0, most, xtol=1e-3))) * votes


def _curve_of_model(belief: Belief, goal: Goal) -> Callable[[float], float] | None:
    """Return the expected error of a ranking of all items by the model, as ``check`` and the report state it."""
    result = getattr(belief.model, "result_", None)
    whole = goal.name == "ranking" and goal.group is None and not belief.has_features
    if result is None or not whole or len(result.scores.scores) < len(belief.pool.items):
        return None
    scores, se, variance = result.scores.scores, score_errors(result), result.scores.score_variance
    if len(se) < 2 or not np.isfinite(se).all():
        return None
    return lambda times: 1.0 - expected_accuracy(scores, se, variance, times)


def _closer_look(belief: Belief, goal: Goal, error: float) -> float:
    """Return the error by draws from the posterior of the model, whose variance and flips are estimated too."""
    model: Any = belief.model
    if model is None or len(model.items_) < len(belief.pool.items) or not hasattr(model, "score_draws"):
        return error
    try:
        draws = model.score_draws(_DRAWS)
    except ValueError:  # a model without uncertainty
        return error
    place = belief.pool.items.places(model.items_)
    scores, drawn = np.empty(len(place)), np.empty((len(draws), len(place)))
    scores[place] = model.scores_ - model.scores_.mean()
    drawn[:, place] = draws - draws.mean(axis=1, keepdims=True)
    return error_of_draws(drawn, scores, goal)


def _sign_settled(belief: Belief) -> bool:
    return bool(decided_votes(belief).sum() > 0) and orientation_of(belief).settled


def verdict_error(belief: Belief) -> float:
    """Return the expected share of annotators who get a wrong verdict."""
    if len(belief.pool.annotators) < 2:  # a lone annotator cannot be judged
        return 1.0
    sure = np.stack([belief.reliability.between(low, high) for low, high in _VERDICTS])
    return float(1.0 - sure.max(axis=0).mean())
