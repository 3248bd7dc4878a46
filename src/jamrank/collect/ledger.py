"""The ledger: an append-only record of what was asked, answered, skipped, failed and undone."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from sqlalchemy import Engine, delete, insert, select, update

from jamrank.collect import schema
from jamrank.collect.database import locate, only_writer, open_engine, reading, safe_name, writing
from jamrank.collect.records import Annotator, Ask, Close, Event, Item, Lease, Limit, Question, Spending, Undo
from jamrank.collect.tables import (
    change_annotator,
    event_of,
    events_with_keys,
    hashed,
    lease_of,
    put,
    record_of,
    row_of,
    spending,
)
from jamrank.collect.votes import COUNTED, votes_frame
from jamrank.collect.writer import record
from jamrank.errors import LedgerError

if TYPE_CHECKING:
    import polars as pl

_BATCH = 2_000


class ReplyDetails(TypedDict, total=False):
    """What may be recorded with the end of a lease."""

    key: str | None
    raw: str | None
    cost: float | None
    seconds: float | None
    details: Mapping[str, Any] | None


def open_ledger(
    where: str | os.PathLike[str], *, create: bool = True, clock: Callable[[], float] = time.time
) -> Ledger:
    """Open a ledger of votes, or create one.

    Parameters
    ----------
    where : path-like or str
        An SQLite file, or the URL of a PostgreSQL database (``postgresql://user:password@host/name``).
    create : bool
        Whether to create the ledger if there is none.
    clock : callable
        The time in seconds since 1970.

    Returns
    -------
    Ledger
        Close it, or use it in a ``with`` block.

    Raises
    ------
    LedgerError
        If the database cannot be opened, is not a ledger, or was written by a newer jamrank.
    """
    url = locate(where)
    engine = open_engine(url, create=create)
    try:
        with writing(engine) as connection:
            schema.prepare(connection, create=create)
    except LedgerError as error:
        engine.dispose()
        name = safe_name(url)
        raise error if str(error).startswith(name) else LedgerError(f"{name}: {error}") from None
    return Ledger(engine, clock)


class Ledger:
    """An open ledger; see :func:`open_ledger`.

    Several threads and several processes may use one ledger. What a method has written is on disk when it returns;
    repeating a write with the same key has no effect.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._engine, self._clock = engine, clock

    def __repr__(self) -> str:
        return f"Ledger({self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The path, or the URL without its password."""
        return safe_name(self._engine.url)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def exclusive(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Lock one kind of work on this ledger against other processes, until the block or the process ends.

        Parameters
        ----------
        what : str
            The kind of work, such as ``"jury"``.

        Raises
        ------
        LedgerError
            If another process holds the lock.
        """
        return only_writer(self._engine, what)

    # What is asked, answered and undone

    def record(
        self, operations: Sequence[Ask | Close | Undo], limit: Limit | None = None
    ) -> list[Event | LedgerError]:
        """Write several operations in one transaction.

        Parameters
        ----------
        operations : sequence of Ask, Close or Undo
            What to write, in this order.
        limit : Limit, optional
            The budget. An :class:`Ask` that would exceed it is not written.

        Returns
        -------
        list of Event or LedgerError
            For each operation, what is now in the ledger (for a repeated operation, what was written first), or why
            it was not written.
        """
        if not operations:
            return []
        with writing(self._engine) as connection:
            return record(connection, operations, limit, self._clock())

    def _record_one(self, operation: Ask | Close | Undo, limit: Limit | None = None) -> Event:
        (event,) = self.record([operation], limit)
        if isinstance(event, LedgerError):
            raise event
        return event

    def lease(
        self,
        annotator: str,
        left: str,
        right: str,
        question: str = "",
        criterion: str = "",
        *,
        key: str | None = None,
        purpose: str = "vote",
        strategy: str = "",
        probability: float | None = None,
        seconds: float = 600.0,
        reserve: float = 0.0,
        limit: Limit | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Lease:
        """Record that a pair is shown to an annotator; see :class:`Ask`."""
        about = key or secrets.token_hex(16), question, criterion, purpose, strategy, probability
        ask = Ask(annotator, left, right, *about, seconds, reserve, details or {})
        event = self._record_one(ask, limit)
        return lease_of(event, event.time + seconds, reserve)

    def answer(
        self, lease: int, outcome: str, *, strength: float | None = None, **reply: Unpack[ReplyDetails]
    ) -> Event:
        """Record the answer to a lease, also after the lease has expired; see :class:`Close`.

        Parameters
        ----------
        lease : int
            The ``id`` of the lease.
        outcome : {"left", "right", "tie", "both_bad"}
            Which side was better.
        strength : float, optional
            How clearly, from 0 to 1.
        **reply
            Any of ``key`` (identifies repeated calls; by default a lease has one answer), ``raw`` (the raw reply),
            ``cost`` (by default the reserved amount), ``seconds`` (duration) and ``details`` (anything else, as JSON;
            nothing personal, since events cannot be deleted).
        """
        return self._close(lease, "answered", reply, outcome=outcome, strength=strength)

    def end(self, lease: int, kind: str, **reply: Unpack[ReplyDetails]) -> Event:
        """Record that a lease ended without a vote.

        Parameters
        ----------
        lease, **reply
            As in :meth:`answer`.
        kind : {"skipped", "refused", "unparsable", "failed", "expired"}
            Skipped by a person, refused by a judge, a reply without a verdict, no reply, or expired.
        """
        return self._close(lease, kind, reply)

    def _close(self, lease: int, kind: str, reply: ReplyDetails, **outcome: Any) -> Event:
        given = {name: value for name, value in reply.items() if value is not None}
        return self._record_one(Close(lease, kind, **{"key": f"close:{lease}", **given, **outcome}))

    def skip(self, lease: int, *, key: str | None = None, seconds: float | None = None) -> Event:
        """Record that a person skipped a pair."""
        return self.end(lease, "skipped", key=key, cost=0.0, seconds=seconds)

    def undo(self, event: int, *, key: str | None = None) -> Event:
        """Undo an answer or a skip; :meth:`last_of` returns the last one of an annotator."""
        return self._record_one(Undo(event, key or f"undo:{event}"))

    def expire(self, leases: Iterable[Lease] | None = None) -> list[Event]:
        """End leases without an answer, and count what was reserved for them as paid.

        Parameters
        ----------
        leases : iterable of Lease, optional
            By default those that have expired.
        """
        over = self.leases(expired=True) if leases is None else leases
        ended = self.record([Close(lease.id, "expired", f"expire:{lease.id}") for lease in over])
        return [event for event in ended if isinstance(event, Event)]

    def leases(self, annotator: str | None = None, *, expired: bool | None = None) -> list[Lease]:
        """Return the pairs that were shown and not answered.

        Parameters
        ----------
        annotator : str, optional
            Those of one annotator.
        expired : bool, optional
            Only those that have (True) or have not (False) expired.
        """
        query = select(schema.leases).order_by(schema.leases.c.id)
        if annotator is not None:
            query = query.where(schema.leases.c.annotator == annotator)
        if expired is not None:
            over = schema.leases.c.expires <= self._clock()
            query = query.where(over if expired else ~over)
        with reading(self._engine) as connection:
            return [Lease(**row) for row in connection.execute(query).mappings()]

    def last_of(self, annotator: str) -> Event | None:
        """Return the last answer or skip of an annotator that was not undone."""
        table, undone = schema.events, schema.events.alias("undone")
        query = (
            select(table)
            .where(table.c.annotator == annotator, table.c.kind.in_(("answered", "skipped")))
            .where(~select(undone.c.id).where(undone.c.refers == table.c.id, undone.c.kind == "undone").exists())
            .order_by(table.c.id.desc())
            .limit(1)
        )
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().first()
            return None if row is None else event_of(row)

    def with_keys(self, keys: Iterable[str]) -> dict[str, Event]:
        """Return the events that have one of some keys, by key; without the replies."""
        with reading(self._engine) as connection:
            return events_with_keys(connection, keys)

    def events(self, after: int = 0, kinds: Sequence[str] = (), *, raw: bool = True) -> Iterator[Event]:
        """Yield events in their order, a few thousand at a time.

        Parameters
        ----------
        after : int
            Only those with a larger id. No event that is committed later has a smaller one.
        kinds : sequence of str
            Only those of these kinds.
        raw : bool
            Whether to read the replies too.
        """
        columns = [column for column in schema.events.c if raw or column.name != "raw"]
        query = select(*columns).order_by(schema.events.c.id).limit(_BATCH)
        if kinds:
            query = query.where(schema.events.c.kind.in_(tuple(kinds)))
        while True:
            with reading(self._engine) as connection:
                batch = [
                    event_of(row) for row in connection.execute(query.where(schema.events.c.id > after)).mappings()
                ]
            yield from batch
            if len(batch) < _BATCH:
                return
            after = batch[-1].id

    def votes(self, *, purposes: Sequence[str] = COUNTED, after: int = 0) -> pl.DataFrame:
        """Return the votes that were not undone, in their order; ``Comparisons.from_frame`` takes them.

        Parameters
        ----------
        purposes : sequence of {"vote", "practice", "gold", "repeat"}
            Which answers count; by default all but practice.
        after : int
            Only answers whose event has a larger id.

        Returns
        -------
        polars.DataFrame
            ``annotator``, ``left``, ``right``, ``winner``, ``weight``, ``question``, ``criterion``, ``time`` (seconds
            since 1970), ``order`` (the id of the event), ``chosen_by`` and ``chosen_probability`` (the strategy that
            chose the pair, and with which probability), ``strength``, ``purpose``, ``seconds`` and ``cost``.
        """
        with reading(self._engine) as connection:
            return votes_frame(connection, purposes, after)

    def spending(self) -> list[Spending]:
        """Return the requests, answers, costs and reservations of each annotator."""
        with reading(self._engine) as connection:
            return spending(connection)

    # Items and annotators

    def add_items(self, items: Iterable[Item]) -> None:
        """Add items, or replace their content; details that are not given stay, such as those of a study."""
        with writing(self._engine) as connection:
            known = select(schema.items.c.id, schema.items.c.question, schema.items.c.details)
            kept = {(name, question): json.loads(details) for name, question, details in connection.execute(known)}
            merged = (replace(one, details={**kept.get((one.id, one.question), {}), **one.details}) for one in items)
            put(connection, schema.items, [row_of(item) for item in merged])

    def items(self) -> list[Item]:
        """Return the items, in the order in which they were added."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(schema.items).order_by(schema.items.c.place)).mappings()
            return [record_of(Item, row) for row in rows]

    def retire_item(self, item: str, question: str | None = None, *, retired: bool = True) -> None:
        """Stop asking about an item (or ask again); its votes stay."""
        table = schema.items
        where = [table.c.id == item, *([] if question is None else [table.c.question == question])]
        with writing(self._engine) as connection:
            if not connection.execute(update(table).where(*where).values(retired=retired)).rowcount:
                raise LedgerError(f"no item {item!r} in this ledger")

    def add_questions(self, questions: Iterable[Question]) -> None:
        """Add questions, or replace their texts."""
        with writing(self._engine) as connection:
            put(connection, schema.questions, [row_of(question) for question in questions])

    def questions(self) -> list[Question]:
        """Return the questions, in the order in which they were added."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(schema.questions).order_by(schema.questions.c.place)).mappings()
            return [record_of(Question, row) for row in rows]

    def add_annotator(self, annotator: Annotator, token: str | None = None) -> None:
        """Add an annotator, or replace its record; a token is stored only as a hash."""
        row = row_of(annotator) | ({} if token is None else {"token_hash": hashed(token)})
        with writing(self._engine) as connection:
            put(connection, schema.annotators, [row])

    def annotators(self) -> list[Annotator]:
        """Return the annotators, in the order in which they were added."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(schema.annotators).order_by(schema.annotators.c.place)).mappings()
            return [record_of(Annotator, row) for row in rows]

    def annotator_with(self, token: str) -> Annotator | None:
        """Return the annotator with this token, unless it was revoked."""
        table = schema.annotators
        with reading(self._engine) as connection:
            found = connection.execute(select(table).where(table.c.token_hash == hashed(token))).mappings().first()
            return None if found is None or found["revoked"] else record_of(Annotator, found)

    def revoke(self, annotator: str) -> None:
        """Revoke the token of an annotator; the votes stay."""
        with writing(self._engine) as connection:
            change_annotator(connection, annotator, revoked=True)

    def forget(self, annotator: str) -> None:
        """Delete the personal data of an annotator; the votes stay under the id."""
        with writing(self._engine) as connection:
            change_annotator(connection, annotator, revoked=True, name=None, token_hash=None, details="{}")

    # Settings and copies

    def setting(self, name: str) -> Any:
        """Return a setting of the ledger; None if there is none."""
        query = select(schema.meta.c.value).where(schema.meta.c.key == f"setting:{name}")
        with reading(self._engine) as connection:
            value = connection.scalar(query)
            return None if value is None else json.loads(value)

    def set_setting(self, name: str, value: Any) -> None:
        """Store a setting in the ledger, as JSON; never a secret."""
        key = f"setting:{name}"
        with writing(self._engine) as connection:
            connection.execute(delete(schema.meta).where(schema.meta.c.key == key))
            connection.execute(insert(schema.meta), {"key": key, "value": json.dumps(value)})

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the current state of the ledger to a new SQLite file.

        Raises
        ------
        LedgerError
            If the file exists already.
        """
        target = Path(path)
        if target.exists():
            raise LedgerError(f"{target}: the file exists; choose another name")
        unfinished = target.with_name(f".jamrank-{secrets.token_hex(8)}.tmp")
        try:
            with open_ledger(unfinished) as copy, reading(self._engine) as source, writing(copy._engine) as goal:
                goal.execute(delete(schema.meta))
                for table in schema.metadata.sorted_tables:
                    for part in source.execute(select(table)).mappings().partitions(_BATCH):
                        goal.execute(insert(table), [dict(row) for row in part])
            unfinished.rename(target)
        finally:
            unfinished.unlink(missing_ok=True)
