"""Expected information on the goal and on the annotator, per cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jamrank.acquisition.channel import expected_truth, vote_information
from jamrank.acquisition.goals import relevance
from jamrank.acquisition.view import Proposals, View
from jamrank.typing import BoolArray, FloatArray

# This many pairs, the best for the best annotator, are evaluated for every annotator.
_LOOKED_AT = 100
# Value of knowing the annotators, and the further votes of each that benefit.
LEARNING, _TO_COME = 1.0, 5.0
# Factor for the value of annotators who are asked only if nobody else can be.
_LAST_RESORT = 1e-6
_GRID_MEAN = np.concatenate([np.linspace(0, 3, 25), np.linspace(3.25, 10, 16)])
_GRID_DEVIATION = np.concatenate([[1e-4], np.linspace(0.1, 3, 24), np.linspace(3.5, 8, 8)])


def information(view: View) -> Proposals:
    """Value each pair and annotator by mutual information, weighted by the goal, for its cost."""
    belief = view.belief
    mean, variance = belief.scores.margin(view.first, view.second)
    worth = relevance(belief.scores, view.goal, view.first, view.second, view.rng)
    flips, ties = belief.reliability.flip[view.annotators], belief.tie[view.annotators]
    kept = np.arange(len(mean))
    if len(kept) > _LOOKED_AT:
        kept = np.argpartition(-_rough_value(view, mean, variance, worth), _LOOKED_AT)[:_LOOKED_AT]
    mean, variance, worth = mean[kept], variance[kept], worth[kept]
    margins = np.abs(mean)[None, :], variance[None, :]
    value = _reduction(vote_information(*margins, flips[:, None], ties[:, None])) * worth
    learned = belief.reliability.information(expected_truth(mean, variance), view.annotators)
    if view.goal.name == "verdicts":
        value = learned + 1e-3 * value
        return Proposals(kept, value / view.cost[:, None], "most information on the reliability of {annotator}")
    perfect = float((_reduction(vote_information(np.abs(mean), variance, 0.0)) * worth).mean())
    learning = _reduction(learned) * (LEARNING * perfect * _doubt(view))[:, None]
    why = "most information on the goal; current probability of the order {sure}"
    asked, chance = _class_to_ask(view)
    total = np.where(asked[:, None], 1.0, _LAST_RESORT) * (value + learning) / view.cost[:, None]
    return Proposals(kept, total, why, learning > value, chance)


def _class_to_ask(view: View) -> tuple[BoolArray, FloatArray]:
    """Draw whether to ask the cheap or the expensive annotators; return who is asked, and the probability of each."""
    expensive = view.belief.expensive[view.annotators]
    if expensive.all() or not expensive.any():
        return np.ones(len(expensive), np.bool_), np.ones(len(expensive))
    money = view.belief.money_for_expensive
    votes = money / view.cost[expensive].mean(), (1 - money) / view.cost[~expensive].mean()
    share = votes[0] / sum(votes)
    drawn = view.rng.random() < share
    return expensive == drawn, np.where(expensive, share, 1 - share)


def _rough_value(view: View, mean: FloatArray, variance: FloatArray, worth: FloatArray) -> FloatArray:
    """Return the approximate value of each pair for the best annotator."""
    if view.goal.name == "verdicts":
        return np.abs(expected_truth(mean, variance) - 0.5)
    flips, ties = view.belief.reliability.flip[view.annotators], view.belief.tie[view.annotators]
    best = int(np.argmin(np.minimum(flips, 1 - flips)))
    return _reduction(_from_table(mean, variance, flips[best], ties[best])) * worth


def _doubt(view: View) -> FloatArray:
    """Return the loss from each annotator's unknown flip, in votes of a perfect annotator.

    A vote with flip ``f`` has the information of ``(1 - 2f)²`` perfect votes; with an unknown flip, the square of the
    mean of ``1 - 2f``. The loss is the variance of ``1 - 2f``, for the votes given and some future ones.
    """
    return np.asarray(view.belief.reliability.contrast_variance[view.annotators] * (view.given + _TO_COME))


def _reduction(nats: FloatArray) -> FloatArray:
    """Return the share of the margin's variance that a vote of so much information removes."""
    return np.asarray(-np.expm1(-2 * nats))


def _from_table(mean: FloatArray, variance: FloatArray, flip: float, tie: float) -> FloatArray:
    """Return the information of votes by one annotator, interpolated on a grid, to select candidates."""
    table = vote_information(_GRID_MEAN[:, None], _GRID_DEVIATION[None, :] ** 2, flip, tie)
    row, along = _place(np.abs(mean), _GRID_MEAN)
    column, across = _place(np.sqrt(variance), _GRID_DEVIATION)
    low = table[row, column] * (1 - along) + table[row + 1, column] * along
    high = table[row, column + 1] * (1 - along) + table[row + 1, column + 1] * along
    return np.asarray(low * (1 - across) + high * across)


def _place(values: FloatArray, grid: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    values = np.clip(values, grid[0], grid[-1])
    at = np.clip(np.searchsorted(grid, values) - 1, 0, len(grid) - 2)
    return at, (values - grid[at]) / (grid[at + 1] - grid[at])
