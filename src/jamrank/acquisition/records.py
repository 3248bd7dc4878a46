"""What a chooser hands out: an assignment, and where the collection stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["STATES", "Assignment", "Status"]

# In the order of their exit codes: 0, 10, 11 and 12.
STATES = ("go", "reached", "futile", "budget spent")


@dataclass(frozen=True)
class Assignment:
    """One comparison to ask for.

    Attributes
    ----------
    annotator : id
        Who is asked.
    left, right : id
        The items, on the sides on which they are to be shown.
    question : id or None
        Within which question; None where there is only one.
    gain : float
        What the vote is worth: expected information on what the goal needs, in nats.
    probability : float
        With which this annotator and pair were chosen, given what was known.
    strategy : str
        Which part chose: the strategy, ``explore`` for a pair drawn at random, ``easy`` for an easy one.
    why : str
        The reason, in a plain sentence.
    """

    annotator: Any
    left: Any
    right: Any
    question: Any
    gain: float
    probability: float
    strategy: str
    why: str


@dataclass(frozen=True)
class Status:
    """Where a collection of votes stands.

    Attributes
    ----------
    state : {"go", "reached", "futile", "budget spent"}
        Whether to ask on.
    reason : str
        Why, in a plain sentence.
    expected_error : float
        Error to be expected of what the goal asks for, by the posterior: the share of pairs in the wrong order, of
        the top that does not belong there, of items on the wrong side of the threshold, of verdicts that are wrong.
    votes_needed : float or None
        About how many votes more bring the error to the target; None where it is out of reach or not known.
    cost_needed : float or None
        What these cost, at the mean cost of a vote.
    sign_open : bool
        Whether it is open which way the votes as a whole point.
    votes, cost : float
        So far.
    """

    state: str
    reason: str
    expected_error: float
    votes_needed: float | None
    cost_needed: float | None
    sign_open: bool
    votes: float = 0.0
    cost: float = 0.0
