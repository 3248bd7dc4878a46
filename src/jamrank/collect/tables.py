"""Rows of the ledger's tables as records, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, func, insert, select, update

from jamrank.collect import schema
from jamrank.collect.records import Annotator, Event, Item, Lease, Spending
from jamrank.errors import LedgerError

__all__ = [
    "annotator_of",
    "annotator_row",
    "change_annotator",
    "event_of",
    "events_where",
    "hashed",
    "item_of",
    "item_row",
    "lease_of",
    "put",
    "spending",
]


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


def item_row(item: Item) -> dict[str, Any]:
    """Return the row of an item."""
    return {
        "id": item.id,
        "question": item.question,
        "text": item.text,
        "path": item.path,
        "media": item.media,
        "details": json.dumps(dict(item.details)),
        "retired": item.retired,
    }


def item_of(row: RowMapping) -> Item:
    """Return the item of a row."""
    names = ("id", "question", "text", "path", "media", "retired")
    return Item(**{name: row[name] for name in names}, details=json.loads(row["details"]))


def annotator_row(annotator: Annotator, token: str | None) -> dict[str, Any]:
    """Return the row of an annotator; the token is hashed, and unchanged if none is given."""
    row = {
        "id": annotator.id,
        "kind": annotator.kind,
        "name": annotator.name,
        "details": json.dumps(dict(annotator.details)),
        "revoked": annotator.revoked,
    }
    return row if token is None else row | {"token_hash": hashed(token)}


def annotator_of(row: RowMapping) -> Annotator:
    """Return the annotator of a row."""
    return Annotator(row["id"], row["kind"], row["name"], json.loads(row["details"]), row["revoked"])


def event_of(row: RowMapping) -> Event:
    """Return the event of a row."""
    values = {str(name): value for name, value in row.items()}
    return Event(**{**values, "details": json.loads(row["details"])})


def events_where(connection: Connection, column: Any, values: set[Any]) -> dict[str, Event]:
    """Return the events, without replies, whose column has one of some values; by key."""
    found: dict[str, Event] = {}
    wanted, columns = list(values), [column for column in schema.events.c if column.name != "raw"]
    for start in range(0, len(wanted), 500):
        query = select(*columns).where(column.in_(wanted[start : start + 500]))
        for row in connection.execute(query).mappings():
            found[row["key"]] = event_of(row)
    return found


def lease_of(event: Event, expires: float, reserved: float) -> Lease:
    """Return the lease that an event opened."""
    names = ("id", "annotator", "left", "right", "question", "criterion", "purpose", "key")
    return Lease(**{name: getattr(event, name) for name in names}, expires=expires, reserved=reserved)


def hashed(token: str) -> str:
    """Return the hash of a token; tokens are random and need no slower hash."""
    return hashlib.sha256(token.encode()).hexdigest()
