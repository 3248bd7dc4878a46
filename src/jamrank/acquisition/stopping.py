"""Stopping: the remaining error, the votes still needed, and the orientation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.channel import TIE
from jamrank.acquisition.goals import Goal, top_bar
from jamrank.acquisition.records import Status
from jamrank.acquisition.scores import GaussianScores
from jamrank.diagnostics.planning import some_pairs
from jamrank.diagnostics.sign import orientation
from jamrank.text import about, in_percent
from jamrank.typing import FloatArray, IntArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST_QUESTIONS = 4_000
# A target that needs more than this multiple of the present votes is out of reach.
_MOST_TIMES = 1e3
# Futile: at least this many votes per item, and this multiple of their cost still needed.
_ENOUGH_AN_ITEM, _TIMES_AGAIN = 10.0, 30.0
# Near the target the error of the normal posterior is checked by draws.
_NEAR = 1.25
_DRAWS = 400
# Bounds of the flip of good, random and adversarial annotators.
_VERDICTS = ((0.0, 0.4), (0.4, 0.6), (0.6, 1.0))


@dataclass(frozen=True)
class Questions:
    """What a goal asks, as normal quantities that are above 0 or not; their errors times ``scale`` are the error."""

    mean: FloatArray
    variance: FloatArray
    prior: float
    scale: float


def questions_of(scores: GaussianScores, goal: Goal, prior_variance: float) -> Questions:
    """Return the questions of a goal; with very many, some of them."""
    n = len(scores.mean)
    if goal.name in ("ranking", "verdicts"):
        first, second = some_pairs(n, _MOST_QUESTIONS)
        mean, variance = scores.margin(first, second)
        return Questions(mean, variance, 2 * prior_variance, 1.0)
    if goal.name == "top-k":
        bar = top_bar(scores, goal.k)
        return Questions(scores.mean - bar, scores.variance, prior_variance, n / (2 * min(goal.k, n)))
    if goal.anchor is None:
        return Questions(scores.mean - goal.threshold, scores.variance, prior_variance, 1.0)
    others = np.delete(np.arange(n), goal.anchor)
    mean, variance = scores.margin(others, np.full(n - 1, goal.anchor))
    return Questions(mean, variance, 2 * prior_variance, 1.0)


def projected_error(asked: Questions, times: float = 0.0) -> float:
    """Return the expected error with ``times`` as many further votes, distributed like the present ones.

    The information on each quantity grows by that factor, its prior stays. The error is averaged over the
    distribution of the later mean.
    """
    before = 1.0 / asked.prior
    known = np.maximum(1.0 / asked.variance - before, 0.0)
    later = 1.0 / (before + known * (1.0 + times))
    moved = np.sqrt(np.maximum(asked.variance - later, 0.0))
    estimate = asked.mean[:, None] + moved[:, None] * _NODES
    wrong = ndtr(-np.abs(estimate) / np.sqrt(later)[:, None]) @ _WEIGHTS
    return float(wrong.mean()) * asked.scale


def error_of_draws(draws: FloatArray, scores: FloatArray, goal: Goal) -> float:
    """Return the error of the order of the scores, by draws from a posterior."""
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
        return float(((draws > bar) != above).mean())
    first, second = some_pairs(n, _MOST_QUESTIONS)
    gap = np.sign(scores[first] - scores[second])
    return float((np.sign(draws[:, first] - draws[:, second]) * gap < 0).mean())


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
    asked = questions_of(belief.scores, goal, belief.prior_variance)
    error = _verdict_error(belief) if goal.name == "verdicts" else projected_error(asked)
    sign_open = not sign_settled and not _sign_settled(belief)
    if goal.name != "verdicts" and error <= _NEAR * target and not sign_open:
        error = _closer_look(belief, goal, error)
    needed = _votes_needed(asked, votes, target, error) if goal.name != "verdicts" else None
    needed = 0.0 if error <= target else needed
    price = None if needed is None else needed * usual_cost
    far = goal.name != "verdicts" and (price is None or price > _TIMES_AGAIN * max(cost, 1e-12))
    elsewhere = far and error > target and _only_new_pairs_open(belief, target, n_pairs)
    if elsewhere:  # votes like the present ones are not what is needed
        needed, price, far = None, None, False
    state, reason = _state(belief, error, target, needed, votes, cost, far, budget, sign_open)
    if elsewhere and state == "go":
        reason += " The pairs compared so far are decided; votes on other pairs are needed."
    reason += _groups(belief, n_pairs)
    return Status(state, reason, error, needed, price, sign_open, votes, cost)


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
) -> tuple[str, str]:
    figures = f"expected error {in_percent(error)}, target {in_percent(target)}"
    if error <= target and not sign_open:
        return "reached", f"The goal is reached: {figures}."
    if budget is not None and cost >= budget:
        return "budget spent", f"The budget of {budget:g} is spent: {figures}."
    enough = votes >= _ENOUGH_AN_ITEM * len(belief.pool.items)
    if enough and far and error > target:
        return "futile", f"More votes like these will not reach the target: {figures}."
    if sign_open:
        return (
            "go",
            f"The votes do not determine the direction of the ranking: collect more or give gold ({figures}).",
        )
    more = "" if needed is None else f"; {about(max(needed, 1.0), 'more vote')}"
    return "go", f"{figures[0].upper()}{figures[1:]}{more}."


def _only_new_pairs_open(belief: Belief, target: float, n_pairs: int) -> bool:
    """Say whether the pairs with votes meet the target, and there are pairs without."""
    first, second = _compared(belief)
    if not 0 < len(first) < n_pairs:
        return False
    mean, variance = belief.scores.margin(first, second)
    return float(ndtr(-np.abs(mean) / np.sqrt(variance)).mean()) <= target


def _groups(belief: Belief, n_pairs: int) -> str:
    """Return a sentence on groups of items without a vote between them; none with features or nested questions."""
    n = len(belief.pool.items)
    if belief.has_features or n_pairs < n * (n - 1) // 2:
        return ""
    first, second = _compared(belief)
    group = connected_components(csr_array((np.ones(len(first)), (first, second)), (n, n)), directed=False)[1]
    several = len(np.unique(group[first]))
    if several < 2:
        return ""
    return (
        f" The items form {several:,} groups without a vote between them: only votes on pairs from two groups tell "
        "how the groups compare."
    )


def _compared(belief: Belief) -> tuple[IntArray, IntArray]:
    """Return the pairs with votes."""
    _, left, right, _ = belief.pool.columns()
    n = max(len(belief.pool.items), 1)
    codes = np.unique(np.minimum(left, right) * n + np.maximum(left, right))
    return codes // n, codes % n


def _votes_needed(asked: Questions, votes: float, target: float, error: float) -> float | None:
    """Return the approximate number of further votes to the target; None if it is out of reach."""
    if votes == 0:
        return None
    # If draws found more error than the normal posterior, the same factor is assumed later.
    factor = error / max(projected_error(asked), 1e-12)

    def above(log_times: float) -> float:
        return factor * projected_error(asked, float(np.expm1(log_times))) - target

    if above(0.0) <= 0:
        return 0.0
    most = float(np.log1p(_MOST_TIMES))
    if above(most) > 0:
        return None
    from scipy.optimize import brentq

    return float(np.expm1(brentq(above, 0.0, most, xtol=1e-3))) * votes


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
    who, _, _, outcome = belief.pool.columns()
    decided = np.bincount(who, belief.pool.weight * (outcome != TIE), len(belief.pool.annotators)).astype(np.float64)
    if not decided.sum() > 0:
        return False
    _, variance = belief.reliability.logit_moments()
    return orientation(belief.reliability.flip, 1.0 / np.maximum(variance, 1e-6), decided).settled


def _verdict_error(belief: Belief) -> float:
    if len(belief.pool.annotators) < 2:  # a lone annotator cannot be judged
        return 1.0
    sure = np.stack([belief.reliability.between(low, high) for low, high in _VERDICTS])
    return float(1.0 - sure.max(axis=0).mean())
