"""What a ledger holds, as frozen records, and what may be written to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "OUTCOMES",
    "Annotator",
    "Ask",
    "Close",
    "Event",
    "Item",
    "Lease",
    "Limit",
    "Question",
    "Spending",
    "Undo",
]

Purpose = Literal["vote", "practice", "gold", "repeat"]
Closing = Literal["answered", "skipped", "refused", "unparsable", "failed", "expired"]

PURPOSES = ("vote", "practice", "gold", "repeat")
CLOSINGS = ("answered", "skipped", "refused", "unparsable", "failed", "expired")
OUTCOMES = ("left", "right", "tie", "both_bad")


@dataclass(frozen=True)
class Item:
    """What is shown of an item.

    Attributes
    ----------
    id : str
        The item that is ranked.
    question : str
        The prompt, scene or topic that this content answers; empty where there are no questions.
    text : str, optional
        The text to compare.
    path : str, optional
        The file to compare: an image, a sound, a film.
    media : str
        The media type, such as ``text/plain`` or ``image/png``.
    details : mapping
        Anything else that belongs to it, as JSON.
    retired : bool
        Whether it is no longer asked about.
    """

    id: str
    question: str = ""
    text: str | None = None
    path: str | None = None
    media: str = "text/plain"
    details: Mapping[str, Any] = field(default_factory=dict)
    retired: bool = False


@dataclass(frozen=True)
class Question:
    """A prompt, scene or topic within which items are compared.

    Attributes
    ----------
    id : str
        The name under which votes are kept.
    text : str
        What is shown.
    details : mapping
        Anything else that belongs to it, as JSON.
    """

    id: str
    text: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Annotator:
    """Somebody or something that votes. Personal data live here alone; events hold nothing but the ``id``.

    Attributes
    ----------
    id : str
        The name under which the votes are kept; choose a pseudonym for people.
    kind : str
        ``"person"`` or ``"model"``.
    name : str, optional
        The name to show to the organiser.
    details : mapping
        Settings, as JSON; never a secret.
    revoked : bool
        Whether its token is no longer accepted.
    """

    id: str
    kind: str = "person"
    name: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    revoked: bool = False


@dataclass(frozen=True)
class Event:
    """One line of the ledger; ids rise by one in the order in which events were committed."""

    id: int
    time: float
    kind: str
    key: str
    annotator: str
    left: str
    right: str
    question: str = ""
    criterion: str = ""
    purpose: str = "vote"
    strategy: str = ""
    probability: float | None = None
    refers: int | None = None
    outcome: str | None = None
    strength: float | None = None
    raw: str | None = None
    cost: float | None = None
    seconds: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Lease:
    """A pair that was shown to an annotator and not yet answered."""

    id: int
    annotator: str
    left: str
    right: str
    question: str
    criterion: str
    purpose: str
    key: str
    expires: float
    reserved: float


@dataclass(frozen=True)
class Limit:
    """A hard budget: what is paid and reserved together never exceeds it.

    Attributes
    ----------
    money : float, optional
        For everything in the ledger.
    calls : int, optional
        For requests to judges; pairs that are shown to people do not count.
    """

    money: float | None = None
    calls: int | None = None


@dataclass(frozen=True)
class Spending:
    """What one annotator has cost so far."""

    annotator: str
    asked: int
    answered: int
    spent: float
    reserved: float


@dataclass(frozen=True)
class Ask:
    """Show a pair to an annotator.

    Attributes
    ----------
    seconds : float
        How long the pair stays reserved for this annotator.
    reserve : float
        The most that the answer can cost; taken from the budget until it is known what it did cost.
    """

    annotator: str
    left: str
    right: str
    key: str
    question: str = ""
    criterion: str = ""
    purpose: str = "vote"
    strategy: str = ""
    probability: float | None = None
    seconds: float = 600.0
    reserve: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Close:
    """End a lease: with an answer, or with one of the ways in which there is none.

    Attributes
    ----------
    cost : float, optional
        What it cost; all that was reserved where that is not known.
    """

    lease: int
    kind: str
    key: str
    outcome: str | None = None
    strength: float | None = None
    raw: str | None = None
    cost: float | None = None
    seconds: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Undo:
    """Take back an answer; it stays in the ledger and no longer counts as a vote."""

    event: int
    key: str
