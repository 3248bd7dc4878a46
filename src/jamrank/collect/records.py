"""The records of a ledger, and the operations that write to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PURPOSES = ("vote", "practice", "gold", "repeat")
CLOSINGS = ("answered", "skipped", "refused", "unparsable", "failed", "expired")
OUTCOMES = ("left", "right", "tie", "both_bad")


@dataclass(frozen=True)
class Item:
    """The content of an item.

    Attributes
    ----------
    id : str
        The item that is ranked.
    question : str
        The prompt, scene or topic that this content answers; empty if there are no questions.
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

    id: The name under which votes are kept.
    text: What is shown.
    details: Anything else that belongs to it, as JSON.
    """

    id: str
    text: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Annotator:
    """An annotator: a person or a model. Personal data are only here; events have only the ``id``.

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

    money: Total cost in the ledger.
    calls: For requests to judges; pairs that are shown to people do not count.
    """

    money: float | None = None
    calls: int | None = None


@dataclass(frozen=True)
class Spending:
    """The cost of one annotator so far."""

    annotator: str
    asked: int
    answered: int
    spent: float
    reserved: float


@dataclass(frozen=True)
class Ask:
    """Show a pair to an annotator.

    seconds: Time for which the pair is reserved for this annotator.
    reserve: The largest possible cost of the answer; reserved in the budget until the actual cost is known.
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
    """End a lease: with an answer, or without one.

    cost: Its cost; the reserved amount if unknown.
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
    """Undo an answer; it stays in the ledger and no longer counts as a vote."""

    event: int
    key: str
