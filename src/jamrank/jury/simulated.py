"""Simulated judges: a local server with the same protocol, and known biases, prices and faults."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from jamrank.jury.judges import Judge, parse_judges

_MARK = re.compile(r"\[sim quality=([-+0-9.]+)(?: family=(\w+))?\]")
_PART = r"BEGIN {0} ([0-9a-f]{{16}})\n(.*?)\nEND {0} \1(?:\n|$)"
_PARTS = {name: re.compile(_PART.format(name), re.DOTALL) for name in ("QUESTION", "LEFT ANSWER", "RIGHT ANSWER")}
_LARGEST_BODY = 8_000_000


def marked(text: str, quality: float, family: str | None = None) -> str:
    """Return an answer with a mark of its quality, which simulated judges read."""
    return f"{text} [sim quality={quality:+.3f}{'' if family is None else f' family={family}'}]"


@dataclass(frozen=True)
class SimulatedJudge:
    """A judge with known biases. Its votes depend only on the comparison and on its seed.

    It says left with the log-odds ``scale`` × difference of the qualities + ``left_bias`` + ``verbosity`` × log2 of
    the ratio of the lengths ± ``favour`` for an answer of its own family; then the opposite with probability
    ``flip``. The strength of a verdict is larger the more probable it was.

    name: The model under which it is asked.
    scale, left_bias, verbosity, favour: In log-odds, as above.
    family: Its own.
    flip: 0.5 is random.
    ties: It says tie where the log-odds are within ± this.
    refusals, unparsable: Shares of comparisons that it refuses, or answers without a verdict.
    price_in, price_out: For a million tokens.
    """

    name: str
    scale: float = 2.0
    left_bias: float = 0.0
    verbosity: float = 0.0
    favour: float = 0.0
    family: str | None = None
    flip: float = 0.0
    ties: float = 0.0
    refusals: float = 0.0
    unparsable: float = 0.0
    price_in: float = 1.0
    price_out: float = 2.0
    seed: int = 0

    def log_odds(self, left: str, right: str) -> float:
        """Return the log-odds with which it says left, before flips."""
        (q_left, f_left), (q_right, f_right) = _read(left), _read(right)
        length = math.log2(max(len(left), 1) / max(len(right), 1))
        own = 0.0 if self.family is None else float(f_left == self.family) - float(f_right == self.family)
        return self.scale * (q_left - q_right) + self.left_bias + self.verbosity * length + self.favour * own

    def p_left(self, left: str, right: str) -> float:
        """Return the probability of left where there are no ties."""
        return self._with_flip(self.log_odds(left, right))

    def _with_flip(self, log_odds: float) -> float:
        return self.flip + (1 - 2 * self.flip) / (1 + math.exp(-log_odds))

    def say(self, question: str, left: str, right: str) -> str:
        """Return the reply."""
        draw = _Draws(f"{self.seed}:{self.name}:{question}:{left}:{right}")
        if draw.below(self.refusals):
            return json.dumps({"verdict": "refuse", "strength": None})
        if draw.below(self.unparsable):
            return "Both answers have their merits, and it depends on what you value."
        log_odds = self.log_odds(left, right)
        if abs(log_odds) < self.ties:
            return json.dumps({"verdict": "tie", "strength": None})
        # Left below its probability; the further from it, the clearer.
        lead = self._with_flip(log_odds) - draw.next()
        return json.dumps({"verdict": "left" if lead > 0 else "right", "strength": round(abs(lead), 2)})


@dataclass(frozen=True)
class Faults:
    """Shares of requests that go wrong, drawn again for every repetition of a request.

    busy: Answered 429 with Retry-After.
    error: Answered 500.
    cut: The connection is cut after the request was read.
    garbage: Answered with something that is not JSON.
    retry_after: The seconds of Retry-After.
    """

    busy: float = 0.0
    error: float = 0.0
    cut: float = 0.0
    garbage: float = 0.0
    retry_after: float = 0.05


# Two default judges: a reliable one, and a noisy one with a preference for the left, long answers and its family.
JUDGES = (
    SimulatedJudge("careful", scale=4.0, price_in=2.5, price_out=10.0, seed=1),
    SimulatedJudge(
        "hasty", 2.0, left_bias=0.7, verbosity=0.5, favour=0.6, family="birch", flip=0.1, price_in=0.15, price_out=0.6
    ),
)


class _Draws:
    """Numbers from 0 to 1 that depend only on a text."""

    def __init__(self, text: str) -> None:
        self._text, self._count = text, 0

    def next(self) -> float:
        self._count += 1
        digest = hashlib.sha256(f"{self._count}:{self._text}".encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56

    def below(self, share: float) -> bool:
        if share <= 0:  # No need to hash.
            self._count += 1
            return False
        return self.next() < share


def _read(text: str) -> tuple[float, str | None]:
    found = _MARK.search(text)
    return (float(found.group(1)), found.group(2)) if found else (0.0, None)


class _CutError(Exception):
    """The connection is closed without a reply."""


@dataclass
class SimulatedServer:
    """The server, in a thread of its own while the ``with`` block lasts.

    latency: Seconds from a request to its reply.
    key: The key that every request must have.
    port: 0 for any that is free.
    replies: How many replies were sent for each comparison put to each judge.
    requests: How many requests came.
    """

    judges: Sequence[SimulatedJudge] = JUDGES
    latency: float = 0.0
    faults: Faults = field(default_factory=Faults)
    key: str | None = None
    port: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    _attempts: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}/v1"

    def judge_list(self) -> list[Judge]:
        """Return the judges, ready to be asked."""
        return parse_judges(self.toml(), "simulated judges")

    def toml(self) -> str:
        """Return the judges as a file for ``--judges``."""
        tables = []
        for judge in self.judges:
            lines = [
                f"[judges.{judge.name}]",
                f'endpoint = "{self.url}"',
                f'model = "{judge.name}"',
                f"price_in = {judge.price_in}",
                f"price_out = {judge.price_out}",
                "max_tokens = 60",
                *([f'family = "{judge.family}"'] if judge.family else []),
            ]
            tables.append("\n".join(lines) + "\n")
        return "\n".join(tables)

    async def serve(self) -> asyncio.Server:
        """Start in the running event loop."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def __enter__(self) -> Self:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()

        async def run() -> None:
            self._end = asyncio.Event()
            server = await self.serve()
            started.set()
            await self._end.wait()
            server.close()

        def work() -> None:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(run())

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()
        started.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await _head(reader)) is not None:
                body = await reader.readexactly(min(int(head.get("content-length", "0")), _LARGEST_BODY))
                begin = time.monotonic()
                try:
                    answer = self._answer(head, body)
                finally:
                    await asyncio.sleep(max(begin + self.latency - time.monotonic(), 0.0))
                writer.write(answer)
                await writer.drain()
        except (_CutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            writer.close()

    def _answer(self, head: dict[str, str], body: bytes) -> bytes:
        self.requests += 1
        if head["target"] != "POST /v1/chat/completions":
            return _response(404, {"error": {"message": f"no such place: {head['target']}"}})
        if self.key is not None and head.get("authorization") != f"Bearer {self.key}":
            given = head.get("authorization", "none")
            return _response(401, {"error": {"message": f"incorrect key provided: {given}"}})
        request = json.loads(body)
        judge = next((one for one in self.judges if one.name == request.get("model")), None)
        if judge is None:
            return _response(404, {"error": {"message": f"no model {request.get('model')!r}"}})
        return self._reply(judge, request)

    def _reply(self, judge: SimulatedJudge, request: dict[str, Any]) -> bytes:
        content = request["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        parts = {name: found.group(2) if (found := part.search(text)) else "" for name, part in _PARTS.items()}
        question, left, right = parts["QUESTION"], parts["LEFT ANSWER"], parts["RIGHT ANSWER"]
        which = hashlib.sha256(f"{judge.name}\0{question}\0{left}\0{right}".encode()).hexdigest()
        self._attempts[which] += 1
        draw, faults = _Draws(f"fault:{which}:{self._attempts[which]}"), self.faults
        if draw.below(faults.busy):
            return _response(
                429, {"error": {"message": "too many requests"}}, f"Retry-After: {faults.retry_after}\r\n"
            )
        if draw.below(faults.error):
            return _response(500, {"error": {"message": "something broke"}})
        if draw.below(faults.cut):
            raise _CutError
        if draw.below(faults.garbage):
            return _response(200, "<html>this is no JSON</html>")
        reply = judge.say(question, left, right)
        self.replies[which] += 1
        sent = sum(len(str(message["content"])) for message in request["messages"])
        usage = {"prompt_tokens": sent // 4 + 8, "completion_tokens": len(reply) // 3}
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        return _response(200, {"object": "chat.completion", "model": judge.name, "choices": [choice], "usage": usage})


async def _head(reader: asyncio.StreamReader) -> dict[str, str] | None:
    """Return the target and the headers of the next request; None at the end of the connection."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return headers | {"target": " ".join(lines[0].split()[:2])}


def _response(status: int, content: Any, headers: str = "") -> bytes:
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body
