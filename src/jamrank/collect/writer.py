"""Operations become events: checked, numbered and written in one transaction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text

from jamrank.collect import schema
from jamrank.collect.records import CLOSINGS, OUTCOMES, PURPOSES, Ask, Close, Event, Limit, Undo
from jamrank.collect.tables import AT_ONCE, related_events, row_of
from jamrank.errors import BudgetError, LedgerError

# Statements are built once: building one takes longer than SQLite needs to execute it.
_LAST_ID = select(func.max(schema.events.c.id))
_PEOPLE = select(schema.annotators.c.id).where(schema.annotators.c.kind == "person")
_SPENT = select(
    select(func.coalesce(func.sum(schema.leases.c.reserved), 0.0)).scalar_subquery(),
    select(func.coalesce(func.sum(schema.totals.c.spent), 0.0)).scalar_subquery(),
    select(func.coalesce(func.sum(schema.totals.c.asked), 0))
    .where(schema.totals.c.annotator.not_in(_PEOPLE))
    .scalar_subquery(),
)
_ADD_EVENTS, _ADD_LEASES = insert(schema.events), insert(schema.leases)
_END_LEASES = delete(schema.leases).where(schema.leases.c.id.in_(bindparam("ended", expanding=True)))

_ADD_TOTALS = text(
    "INSERT INTO totals (annotator, asked, answered, spent) VALUES (:annotator, :asked, :answered, :spent) "
    "ON CONFLICT (annotator) DO UPDATE SET asked = totals.asked + excluded.asked, "
    "answered = totals.answered + excluded.answered, spent = totals.spent + excluded.spent"
)
# A person may undo a skip too; comparisons that a judge failed to answer are asked again.
_UNDOABLE = ("answered", "skipped")
# An answer after the lease has expired still counts.
_FINAL = tuple(kind for kind in CLOSINGS if kind != "expired")


def record(
    connection: Connection,
    operations: Sequence[Ask | Close | Undo],
    limit: Limit | None,
    now: float,
    last_id: int | None = None,
) -> list[Event | LedgerError]:
    """Write operations in an exclusive transaction; see :meth:`Ledger.record`.

    last_id: Of the newest event, if the caller has read it in this transaction.
    """
    last_id = (connection.scalar(_LAST_ID) or 0) if last_id is None else last_id
    batch = _Batch(connection, operations, limit, now, last_id)
    results = [batch.add(operation) for operation in operations]
    batch.write(connection)
    return results


class _Batch:
    """Operations of one transaction: their context is read first, their events are written last."""

    def __init__(
        self,
        connection: Connection,
        operations: Sequence[Ask | Close | Undo],
        limit: Limit | None,
        now: float,
        last_id: int,
    ) -> None:
        self.limit, self.now = limit or Limit(), now
        self.next_id = 1 + last_id
        targets = {
            operation.lease if isinstance(operation, Close) else operation.event
            for operation in operations
            if not isinstance(operation, Ask)
        }
        self.by_key: dict[str, Event] = {}
        self.by_id: dict[int, Event] = {}
        self.referring: dict[int, list[Event]] = {}
        for event in related_events(connection, {operation.key for operation in operations}, targets):
            self._know(event)
        self.held = self.spent = 0.0
        self.calls, self.people = 0, frozenset[str]()
        if self.limit != Limit():
            self.held, self.spent, self.calls = connection.execute(_SPENT).one()
            self.people = frozenset(connection.scalars(_PEOPLE))
        self.new: list[Event] = []
        self.opened: dict[int, dict[str, Any]] = {}
        self.closed: set[int] = set()
        self.changes: dict[str, list[float]] = {}

    def _know(self, event: Event) -> None:
        if event.id in self.by_id:
            return
        self.by_key[event.key] = self.by_id[event.id] = event
        if event.refers is not None:
            self.referring.setdefault(event.refers, []).append(event)

    def add(self, operation: Ask | Close | Undo) -> Event | LedgerError:
        """Check one operation and queue its events; for a repeated one, return the earlier event."""
        written = self.by_key.get(operation.key)
        if written is not None:
            return written
        try:
            if isinstance(operation, Ask):
                return self._ask(operation)
            return self._close(operation) if isinstance(operation, Close) else self._undo(operation)
        except LedgerError as error:
            return error

    def _ask(self, ask: Ask) -> Event:
        _check_ask(ask)
        self._check_budget(ask)
        values = {name: getattr(ask, name) for name in ("annotator", "left", "right", "question", "criterion")}
        values |= {"purpose": ask.purpose, "key": ask.key}
        tells = ask.reserve or "reserved" in ask.details
        details = {**ask.details, "reserved": ask.reserve} if tells else ask.details
        event = self._append(
            kind="asked", strategy=ask.strategy, probability=ask.probability, details=details, **values
        )
        self.opened[event.id] = {
            **values,
            "id": event.id,
            "expires": self.now + ask.seconds,
            "reserved": ask.reserve,
        }
        self.held += ask.reserve
        self.calls += ask.annotator not in self.people
        self._change(ask.annotator, asked=1)
        return event

    def _check_budget(self, ask: Ask) -> None:
        limit = self.limit
        if limit.calls is not None and self.calls + 1 > limit.calls:
            raise BudgetError(f"the budget of {limit.calls:,} calls is spent")
        held = self.spent + self.held
        # Tolerance for rounding, where the sum equals the budget.
        if limit.money is not None and held + ask.reserve > limit.money * (1 + 1e-12):
            raise BudgetError(
                f"the budget of {limit.money:g} has {max(limit.money - held, 0):.4g} left, "
                f"and the next request may cost {ask.reserve:.4g}"
            )

    def _close(self, close: Close) -> Event:
        asked = self.by_id.get(close.lease)
        if asked is None or asked.kind != "asked":
            raise LedgerError(f"no lease {close.lease} in this ledger")
        _check_close(close)
        earlier = self.referring.get(close.lease, [])
        ended = [event for event in earlier if event.kind in _FINAL]
        if ended:
            raise LedgerError(f"lease {close.lease} is {ended[0].kind} already")
        expired = any(event.kind == "expired" for event in earlier)
        held = 0.0 if expired else float(asked.details.get("reserved", 0.0))
        # The reservation of an expired lease was counted as paid.
        paid = math.fsum(event.cost or 0.0 for event in earlier)
        cost = close.cost if close.cost is not None else paid if expired else held
        self.held -= held
        event = self._append(
            kind=close.kind,
            refers=close.lease,
            outcome=close.outcome,
            strength=close.strength,
            raw=close.raw,
            cost=cost,
            seconds=close.seconds,
            details=close.details,
            key=close.key,
            **_shared(asked),
        )
        self.closed.add(close.lease)
        self.opened.pop(close.lease, None)
        self.spent += cost - paid
        self._change(asked.annotator, answered=close.kind == "answered", spent=cost - paid)
        return event

    def _undo(self, undo: Undo) -> Event:
        target = self.by_id.get(undo.event)
        if target is None or target.kind not in _UNDOABLE:
            raise LedgerError(f"event {undo.event} is not an answer that can be undone")
        if any(event.kind == "undone" for event in self.referring.get(undo.event, [])):
            raise LedgerError(f"event {undo.event} is undone already")
        if target.kind == "answered":
            self._change(target.annotator, answered=-1)
        return self._append(kind="undone", refers=target.id, key=undo.key, **_shared(target))

    def _append(self, **values: Any) -> Event:
        event = Event(id=self.next_id, time=self.now, **values)
        self.next_id += 1
        self.new.append(event)
        self._know(event)
        return event

    def _change(self, annotator: str, asked: int = 0, answered: int = 0, spent: float = 0.0) -> None:
        change = self.changes.setdefault(annotator, [0, 0, 0.0])
        change[0] += asked
        change[1] += answered
        change[2] += spent

    def write(self, connection: Connection) -> None:
        """Write all queued events."""
        if self.new:
            connection.execute(_ADD_EVENTS, [row_of(event) for event in self.new])
        ended = sorted(self.closed)
        for start in range(0, len(ended), AT_ONCE):
            connection.execute(_END_LEASES, {"ended": ended[start : start + AT_ONCE]})
        if self.opened:
            connection.execute(_ADD_LEASES, list(self.opened.values()))
        if self.changes:
            changed = [
                {"annotator": who, "asked": int(asked), "answered": int(answered), "spent": float(spent)}
                for who, (asked, answered, spent) in self.changes.items()
            ]
            connection.execute(_ADD_TOTALS, changed)


def _shared(event: Event) -> dict[str, Any]:
    names = ("annotator", "left", "right", "question", "criterion", "purpose", "strategy", "probability")
    return {name: getattr(event, name) for name in names}


def _check_ask(ask: Ask) -> None:
    if ask.left == ask.right:
        raise LedgerError(f"{ask.left!r} is compared with itself; left and right must be different items")
    if ask.purpose not in PURPOSES:
        raise LedgerError(f"the purpose is {ask.purpose!r}; expected one of {', '.join(PURPOSES)}")
    if not (math.isfinite(ask.reserve) and ask.reserve >= 0 and math.isfinite(ask.seconds)):
        raise LedgerError(f"reserve is {ask.reserve!r}; expected a number of at least 0")


def _check_close(close: Close) -> None:
    if close.kind not in CLOSINGS:
        raise LedgerError(f"a lease cannot be {close.kind!r}; expected one of {', '.join(CLOSINGS)}")
    if (close.outcome is not None) != (close.kind == "answered"):
        raise LedgerError(f"outcome {close.outcome!r} with {close.kind!r}; answers have an outcome, others none")
    if close.outcome is not None and close.outcome not in OUTCOMES:
        raise LedgerError(f"the outcome is {close.outcome!r}; expected one of {', '.join(OUTCOMES)}")
    if close.strength is not None and not 0 <= close.strength <= 1:
        raise LedgerError(f"the strength is {close.strength!r}; expected a number from 0 to 1")
    if close.cost is not None and not (math.isfinite(close.cost) and close.cost >= 0):
        raise LedgerError(f"the cost is {close.cost!r}; expected a number of at least 0")
