"""The database of the server: concurrent reads, and one writing thread that commits several writes at once.

A commit waits for the disk, which may take longer than the rest of a request. So waiting writes share one
transaction, and all are answered when it is on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
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
from jamrank.studio import people
from jamrank.studio.ballots import Pair, Plan, Turn, plan
from jamrank.studio.history import Histories
from jamrank.studio.pages import page_state
from jamrank.studio.tables import QUEUE

T = TypeVar("T")
_AT_ONCE = 100
# Statements are built once: building one takes longer than executing it.
_QUEUED = (
    select(*(QUEUE.c[n] for n in ("judge", "left", "right", "criterion", "purpose", "strategy", "probability", "id")))
    .where(QUEUE.c.judge.in_(bindparam("judges", expanding=True)))
    .order_by(QUEUE.c.id)
)
_USED = delete(QUEUE).where(QUEUE.c.id.in_(bindparam("used", expanding=True)))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a turn: the state of the page, or the name of the text for its refusal.

    state: None for a judge whose session is no longer valid.
    """

    state: dict[str, Any] | None
    refused: str = ""
    status: int = 200


@dataclass(frozen=True)
class _Job:
    work: Callable[[Connection], Any] | Turn
    future: Future[Any] | asyncio.Future[Any]

    def finish(self, result: Any) -> None:
        if self.future.done():
            return  # the request was cancelled
        if isinstance(result, BaseException):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


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
        future: Future[Any] = Future()
        self._queue(_Job(work, future))
        return future

    def _queue(self, job: _Job) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="jamrank-writer", daemon=True)
                self._thread.start()
        self._waiting.put(job)

    async def _queued(self, work: Callable[[Connection], Any] | Turn) -> Any:
        future = asyncio.get_running_loop().create_future()
        self._queue(_Job(work, future))
        return await future

    def write(self, work: Callable[[Connection], T]) -> T:
        """Write and wait until it is on disk."""
        result: T = self.submit(work).result()
        return result

    async def write_soon(self, work: Callable[[Connection], T]) -> T:
        """Write without blocking other requests."""
        result: T = await self._queued(work)
        return result

    async def take(self, turn: Turn) -> Outcome:
        """Execute a judge's turn."""
        outcome: Outcome = await self._queued(turn)
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
        _finish([(job, results[number]) for number, job in enumerate(batch)])

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
        signed_out = _signed_out(connection, turns)
        turns = {number: turn for number, turn in turns.items() if number not in signed_out}
        histories = self._histories.of(connection, [turn.judge for turn in turns.values()])
        offers = _Offers(connection, list(histories))
        plans: dict[int, Plan] = {}
        for number, turn in turns.items():
            plans[number] = plan(turn, histories[turn.judge], offers.to(turn.judge))
            offers.taken.update(plans[number].used)
        operations = [one for made in plans.values() for one in made.operations]
        written = record(connection, operations, None, time(), self._histories.last_id)
        for event in written:
            if isinstance(event, LedgerError):
                raise event
        self._histories.add(event for event in written if isinstance(event, Event))
        if offers.taken:
            connection.execute(_USED, {"used": sorted(offers.taken)})
        return signed_out | {
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


def _finish(results: Sequence[tuple[_Job, Any]]) -> None:
    """Hand out the results of a batch; an event loop is woken once for all of its requests."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Job, Any]]] = {}
    for job, result in results:
        if isinstance(job.future, Future):
            job.finish(result)
        else:
            by_loop.setdefault(job.future.get_loop(), []).append((job, result))
    for loop, own in by_loop.items():
        with suppress(RuntimeError):  # the server was stopped, and nobody waits
            loop.call_soon_threadsafe(_finish_all, own)


def _finish_all(results: Sequence[tuple[_Job, Any]]) -> None:
    for job, result in results:
        job.finish(result)


def _signed_out(connection: Connection, turns: Mapping[int, Turn]) -> dict[int, Outcome]:
    """Return the outcomes of turns whose session ended or was revoked."""
    digests = {turn.session for turn in turns.values() if turn.session}
    valid = people.valid_sessions(connection, digests, "judge") if digests else {}
    return {
        number: Outcome(None, "signed_out", 401)
        for number, turn in turns.items()
        if turn.session and (turn.session not in valid or valid[turn.session].judge != turn.judge)
    }


class _Offers:
    """Queued pairs that no turn of this transaction has taken; the shared ones are read when they are needed."""

    def __init__(self, connection: Connection, judges: Sequence[str]) -> None:
        self._connection = connection
        self._pairs = self._read(judges)
        self.taken: set[int] = set()

    def _read(self, judges: Sequence[str]) -> dict[str, list[Pair]]:
        pairs: dict[str, list[Pair]] = {judge: [] for judge in judges}
        for judge, *values in self._connection.execute(_QUEUED, {"judges": judges}).all():
            pairs[judge].append(Pair(*values))
        return pairs

    def to(self, judge: str) -> Iterator[Pair]:
        """Yield the pairs for a judge, then those for any."""
        yield from (pair for pair in self._pairs[judge] if pair.row not in self.taken)
        if "" not in self._pairs:
            self._pairs |= self._read([""])
        yield from (pair for pair in self._pairs[""] if pair.row not in self.taken)
