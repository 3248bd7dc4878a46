"""What each judge was asked and answered, read from the ledger's events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from jamrank.collect.schema import events

_ENDED = {"answered", "skipped", "refused", "unparsable", "failed"}
# A page holds this many pairs: the one on the screen and the next. More would last longer without a network, but
# pairs chosen long before the answer are less informative.
AHEAD = 2
# How the keys of pairs begin that are asked again after an undo; they are shown before all others.
AGAIN = "again-"
_MOST_KNOWN = 20_000


@dataclass(slots=True)
class Asked:
    """A pair that was shown to a judge, and its outcome."""

    id: int
    key: str
    left: str
    right: str
    criterion: str
    purpose: str
    strategy: str
    ended: str = ""
    outcome: str | None = None
    answer: int = 0
    undone: bool = False

    @property
    def pair(self) -> tuple[str, str, str]:
        """The pair in canonical order, with its criterion."""
        return (min(self.left, self.right), max(self.left, self.right), self.criterion)


@dataclass
class History:
    """All pairs shown to one judge, in order.

    asked: All of them.
    counted: Number of those that are not practice.
    done: How many answered pairs, including skipped ones, count towards the votes of the judge.
    """

    judge: str
    asked: list[Asked] = field(default_factory=list)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)
    counted: int = 0
    done: int = 0
    _by_id: dict[int, Asked] = field(default_factory=dict)
    _by_key: dict[str, Asked] = field(default_factory=dict)
    _open: dict[int, Asked] = field(default_factory=dict)
    _valid: dict[int, Asked] = field(default_factory=dict)

    def add(self, event: Any) -> None:
        """Add an event of the judge."""
        if event.kind == "asked":
            one = Asked(event.id, event.key, event.left, event.right, event.criterion, event.purpose, event.strategy)
            self.asked.append(one)
            self.pairs.add(one.pair)
            self.counted += one.purpose != "practice"
            self._by_id[one.id] = self._by_key[one.key] = self._open[one.id] = one
        elif event.kind in _ENDED and event.refers in self._by_id:
            one = self._by_id[event.refers]
            one.ended, one.outcome, one.answer = event.kind, event.outcome, event.id
            self.done += one.purpose != "practice"
            self._open.pop(one.id, None)
            self._valid[event.id] = one
        elif event.kind == "undone" and event.refers in self._valid:
            one = self._valid.pop(event.refers)
            one.undone = True
            self.done -= one.purpose != "practice"

    @property
    def open(self) -> list[Asked]:
        """Pairs without an answer, in the order in which they are to be shown.

        A pair whose lease has expired stays open for its judge: the answer may wait in a browser without network.
        """
        return sorted(self._open.values(), key=lambda one: (not one.key.startswith(AGAIN), one.id))

    @property
    def answered(self) -> list[Asked]:
        """Pairs with a valid answer, including skipped ones."""
        return [one for one in self.asked if one.ended and not one.undone]

    @property
    def last_answered(self) -> Asked | None:
        """The answer that an undo would cancel; events come in the order of their ids."""
        return next(reversed(self._valid.values()), None)

    def find(self, key: str) -> Asked | None:
        """Return what was shown under a key."""
        return self._by_key.get(key)


_COLUMNS = [
    events.c[name]
    for name in (
        "id",
        "annotator",
        "kind",
        "key",
        "left",
        "right",
        "criterion",
        "purpose",
        "strategy",
        "refers",
        "outcome",
    )
]


_SINCE = select(*_COLUMNS).where(events.c.id > bindparam("last_id")).order_by(events.c.id)


def read_history(connection: Connection, judge: str) -> History:
    """Read the history of a judge from the ledger."""
    history = History(judge)
    for row in connection.execute(select(*_COLUMNS).where(events.c.annotator == judge).order_by(events.c.id)):
        history.add(row)
    return history


class Histories:
    """Cached histories for the writing thread, which reads only events of other processes.

    last_id: Of the newest event that was read or written; -1 if nothing is cached.
    """

    def __init__(self) -> None:
        self._known: dict[str, History] = {}
        self.last_id = -1

    def of(self, connection: Connection, judges: Sequence[str]) -> dict[str, History]:
        """Return the histories of some judges, as of this transaction."""
        if self.last_id < 0 or len(self._known) > _MOST_KNOWN:
            self.forget()
            self.last_id = connection.scalar(select(func.max(events.c.id))) or 0
        else:
            self.add(connection.execute(_SINCE, {"last_id": self.last_id}))
        for judge in judges:
            if judge not in self._known:
                self._known[judge] = read_history(connection, judge)
        return {judge: self._known[judge] for judge in judges}

    def add(self, new: Iterable[Any]) -> None:
        """Add events in their order, own ones or those of other processes."""
        for event in new:
            if event.id > self.last_id:
                self.last_id = event.id
                if event.annotator in self._known:
                    self._known[event.annotator].add(event)

    def forget(self) -> None:
        """Clear the cache after a failed transaction."""
        self._known.clear()
        self.last_id = -1
