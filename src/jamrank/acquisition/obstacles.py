"""What more votes like the present ones do not overcome: opposed annotators, random votes, tastes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.channel import TIE
from jamrank.acquisition.goals import Goal
from jamrank.diagnostics.checks.planning import DISAGREE
from jamrank.diagnostics.checks.sign import like_random
from jamrank.diagnostics.examination import FEW_VOTES, Examination
from jamrank.diagnostics.sign import differ_from_random
from jamrank.inference.differing_tastes import has_tastes
from jamrank.inference.orientation import Orientation, orientation
from jamrank.typing import FloatArray

_OPEN = "The votes do not determine the direction of the ranking: collect more or give gold pairs"
_OPPOSED = (
    "Annotators vote against each other with about equal weight, so the ranking may be upside down, however many "
    "votes they cast: give gold pairs, ask a further annotator, or leave out whom you do not trust"
)


@dataclass(frozen=True)
class Obstacle:
    """What keeps more votes like the present ones from bringing the error down.

    kind: ``"opposed"``, ``"random"``, ``"direction"`` (it is open), or ``"tastes"``.
    sentence: What is the matter and what helps, without the full stop.
    lasting: Whether no vote of those who voted changes it.
    error: What the error is then; None where it is the one of the belief.
    """

    kind: str
    sentence: str
    lasting: bool = False
    error: float | None = None


def obstacle_of(belief: Belief, goal: Goal, sign_settled: bool) -> Obstacle | None:
    """Return what is in the way; None if nothing is, or nothing is known of it.

    sign_settled: Whether gold pairs or a trusted annotator determine the direction.
    """
    if goal.name == "verdicts":
        return None
    if not (sign_settled or belief.has_features or np.count_nonzero(decided_votes(belief)) < 2):
        found = _direction(belief, goal)
        if found is not None:
            return found
    result = getattr(belief.model, "result_", None)
    if result is not None and has_tastes(result):
        return Obstacle("tastes", DISAGREE[0].upper() + DISAGREE[1:])
    return None


def _direction(belief: Belief, goal: Goal) -> Obstacle | None:
    """Return what ``check`` finds, where the belief is in doubt or scores fit votes no better than random ones."""
    examination, n_items = Examination(belief.pool.to_comparisons()), len(belief.pool.items)
    if differ_from_random(examination.pair_counts) and orientation_of(belief).settled:
        return None
    direction, guessed = examination.direction, _error_of_guesses(goal, n_items)
    if direction is None:
        return None
    if direction.kind == "random" and n_items > 2:
        return Obstacle("random", like_random(examination.n_decided).rstrip("."), error=guessed)
    if direction.kind == "opposed":
        new = bool((decided_votes(belief) < FEW_VOTES).any())
        return Obstacle("opposed", _OPPOSED, lasting=not new, error=min(guessed, 0.5))
    return Obstacle("direction", _OPEN, error=min(guessed, 0.5)) if direction.kind == "open" else None


def open_direction() -> Obstacle:
    """Return that the direction is open, where the order would be known but for it."""
    return Obstacle("direction", _OPEN)


def _error_of_guesses(goal: Goal, n_items: int) -> float:
    """Return the error of an order at random."""
    return 1.0 - goal.k / n_items if goal.name == "top-k" else 0.5


def decided_votes(belief: Belief) -> FloatArray:
    """Return the decided votes of each annotator."""
    who, _, _, outcome = belief.pool.columns()
    return np.bincount(who, belief.pool.weight * (outcome != TIE), len(belief.pool.annotators)).astype(np.float64)


def orientation_of(belief: Belief) -> Orientation:
    """Return how the votes agree with the scores, by what is believed of the annotators."""
    _, variance = belief.reliability.logit_moments()
    return orientation(belief.reliability.flip, 1.0 / np.maximum(variance, 1e-6), decided_votes(belief))
