"""Assignments, and the status of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# In the order of their exit codes: 0, 10, 11 and 12.
STATES = ("go", "reached", "futile", "budget spent")


@dataclass(frozen=True)
class Assignment:
    """One comparison to ask for.

    Attributes
    ----------
    annotator : id
        The annotator.
    left, right : id
        The items, on the sides on which they are shown.
    question : id or None
        The question; None if there is only one.
    gain : float
        Value of the vote: expected information on the goal, in nats.
    probability : float
        Probability with which this annotator and pair were chosen.
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
    """The status of a collection.

    Attributes
    ----------
    state : {"go", "reached", "futile", "budget spent"}
        Whether to continue.
    reason : str
        Why, in a plain sentence.
    expected_error : float
        Expected error of the goal, by the posterior: the share of pairs in the wrong order, of
        the top that does not belong there, of items on the wrong side of the threshold, of verdicts that are wrong.
    votes_needed : float or None
        Approximate number of further votes to the target; None if it is out of reach or unknown.
    cost_needed : float or None
        Their cost, at the mean cost of a vote.
    sign_open : bool
        Whether the orientation of the votes is undetermined.
    votes, cost : float
        So far.
    obstacle : {"", "opposed", "random", "direction", "tastes"}
        What more votes like the present ones do not overcome, so that their number is not known: annotators who
        balance each other, votes like random ones, a direction that is open otherwise, tastes of the annotators.
    """

    state: str
    reason: str
    expected_error: float
    votes_needed: float | None
    cost_needed: float | None
    sign_open: bool
    votes: float = 0.0
    cost: float = 0.0
    obstacle: str = ""
