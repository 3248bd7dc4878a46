"""From proposals to one choice with its probability: exploration, easy pairs, no repetition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from jamrank.acquisition.desk import Desk
from jamrank.acquisition.groups import are_apart
from jamrank.acquisition.view import Proposals, View
from jamrank.text import percent
from jamrank.typing import FloatArray, IntArray

# A pair is easy if its order is at least this probable.
_EASY = 0.95
_SAME = 1e-9
# An item is asked about twice in succession where this multiple of the value is missed otherwise, of so few pairs.
_RESTED, _FEW = 2.0, 1_000
# Smallest weight of a well-known annotator in random draws.
_LEAST_DOUBT = 0.02
# What a vote on a pair is for, other than the order of the pair.
_LEARNING = "to learn how reliable {annotator} is; current probability of the order {sure}"
_PLACING = "for the order of others: how far apart these two are; current probability of their own order {sure}"
_JOINING = "joins two groups of items without a vote between them"


@dataclass(frozen=True)
class Picked:
    """One choice, in codes."""

    who: int
    first: int
    second: int
    gain: float
    probability: float
    strategy: str
    why: str


def pick(
    view: View,
    strategy: Callable[[View], Proposals],
    desk: Desk,
    name: str,
    explore: float,
    easy_share: float,
) -> Picked | None:
    """Choose an annotator and a pair; None if there is nothing new to ask."""
    if easy_share and view.rng.random() < easy_share:
        easy = _draw(view, desk, _easy(view), easy_share, "easy", "an easy pair, against fatigue and as a check")
        if easy is not None:
            return easy
    everything = np.arange(len(view.first))
    if explore and view.rng.random() < explore:
        why = "drawn at random, for exploration"
        return _draw(view, desk, everything, explore * (1 - easy_share), "explore", why)
    proposals = strategy(view)
    free = desk.free(view, proposals.pairs)
    if not free.any():  # all candidate pairs are taken
        proposals = Proposals(everything, np.zeros((len(view.annotators), len(everything))), proposals.why)
        free = desk.free(view, everything)
    if not free.any():
        return None
    value = np.where(free, proposals.value, -np.inf)
    best = value.max()
    if view.goal.name != "ranking" and len(everything) <= _FEW:  # one pair may decide
        also = np.where(desk.free(view, proposals.pairs, rested=False), proposals.value, -np.inf)
        if also.max() > _RESTED * best:
            value, best = also, also.max()
    row, column = np.nonzero(value >= best - _SAME * max(abs(best), 1e-300))
    at = int(view.rng.integers(len(row)))
    pair, who = int(proposals.pairs[column[at]]), int(view.annotators[row[at]])
    by_lot = explore * _lots(view)[row[at]] / max(int(desk.free(view, everything, row[[at]]).sum()), 1)
    chance = (1 - easy_share) * ((1 - explore) / len(row) + float(by_lot))
    gain = float(value[row[at], column[at]] * view.cost[row[at]])
    others = len(view.belief.pool.items) > 2
    why = _reason(proposals, int(row[at]), int(column[at]), float(_sureness(view, np.array([pair]))[0]), others)
    if not view.belief.has_features and are_apart(desk.unconnected(), view.first[[pair]], view.second[[pair]])[0]:
        why = _JOINING
    return Picked(who, int(view.first[pair]), int(view.second[pair]), gain, chance, name, why)


def _reason(proposals: Proposals, row: int, column: int, sure: float, others: bool) -> str:
    why = proposals.why
    if proposals.learning is not None and (proposals.learning[row, column] or (others and sure >= _EASY)):
        why = _LEARNING if proposals.learning[row, column] else _PLACING
    return why.replace("{sure}", percent(sure))


def _draw(view: View, desk: Desk, pairs: IntArray, share: float, name: str, why: str) -> Picked | None:
    """Draw an annotator, then any of the pairs that are free for them."""
    lots = _lots(view)
    for row in view.rng.choice(len(lots), len(lots), replace=False, p=lots).tolist():
        free = pairs[desk.free(view, pairs, np.array([row]))[0]]
        if len(free):
            pair, who = int(view.rng.choice(free)), int(view.annotators[row])
            chance = share * float(lots[row]) / len(free)
            return Picked(who, int(view.first[pair]), int(view.second[pair]), 0.0, chance, name, why)
    return None


def _lots(view: View) -> FloatArray:
    """Return the probability of each annotator: higher if less known, lower if more expensive."""
    weight = (view.belief.reliability.sharpness_deviation[view.annotators] + _LEAST_DOUBT) / view.cost**2
    return np.asarray(weight / weight.sum())


def _sureness(view: View, pairs: IntArray) -> FloatArray:
    mean, variance = view.belief.scores.margin(view.first[pairs], view.second[pairs])
    return np.asarray(ndtr(np.abs(mean) / np.sqrt(variance)))


def _easy(view: View) -> IntArray:
    sure = _sureness(view, np.arange(len(view.first)))
    return np.flatnonzero(sure >= min(_EASY, float(np.quantile(sure, 0.9))))
