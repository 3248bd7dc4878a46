"""Hostile input of every kind: no traceback, abort, hang, raw control character, boundless memory or other answer.

Cases are drawn by kind (`benchmarks/hostile`, one file for each) and tried in a process of their own, which this one
watches: it counts an abort, more than 20 s of CPU time, and more memory than 20 times the input and 500 MB.
`python -m benchmarks.fuzz` writes fuzz.md and .json; `--again SEED-NUMBER` tries one case again and says how it ends.
"""

# ruff: noqa: E501
from __future__ import annotations

import contextlib
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.hostile import KINDS
from benchmarks.hostile.base import ENDS, WRONG
from benchmarks.machine import about, commit
from benchmarks.report import arguments, made_with, parser, say, table, write

CASES, QUICK_CASES, SEEDS = 101_000, 300, (25, 26)
# A worker is replaced after so many cases, so that what libraries keep does not add up.
BATCH = 15_000
LONGEST_SECONDS, SPARE_BYTES, TIMES_INPUT = 20.0, 500 << 20, 20
# A process that is not given the processor is not hanging.
LONGEST_WAIT = 300.0


def drawn(seed: int, number: int) -> tuple[str, random.Random]:
    """Return the kind of a case, and the generator of everything else in it."""
    rng = random.Random(f"{seed}-{number}")
    return rng.choices(list(KINDS), [share for share, _ in KINDS.values()])[0], rng


# -- the process that tries cases ---------------------------------------------------------------------------------


def work(seed: int, begin: int, end: int) -> None:
    """Try cases, and write a line before and after each."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stdout = sys.stderr
    with tempfile.TemporaryDirectory(prefix="jamrank-fuzz-") as home:
        os.environ["JAMRANK_CACHE"] = f"{home}/cache"
        folder = Path(home) / "case"
        folder.mkdir()
        for number in range(begin, end):
            out.write(f"{number}\n")
            out.write(json.dumps([number, *try_case(seed, number, folder)]) + "\n")


def try_case(seed: int, number: int, folder: Path) -> tuple[str, str, str, float, int]:
    """Try one case; return its kind, how it ended and why, its CPU seconds and the memory it took."""
    kind, rng = drawn(seed, number)
    _, case = KINDS[kind]
    before, began = _reset_peak(), time.process_time()
    ended, how = case(rng, folder)
    seconds, taken = time.process_time() - began, _peak() - before
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for path in folder.iterdir():
        path.unlink()
    if taken > TIMES_INPUT * size + SPARE_BYTES:
        ended, how = WRONG, f"{taken >> 20} MiB of memory for {size} bytes: {how}"
    if seconds > LONGEST_SECONDS:
        ended, how = WRONG, f"{seconds:.0f} s: {how}"
    return kind, ended, how if ended == WRONG else "", seconds, taken


def _reset_peak() -> int:
    """Let the largest memory of this process count from now on, where the system can; return what is used now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


# -- the process that watches -------------------------------------------------------------------------------------


@dataclass
class Ends:
    """How cases of each kind ended, what they took at most, and those that ended badly."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    longest: dict[str, float] = field(default_factory=dict)
    largest: dict[str, int] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)

    def add(self, case: str, kind: str, ended: str, how: str, seconds: float = 0.0, taken: int = 0) -> None:
        self.counts[kind, ended] += 1
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        self.longest[kind] = max(seconds, self.longest.get(kind, 0.0))
        self.largest[kind] = max(taken, self.largest.get(kind, 0))
        if ended == WRONG:
            self.failures.append({"case": case, "kind": kind, "how": how[:1000]})
            say(f"{self.failures[-1]}\n")


def run(seed: int, cases: int, ends: Ends, minutes: float | None = None) -> Iterator[int]:
    """Try so many cases of a seed, worker after worker; yield how many were tried after each."""
    number, began = 0, time.monotonic()
    while number < cases and (minutes is None or time.monotonic() - began < 60 * minutes):
        number = _watched(seed, number, min(number + BATCH, cases), ends)
        say(f"seed {seed}: {number:,} cases, {len(ends.failures)} wrong, {time.monotonic() - began:.0f} s\n")
        yield number


def _watched(seed: int, begin: int, end: int, ends: Ends) -> int:
    """Watch one worker; return the number of the case that comes next."""
    command = [sys.executable, "-m", "benchmarks.fuzz", "--work", str(seed), str(begin), str(end)]
    at, since = begin, time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as worker:
        assert worker.stdout is not None
        os.set_blocking(worker.stdout.fileno(), False)
        text, cpu = b"", 0.0
        while True:
            ready, _, _ = select.select([worker.stdout], [], [], 5.0)
            if not ready:
                spent = _cpu_seconds(worker.pid) - cpu
                if spent > 2 * LONGEST_SECONDS or time.monotonic() - since > LONGEST_WAIT:
                    worker.kill()
                    ends.add(f"{seed}-{at}", drawn(seed, at)[0], WRONG, f"it hangs: {spent:.0f} s of CPU time")
                    return at + 1
                continue
            read = worker.stdout.read()
            if not read:
                break
            *lines, text = (text + read).split(b"\n")
            for line in lines:
                if line.startswith(b"["):
                    number, *ended = json.loads(line)
                    ends.add(f"{seed}-{number}", *ended)
                    at = number + 1
                else:
                    at = int(line)
            since, cpu = time.monotonic(), _cpu_seconds(worker.pid)
        code = worker.wait(timeout=60)
    if at < end:
        ends.add(f"{seed}-{at}", drawn(seed, at)[0], WRONG, f"it ended the process: exit code {code}")
        return at + 1
    return end


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- what it wrote ------------------------------------------------------------------------------------------------


def described(ends: Ends, seeds: list[int], facts: dict[str, str]) -> str:
    """Return the page."""
    counts = ends.counts
    rows = [
        [kind, *(f"{counts[kind, end]:,}" for end in ENDS), f"{ends.longest.get(kind, 0):.1f}", f"{ends.largest.get(kind, 0) >> 20:,}"]
        for kind in KINDS
    ]  # fmt: skip
    totals = [f"{sum(counts[kind, end] for kind in KINDS):,}" for end in ENDS]
    longest, largest = max(ends.longest.values(), default=0), max(ends.largest.values(), default=0)
    rows.append(["all", *totals, f"{longest:.1f}", f"{largest >> 20:,}"])
    text = [
        "# Hostile input",
        "",
        "Made by `make fuzz`. *Right*: the answer is that of a second reader which shares no code with jamrank, of the",
        "undamaged or unrenamed input, or is finite and safe to print, as the kind has it (`benchmarks/hostile`).",
        "*Refused*: one clear line. *Wrong*: a traceback, an abort, a control character on the terminal, another answer,",
        f"more than {LONGEST_SECONDS:.0f} s of CPU time, or more memory than {TIMES_INPUT} times the input and",
        f"{SPARE_BYTES >> 20} MiB.",
        "",
        f"{counts.total():,} cases with seed {' and '.join(map(str, seeds))}; {len(ends.failures)} wrong.",
        "",
        *table(["kind", *ENDS, "longest, s", "most memory, MiB"], rows),
        *([f"- {failure}" for failure in ends.failures[:20]] + [""] if ends.failures else []),
        *made_with(facts),
    ]
    return "\n".join(text)


def main() -> None:
    asked = parser("fuzz", __doc__ or "")
    asked.add_argument("--cases", type=int, help=f"how many for each seed (default: {CASES:,})")
    asked.add_argument("--minutes", type=float, help="stop a seed after so long")
    asked.add_argument("--seed", type=int, action="append", help=f"repeat for more (default: {SEEDS})")
    asked.add_argument("--again", metavar="SEED-NUMBER", help="try one case again")
    asked.add_argument("--work", nargs=3, type=int, help="try cases as told by the process that watches")
    given = arguments(asked)
    if given.work:
        return work(*given.work)
    if given.again:
        with tempfile.TemporaryDirectory(prefix="jamrank-fuzz-") as folder:
            return say(f"{try_case(*map(int, given.again.split('-')), Path(folder))}\n")
    begun_at, seeds, ends = commit(), given.seed or list(SEEDS), Ends()
    for number, seed in enumerate(seeds, start=1):
        for _ in run(seed, given.cases or (QUICK_CASES if given.quick else CASES), ends, given.minutes):
            _write(given.out, ends, seeds[:number], about(begun_at, "polars", "pyarrow"))


def _write(folder: Path, ends: Ends, seeds: list[int], facts: dict[str, str]) -> None:
    numbers: dict[str, Any] = {
        "cases": ends.counts.total(),
        "seeds": seeds,
        "wrong": ends.failures,
        "counts": {kind: {end: ends.counts[kind, end] for end in ENDS} for kind in KINDS},
        "longest_seconds": {kind: round(seconds, 2) for kind, seconds in ends.longest.items()},
        "seconds": {kind: round(seconds, 1) for kind, seconds in ends.seconds.items()},
        "largest_bytes": ends.largest,
        **facts,
    }
    write(folder, "fuzz", described(ends, seeds, facts), numbers)


if __name__ == "__main__":
    main()
