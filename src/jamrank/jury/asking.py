"""The asking loop: every request is recorded and its cost reserved before it is sent, every reply when it arrives."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jamrank.collect import Annotator, Ask, Close, Event, Ledger, Limit
from jamrank.errors import BudgetError, JudgeError, LedgerError
from jamrank.jury.judges import Judge, JudgeFailure, Reply, reply_of
from jamrank.jury.plan import Contents, Plan, Task
from jamrank.jury.prompts import Prompt, render
from jamrank.jury.recorder import Pace, Recorder
from jamrank.jury.verdicts import Verdict, parse_verdict

_RETRIES = 8
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
# Consecutive failures after which a judge is no longer asked.
_GIVE_UP = 12
_STATE_EVERY, _WATCH_EVERY = 2.0, 1.0


@dataclass(frozen=True)
class Progress:
    """Progress of the requests.

    asked, answered, refused, unparsable, failed: Of this run.
    spent, reserved: Of the ledger, by judges and people.
    seconds: Since the run began.
    seconds_left: About, where it is known how many votes are still needed.
    leaders: The items, best first, so far.
    """

    asked: int
    answered: int
    refused: int
    unparsable: int
    failed: int
    spent: float
    reserved: float
    seconds: float
    seconds_left: float | None
    leaders: list[str]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes
    ----------
    state : str
        ``"all asked"``, ``"reached"``, ``"futile"``, ``"budget spent"``.
    reason : str
        Why, in a sentence.
    progress : Progress
    lost : int
        Requests that were in flight when an earlier run ended; they count as paid.
    given_up : mapping of str to str
        Judges that failed, and why.
    """

    state: str
    reason: str
    progress: Progress
    lost: int = 0
    given_up: Mapping[str, str] | None = None


def ask_all(
    ledger: Ledger,
    judges: Sequence[Judge],
    contents: Contents,
    plan: Plan,
    *,
    limit: Limit | None = None,
    criterion: str = "",
    recorded_as: str | None = None,
    salt: str = "",
    watch: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Ask judges the comparisons of a plan, until it is done, the budget is spent, or every judge has failed.

    ledger: Records everything. A stored reply is not asked for again.
    judges: Whom to ask.
    contents: What to show.
    plan: What to ask.
    limit: A hard budget for all that the ledger has recorded.
    criterion: What to judge by.
    recorded_as: The criterion of the votes in the ledger, if its name is not its text.
    salt: Seed of the delimiters around answers; a secret of the run.
    watch: Called every few seconds.
    Raises JudgeError: If every judge failed.
    Raises LedgerError: If the ledger cannot be written, or another process asks its judges.
    """
    _check_images(judges, contents)
    with ledger.exclusive("jury"):
        lost = _recover(ledger, judges)
        name = criterion if recorded_as is None else recorded_as
        run = _Run(ledger, judges, contents, plan, limit or Limit(), criterion, name, salt, watch)
        state, reason = asyncio.run(run.go())
        return Outcome(state, reason, run.progress(), lost, run.given_up)


def request_key(judge: Judge, prompt: Prompt) -> str:
    """Return a key of the comparison, the judge and the words of the prompt."""
    return "reply:" + hashlib.sha256(f"{judge.name}\0{judge.model}\0{prompt.digest}".encode()).hexdigest()[:32]


def _check_images(judges: Sequence[Judge], contents: Contents) -> None:
    media = {item.media for item in contents.by_place.values()}
    strange = sorted(kind for kind in media if not kind.startswith(("text/", "image/")))
    if strange:
        raise JudgeError(f"judges compare texts and images; {strange[0]} is neither")
    blind = [judge.name for judge in judges if not judge.sees_images]
    if blind and any(kind.startswith("image/") for kind in media):
        raise JudgeError(f"judge {blind[0]} does not see images; set sees_images = true if the model does")


def _recover(ledger: Ledger, judges: Sequence[Judge]) -> int:
    """Close requests that an earlier run left open; whether they were paid is unknown, so they count as paid."""
    models = {one.id for one in ledger.annotators() if one.kind == "model"} | {judge.name for judge in judges}
    for judge in judges:
        details = {"model": judge.model, **({"family": judge.family} if judge.family else {})}
        ledger.add_annotator(Annotator(judge.name, "model", details=details))
    return len(ledger.expire([lease for lease in ledger.leases() if lease.annotator in models]))


@dataclass(frozen=True)
class _Request:
    """A task, what it sends, and the key of its reply."""

    task: Task
    prompt: Prompt
    key: str


class _Run:
    """One run of the asking loop; the plan is touched by one thread at a time."""

    def __init__(
        self,
        ledger: Ledger,
        judges: Sequence[Judge],
        contents: Contents,
        plan: Plan,
        limit: Limit,
        criterion: str,
        recorded_as: str,
        salt: str,
        watch: Callable[[Progress], None] | None,
    ) -> None:
        self.ledger, self.contents, self.plan, self.limit = ledger, contents, plan, limit
        self.judges = {judge.name: judge for judge in judges}
        self.criterion, self.recorded_as, self.salt, self.watch = criterion, recorded_as, salt, watch
        self.recorder = Recorder(ledger, limit)
        self.paces = {judge.name: Pace(judge.per_minute) for judge in judges}
        self.rooms = {judge.name: asyncio.Semaphore(judge.concurrency) for judge in judges}
        # A few more are recorded than can be sent at once, so that no request waits for the disk.
        self.ahead = {
            judge.name: asyncio.Semaphore(judge.concurrency + max(2, judge.concurrency // 4)) for judge in judges
        }
        self.unsent: set[int] = set()
        self.pending: dict[str, int] = dict.fromkeys(self.judges, 0)
        self.open_keys: set[str] = set()
        self.in_flight = 0
        self.counts = dict.fromkeys(("asked", "answered", "refused", "unparsable", "failed"), 0)
        self.failures: dict[str, int] = dict.fromkeys(self.judges, 0)
        self.given_up: dict[str, str] = {}
        self.results: list[tuple[Task, str | None]] = []
        self.waiting: list[asyncio.Future[None]] = []
        self.over = ""
        self.begin = time.monotonic()
        self.checked = -_STATE_EVERY
        self.jitter = random.Random(salt)
        self.leaders: list[str] = []
        self.left: float | None = None

    async def go(self) -> tuple[str, str]:
        """Ask until there is a reason to stop; return it."""
        tasks: set[asyncio.Task[None]] = set()
        watcher = asyncio.create_task(self._watch())
        try:
            ending = await self._dispatch(tasks)
            await asyncio.gather(*tasks)
            self._tell_plan()
            if not self.over and len(self.given_up) == len(self.judges):
                reasons = "; ".join(f"{name}: {self.given_up[name]}" for name in self.judges)
                raise JudgeError(f"every judge failed: {reasons}")
            return ("budget spent", self.over) if self.over else ending
        finally:
            for task in (watcher, *tasks):
                task.cancel()
            await asyncio.gather(watcher, *tasks, return_exceptions=True)
            self._take_back_unsent()
            await self._close_clients()

    async def _dispatch(self, tasks: set[asyncio.Task[None]]) -> tuple[str, str]:
        """Keep every judge busy with comparisons of the plan."""
        enough = max(sum(judge.concurrency for judge in self.judges.values()) // 2, 1)
        while not self.over and len(self.given_up) < len(self.judges):
            free = {
                name: max(2 * judge.concurrency - self.pending[name], 0)
                for name, judge in self.judges.items()
                if name not in self.given_up
            }
            if sum(free.values()) >= enough or not tasks:
                ending, requests = await asyncio.to_thread(self._next_requests, free)
                if ending is not None:
                    return ending
                for request in requests:
                    self.pending[request.task.judge] += 1
                    self.open_keys.add(request.key)
                    tasks.add(asyncio.create_task(self._handle(request)))
                if not tasks:
                    return "all asked", "every planned comparison has been asked"
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            tasks -= done
            # All are looked at: on a full disk many fail at once, and one line is enough.
            errors = [error for one in done if (error := one.exception()) is not None]
            if errors:
                raise errors[0]
        return "", ""

    def _next_requests(self, free: Mapping[str, int]) -> tuple[tuple[str, str] | None, list[_Request]]:
        """Pass new outcomes to the plan; return why to stop, or the requests that are not stored yet."""
        self._tell_plan()
        if time.monotonic() - self.checked > _STATE_EVERY:
            state, reason = self.plan.state()
            if state != "go":
                return (state, reason), []
            self.checked, self.left, self.leaders = time.monotonic(), self.plan.remaining(), self.plan.leaders()
        while wanted := self.plan.take(free):
            requests = {request.key: request for request in map(self._request, wanted)}
            stored = self.ledger.with_keys(requests)
            for key, event in stored.items():
                self.plan.tell(requests[key].task, event.outcome)
            # A comparison that is being asked is not asked a second time.
            new = [request for key, request in requests.items() if key not in stored and key not in self.open_keys]
            if new:
                return None, new
        return None, []

    def _tell_plan(self) -> None:
        while self.results:
            self.plan.tell(*self.results.pop())

    def _request(self, task: Task) -> _Request:
        judge = self.judges[task.judge]
        left, right = self.contents.pair(task)
        text = self.contents.texts.get(task.question, task.question)
        prompt = render(judge.template, left, right, question=text, criterion=self.criterion, salt=self.salt)
        return _Request(task, prompt, request_key(judge, prompt))

    async def _handle(self, request: _Request) -> None:
        judge = self.judges[request.task.judge]
        try:
            event = await self._ask(judge, request)
            self.results.append((request.task, None if event is None else event.outcome))
        finally:
            self.pending[judge.name] -= 1
            self.open_keys.discard(request.key)

    async def _ask(self, judge: Judge, request: _Request) -> Event | None:
        """Ask until there is a reply, and return it; None if there is none."""
        for attempt in range(_RETRIES + 1):
            async with self.ahead[judge.name]:
                lease = await self._lease(judge, request)
                if lease is None:
                    return None
                reply, seconds = await self._send(judge, request, lease)
            if isinstance(reply, Reply):
                return await self._keep(judge, request, lease, reply, seconds)
            details = {"reason": reply.reason}
            await self._close(
                Close(lease.id, "failed", f"failed:{lease.id}", cost=reply.cost, seconds=seconds, details=details)
            )
            if not reply.retry or judge.name in self.given_up or attempt == _RETRIES:
                self.failures[judge.name] += reply.after is not None
                break
            if reply.after is None:
                wait = min(_FIRST_WAIT * 2.0**attempt, _LONGEST_WAIT)
                await asyncio.sleep(wait * (0.5 + self.jitter.random()))
        self.counts["failed"] += 1
        return None

    async def _send(self, judge: Judge, request: _Request, lease: Event) -> tuple[Reply | JudgeFailure, float]:
        """Wait for a free slot and the rate limit, send a recorded request, and return the reply and the time."""
        self.unsent.add(lease.id)
        async with self.rooms[judge.name]:
            await self.paces[judge.name].turn()
            if judge.name in self.given_up:
                self.unsent.discard(lease.id)
                return JudgeFailure("not sent", cost=0.0), 0.0
            self.unsent.discard(lease.id)
            begin = time.monotonic()
            try:
                reply: Reply | JudgeFailure = await reply_of(judge, request.prompt)
            except JudgeFailure as failure:
                reply = failure
                self._count_failure(judge, failure)
            return reply, time.monotonic() - begin

    async def _lease(self, judge: Judge, request: _Request) -> Event | None:
        """Record a request and reserve its cost; wait for open requests if the budget is reserved."""
        task = request.task
        ask = Ask(
            task.judge,
            task.left,
            task.right,
            f"ask:{secrets.token_hex(12)}",
            task.question,
            self.recorded_as,
            strategy=task.strategy,
            probability=task.probability,
            reserve=judge.worst_cost(request.prompt),
            details={"request": request.key},
        )
        while not self.over and judge.name not in self.given_up:
            self.in_flight += 1
            try:
                lease = await self.recorder.write(ask)
            except BudgetError as error:
                self.in_flight -= 1
                if self.in_flight == 0:
                    self.over = str(error)
                    self._wake()
                    return None
                await self._wait_for_others()
                continue
            self.counts["asked"] += 1
            return lease
        return None

    async def _close(self, close: Close) -> Event:
        try:
            return await self.recorder.write(close)
        finally:
            self.in_flight -= 1
            self._wake()

    async def _wait_for_others(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        await future

    def _wake(self) -> None:
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def _keep(self, judge: Judge, request: _Request, lease: Event, reply: Reply, seconds: float) -> Event:
        verdict = Verdict("refused") if reply.refused else parse_verdict(reply.text)
        self.failures[judge.name] = 0
        self.counts[verdict.kind] += 1
        tokens = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
        return await self._close(
            Close(
                lease.id,
                verdict.kind,
                request.key,
                verdict.outcome,
                verdict.strength,
                reply.text,
                reply.cost,
                seconds,
                {name: count for name, count in tokens.items() if count is not None},
            )
        )

    def _count_failure(self, judge: Judge, failure: JudgeFailure) -> None:
        """Pause all requests as long as the service says; stop asking after failures only."""
        if failure.after is not None:
            self.paces[judge.name].pause(min(failure.after, 10 * _LONGEST_WAIT))
        else:  # A service with a Retry-After header is alive.
            self.failures[judge.name] += 1
        if failure.fatal or self.failures[judge.name] >= max(_GIVE_UP, 2 * judge.concurrency):
            self.given_up.setdefault(judge.name, failure.reason)

    async def _watch(self) -> None:
        while self.watch is not None:
            await asyncio.sleep(_WATCH_EVERY)
            self.watch(await asyncio.to_thread(self.progress))

    def progress(self) -> Progress:
        """Return the progress."""
        spending = self.ledger.spending()
        seconds = time.monotonic() - self.begin
        rate = (self.counts["asked"] or 1) / max(seconds, 1e-9)
        return Progress(
            **self.counts,
            spent=sum(one.spent for one in spending),
            reserved=sum(one.reserved for one in spending),
            seconds=seconds,
            seconds_left=None if self.left is None or not self.counts["asked"] else self.left / rate,
            leaders=self.leaders,
        )

    def _take_back_unsent(self) -> None:
        """Cancel requests that were recorded and never sent, if the run ends early."""
        unsent = sorted(self.unsent)
        details = {"reason": "not sent"}
        # What cannot be recorded, as on a full disk, counts as paid in the next run.
        with contextlib.suppress(LedgerError):
            self.ledger.record([Close(one, "failed", f"failed:{one}", cost=0.0, details=details) for one in unsent])

    async def _close_clients(self) -> None:
        for judge in self.judges.values():
            close = getattr(getattr(judge.ask, "__self__", None), "close", None)
            if inspect.iscoroutinefunction(close):
                await close()
