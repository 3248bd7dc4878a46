"""Judges without browsers: the requests of the voting page's script, many at once, over plain sockets."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Acknowledged", "JudgeLoad", "Refusal", "run_judges"]

Answer = Callable[[dict[str, Any]], str]


class Refusal(Exception):  # noqa: N818 (an answer of the server)
    """An answer other than 200."""


@dataclass
class Acknowledged:
    """What the server said it had stored, and how long that took."""

    votes: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    retries: int = 0


@dataclass
class JudgeLoad:
    """One judge: a session, a pace, and what they answer.

    A vote is sent until it is acknowledged, each time with the same key, as the page's script does.
    """

    url: str
    cookie: str
    csrf: str
    answer: Answer
    every: float
    acknowledged: Acknowledged
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, until: float, most: int = 10**9, retry: bool = False) -> None:
        """Vote until a time, or so many times."""
        await asyncio.sleep(random.random() * self.every)
        state = await self._send("/next", {}, retry, until)
        given = 0
        while state is not None and perf_counter() < until and given < most:
            if not state["open"]:
                return
            pair = state["open"][0]
            begin = perf_counter()
            said = self.answer(pair)
            state = await self._send("/vote", {"key": pair["key"], "answer": said, "ms": 1000}, retry, until)
            if state is not None:
                self.acknowledged.votes[pair["key"]] = said
                self.acknowledged.seconds.append(perf_counter() - begin)
                given += 1
            await asyncio.sleep(max(0.0, begin + self.every - perf_counter()))
        self._close()

    async def _send(self, path: str, body: dict[str, Any], retry: bool, until: float) -> Any:
        while True:
            try:
                return await asyncio.wait_for(self._post(path, body), 30)
            except Refusal as refused:
                self.acknowledged.errors.append(str(refused))
                if not retry:
                    return None
            except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
                self._close()
                if not retry:
                    self.acknowledged.errors.append(type(error).__name__)
                    return None
            self.acknowledged.retries += 1
            await asyncio.sleep(0.2)
            if perf_counter() > until:
                return None

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        if self._streams is None:
            parts = urlsplit(self.url)
            self._streams = await asyncio.open_connection(parts.hostname, parts.port)
        reader, writer = self._streams
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {urlsplit(self.url).netloc}\r\nCookie: jamrank-judge={self.cookie}\r\n"
            f"X-CSRF-Token: {self.csrf}\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        writer.write(head.encode() + content)
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        answer = await reader.readexactly(int(headers["content-length"]))
        status = int(first.split()[1])
        if status != 200:
            raise Refusal(f"{status} {answer[:200]!r}")
        return json.loads(answer)

    def _close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def run_judges(judges: list[JudgeLoad], seconds: float, *, most: int = 10**9, retry: bool = False) -> None:
    """Let all judges vote for some seconds."""
    until = perf_counter() + seconds
    await asyncio.gather(*(judge.run(until, most, retry) for judge in judges))
