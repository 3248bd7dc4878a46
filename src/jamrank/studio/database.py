"""The database of the server: concurrent reads, and one writing thread that commits several writes at once.

A commit waits for the disk, which may take longer than the rest of a request. So waiting writes share one
transaction, and all are answered when it is on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import time
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, bindparam, delete, select

from jamrank.collect.database import reading, writing
from jamrank.collect.records import Event
from jamrank.collect.writer import record
from jamrank.errors import LedgerError
from jamrank.studio.ballots import Pair, Plan, Turn, plan
from jamrank.studio.history import Histories
from jamrank.studio.pages import page_state
from jamrank.studio.tables import QUEUE

T = TypeVar("T")
_AT_ONCE = 100
_QUEUED = select(QUEUE).where(QUEUE.c.judge.in_(bindparam("judges", expanding=True))).order_by(QUEUE.c.id)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a turn: the state of the page, or the name of the text for its refusal."""

    state: dict[str, Any]
    refused: str = ""
    status: int = 200


@dataclass(frozen=True)
class _Job:
    work: Callable[[Connection], Any] | Turn
    future: Future[Any]


class Database:
    """A ledger with the studio's tables.

    engine: As the ledger opens it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._histories = Histories()
        self._waiting: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._lock = Lock()

    def read(self) -> AbstractContextManager[Connection]:
        """Open a transaction that only reads."""
        return reading(self.engine)

    def submit(self, work: Callable[[Connection], Any] | Turn) -> Future[Any]:
        """Queue a write; the future is done when it is on disk, or has the error."""
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="jamrank-writer", daemon=True)
                self._thread.start()
        job = _Job(work, Future())
        self._waiting.put(job)
        return job.future

    def write(self, work: Callable[[Connection], T]) -> T:
        """Write and wait until it is on disk."""
        result: T = self.submit(work).result()
        return result

    async def write_soon(self, work: Callable[[Connection], T]) -> T:
        """Write without blocking other requests."""
        result: T = await asyncio.wrap_future(self.submit(work))
        return result

    async def take(self, turn: Turn) -> Outcome:
        """Execute a judge's turn."""
        outcome: Outcome = await asyncio.wrap_future(self.submit(turn))
        return outcome

    def close(self) -> None:
        """Write what is queued, and close the database."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(timeout=30)
        self.engine.dispose()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, ended = [first], False
            while len(batch) < _AT_ONCE and not ended:
                try:
                    more = self._waiting.get_nowait()
                except Empty:
                    break
                ended = more is None
                batch += [] if more is None else [more]
            self._commit(batch)
            if ended:
                return

    def _commit(self, batch: Sequence[_Job]) -> None:
        results: dict[int, Any] = {}
        try:
            with writing(self.engine) as connection:
                self._carry_out(connection, batch, results)
        except BaseException as error:  # any error must reach those who wait, and the thread must continue
            self._histories.forget()
            results = dict.fromkeys(range(len(batch)), error)
        for number, job in enumerate(batch):
            result = results[number]
            if isinstance(result, BaseException):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)

    def _carry_out(self, connection: Connection, batch: Sequence[_Job], results: dict[int, Any]) -> None:
        turns: dict[int, Turn] = {}
        for number, job in enumerate(batch):
            if isinstance(job.work, Turn):
                turns[number] = job.work
            else:
                results[number] = _attempt(connection, job.work)
        while turns:
            # One turn a judge at a time, since a turn builds on the one before it.
            round_: dict[str, int] = {}
            for number, turn in turns.items():
                round_.setdefault(turn.judge, number)
            chosen = {number: turns.pop(number) for number in round_.values()}
            results.update(self._take_turns(connection, chosen))

    def _take_turns(self, connection: Connection, turns: dict[int, Turn]) -> dict[int, Outcome]:
        histories = self._histories.of(connection, [turn.judge for turn in turns.values()])
        offers = _offers(connection, list(histories))
        plans: dict[int, Plan] = {}
        taken: set[int] = set()
        for number, turn in turns.items():
            mine = [pair for pair in (*offers.get(turn.judge, ()), *offers[""]) if pair.row not in taken]
            plans[number] = plan(turn, histories[turn.judge], mine)
            taken.update(plans[number].used)
        written = record(connection, [o for p in plans.values() for o in p.operations], None, time())
        for event in written:
            if isinstance(event, LedgerError):
                raise event
        self._histories.add(event for event in written if isinstance(event, Event))
        if taken:
            connection.execute(delete(QUEUE).where(QUEUE.c.id.in_(taken)))
        return {
            number: Outcome(
                page_state(turn.view, histories[turn.judge]),
                plans[number].refused,
                plans[number].status,
            )
            for number, turn in turns.items()
        }


def _attempt(connection: Connection, work: Callable[[Connection], Any]) -> Any:
    """Run one task; if it fails, its writes are rolled back and the others continue."""
    savepoint = connection.begin_nested()
    try:
        result = work(connection)
    except Exception as error:
        savepoint.rollback()
        return error
    savepoint.commit()
    return result


def _offers(connection: Connection, judges: Sequence[str]) -> dict[str, list[Pair]]:
    """Return queued pairs by judge, the shared ones under the empty name."""
    offers: dict[str, list[Pair]] = {"": []}
    for row in connection.execute(_QUEUED, {"judges": ["", *judges]}):
        pair = Pair(row.left, row.right, row.criterion, row.purpose, row.strategy, row.probability, row.id)
        offers.setdefault(row.judge, []).append(pair)
    return offers
