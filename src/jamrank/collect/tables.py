"""Rows of the ledger's tables as records, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Table, bindparam, func, insert, or_, select, update

from jamrank.collect import schema
from jamrank.collect.records import Annotator, Event, Item, Lease, Question, Spending
from jamrank.errors import LedgerError

Record = TypeVar("Record", Item, Question, Annotator)
# Values of one statement: databases have a limit.
AT_ONCE = 500
_RELATED = select(*(column for column in schema.events.c if column.name != "raw")).where(
    or_(
        schema.events.c.key.in_(bindparam("keys", expanding=True)),
        schema.events.c.id.in_(bindparam("ids", expanding=True)),
        schema.events.c.refers.in_(bindparam("ids", expanding=True)),
    )
)


def put(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows in their order, or update those that are there."""
    ids = list(table.primary_key.columns)

    def key_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[column.name] for column in ids)

    there = {tuple(row) for row in connection.execute(select(*ids))}
    for row in rows:
        if key_of(row) in there:
            which = [column == row[column.name] for column in ids]
            connection.execute(update(table).where(*which).values(**row))
    new = {key_of(row): row for row in rows if key_of(row) not in there}
    last = connection.scalar(select(func.coalesce(func.max(table.c.place), 0))) or 0
    placed = [{**row, "place": place} for place, row in enumerate(new.values(), last + 1)]
    if placed:
        connection.execute(insert(table), placed)


def change_annotator(connection: Connection, annotator: str, **values: Any) -> None:
    """Change the record of an annotator."""
    table = schema.annotators
    if not connection.execute(update(table).where(table.c.id == annotator).values(**values)).rowcount:
        raise LedgerError(f"no annotator {annotator!r} in this ledger")


def spending(connection: Connection) -> list[Spending]:
    """Return what each annotator has cost."""
    leases, totals = schema.leases, schema.totals
    sums = select(leases.c.annotator, func.sum(leases.c.reserved)).group_by(leases.c.annotator)
    held = {annotator: float(reserved) for annotator, reserved in connection.execute(sums)}
    rows = connection.execute(select(totals).order_by(totals.c.annotator)).all()
    return [Spending(r.annotator, r.asked, r.answered, r.spent, held.get(r.annotator, 0.0)) for r in rows]


def row_of(record: Item | Question | Annotator | Event) -> dict[str, Any]:
    """Return the row of a record."""
    return {**vars(record), "details": json.dumps(dict(record.details))}


def record_of(kind: type[Record], row: RowMapping) -> Record:
    """Return the record of a row."""
    values = {each.name: row[each.name] for each in fields(kind)}
    return kind(**{**values, "details": json.loads(row["details"])})


def event_of(row: RowMapping) -> Event:
    """Return the event of a row."""
    values = {str(name): value for name, value in row.items()}
    return Event(**{**values, "details": json.loads(row["details"])})


def events_with_keys(connection: Connection, keys: Iterable[str]) -> dict[str, Event]:
    """Return the events, without replies, that have one of some keys; by key."""
    return {event.key: event for event in related_events(connection, set(keys), set())}


def related_events(connection: Connection, keys: set[str], ids: set[int]) -> Iterator[Event]:
    """Yield the events, without replies, that have one of some keys or ids, or refer to one of the ids."""
    names, numbers = sorted(keys), sorted(ids)
    for start in range(0, max(len(names), len(numbers)), AT_ONCE):
        # An id of 0 does not exist.
        wanted = {
            "keys": names[start : start + AT_ONCE] or [""],
            "ids": numbers[start : start + AT_ONCE] or [0],
        }
        for row in connection.execute(_RELATED, wanted).mappings():
            yield event_of(row)


def lease_of(event: Event, expires: float, reserved: float) -> Lease:
    """Return the lease that an event opened."""
    names = ("id", "annotator", "left", "right", "question", "criterion", "purpose", "key")
    return Lease(**{name: getattr(event, name) for name in names}, expires=expires, reserved=reserved)


def hashed(token: str) -> str:
    """Return the hash of a token; tokens are random and need no slower hash."""
    return hashlib.sha256(token.encode()).hexdigest()
