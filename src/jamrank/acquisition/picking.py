"""From proposals to one choice, with its probability: exploration, easy pairs, nothing asked twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from jamrank.acquisition.desk import Desk
from jamrank.acquisition.view import Proposals, View
from jamrank.typing import BoolArray, FloatArray

__all__ = ["Picked", "pick"]


# A pair is easy where its order is at least so sure.
_EASY = 0.95
_SAME = 1e-9


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
    """Choose an annotator and a pair; None where nobody can be asked anything new."""
    free = desk.free(view)
    if not free.any():
        return None
    if easy_share and view.rng.random() < easy_share:
        easy = _draw(view, free & _easy(view)[None, :], easy_share, "easy", "an easy pair, against fatigue")
        if easy is not None:
            return easy
    proposals = strategy(view)
    value = np.where(free[:, proposals.pairs], proposals.value, -np.inf)
    if not np.isfinite(value.max()):  # the pairs that were looked at are all taken
        proposals = Proposals(np.arange(len(view.first)), np.zeros(free.shape), proposals.why)
        value = np.where(free, proposals.value, -np.inf)
    if explore and view.rng.random() < explore:
        return _draw(view, free, explore, "explore", "drawn at random, to keep the collection honest")
    best = value.max()
    row, column = np.nonzero(value >= best - _SAME * max(abs(best), 1e-300))
    at = int(view.rng.integers(len(row)))
    pair = int(proposals.pairs[column[at]])
    sure = _sureness(view)[pair]
    chance = (1 - easy_share) * ((1 - explore) / len(row) + explore / int(free.sum()))
    who, gain = int(view.annotators[row[at]]), float(value[row[at], column[at]] * view.cost[row[at]])
    why = proposals.why.replace("{sure}", f"{sure:.0%}")
    return Picked(who, int(view.first[pair]), int(view.second[pair]), gain, chance, name, why)


def _draw(view: View, allowed: BoolArray, share: float, name: str, why: str) -> Picked | None:
    """Draw an annotator, the dearer the rarer, and any pair that is allowed."""
    weight = np.where(allowed.any(axis=1), 1.0 / view.cost, 0.0)
    if not weight.sum() > 0:
        return None
    weight = weight / weight.sum()
    row = int(view.rng.choice(len(weight), p=weight))
    pairs = np.flatnonzero(allowed[row])
    pair = int(view.rng.choice(pairs))
    chance = share * float(weight[row]) / len(pairs)
    who = int(view.annotators[row])
    return Picked(who, int(view.first[pair]), int(view.second[pair]), 0.0, chance, name, why)


def _sureness(view: View) -> FloatArray:
    mean, variance = view.belief.scores.margin(view.first, view.second)
    return np.asarray(ndtr(np.abs(mean) / np.sqrt(variance)))


def _easy(view: View) -> BoolArray:
    sure = _sureness(view)
    return sure >= min(_EASY, float(np.quantile(sure, 0.9)))
