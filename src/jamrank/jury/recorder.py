"""Writing and waiting for many requests at once."""

from __future__ import annotations

import asyncio
import time

from jamrank.collect import Ask, Close, Event, Ledger, Limit
from jamrank.errors import LedgerError


class Recorder:
    """Writes the operations of many tasks together, with one commit for all that are waiting."""

    def __init__(self, ledger: Ledger, limit: Limit) -> None:
        self._ledger, self._limit = ledger, limit
        self._waiting: list[tuple[Ask | Close, asyncio.Future[Event | LedgerError]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def write(self, operation: Ask | Close) -> Event:
        """Return when an operation is on disk."""
        future: asyncio.Future[Event | LedgerError] = asyncio.get_running_loop().create_future()
        self._waiting.append((operation, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        result = await future
        if isinstance(result, LedgerError):
            raise result
        return result

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await asyncio.to_thread(self._ledger.record, [one for one, _ in batch], self._limit)
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)


class Pace:
    """When a judge may be asked next: by its rate limit and the waiting time that the service asked for."""

    def __init__(self, per_minute: float | None) -> None:
        self._step = 0.0 if per_minute is None else 60.0 / per_minute
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next turn."""
        while (wait := self._next - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        self._next = max(self._next, time.monotonic()) + self._step

    def pause(self, seconds: float) -> None:
        """Pause all requests for some seconds."""
        self._next = max(self._next, time.monotonic() + seconds)
