"""Whether anything became slower than at an earlier commit, built beside and measured in turn.

``make benchmark-baseline`` installs the commit (``COMMIT``, 13ef558 unless another is given) into an environment of
its own below ``build``, times the lines of ``make benchmark`` and of small jobs for both, and writes ``baseline.md``
and ``baseline.json`` beside this file. In every round the earlier commit has two turns, before and after this one:
how far these differ is the spread that a difference has to exceed. Flips are fitted jointly for both.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.baseline_jobs import JOBS
from benchmarks.machine import about, commit
from benchmarks.votes import draw

COMMIT, ROUNDS, QUICK_ROUNDS, TIMEOUT = "13ef558", 3, 1, 300
BESIDE = report.HERE.parent / "build"
COMMANDS = {
    "jamrank fit, 10,000 votes": ("fit", "votes.csv"),
    "jamrank fit --out, 10,000 votes": ("fit", "votes.csv", "--out", "out"),
    "jamrank check, 10,000 votes": ("check", "votes.csv"),
    "jamrank compare, 10,000 votes": ("compare", "votes.csv"),
}
READING = "jamrank fit --model CrowdBT, CSV of 2 million votes"
BIG = ("fit", "many.csv", "--model", "CrowdBT")

Measured = dict[str, float]


@dataclass(frozen=True)
class Line:
    """One job: seconds of the earlier commit in its two turns a round, and of this one between them."""

    name: str
    before: list[Measured]
    now: list[Measured]
    after: list[Measured]

    def ratio(self, what: str) -> float:
        """Return this commit's seconds over those of the earlier one, the median over rounds."""
        rounds = zip(self.before, self.now, self.after, strict=True)
        return statistics.median(2 * now[what] / (one[what] + two[what]) for one, now, two in rounds)

    def spread(self, what: str) -> float:
        """Return the largest ratio of two measurements of the earlier commit."""
        old = [one[what] for one in (*self.before, *self.after)]
        return max(old) / min(old)

    def slower(self, what: str) -> bool:
        return self.ratio(what) > self.spread(what)

    def best(self, what: str) -> tuple[float, float]:
        old, new = (*self.before, *self.after), self.now
        return min(one[what] for one in old), min(one[what] for one in new)

    def cells(self) -> list[str]:
        cells = [self.name]
        for what in ("wall", "cpu"):
            old, new = self.best(what)
            cells += [report.seconds(old), report.seconds(new), f"{self.ratio(what):.2f}", f"{self.spread(what):.2f}"]
        return [*cells, "yes" if self.slower("wall") and self.slower("cpu") else "no"]


def build(name: str, python: str = sys.executable) -> Path:
    """Return the Python of an environment with jamrank at a commit, made where it is not there yet."""
    folder = BESIDE / f"baseline-{name}"
    made = folder / "bin" / "python"
    if not (folder / "made").exists():
        report.say(f"installing commit {name} into {folder}, some minutes\n")
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True, timeout=TIMEOUT)
        with tempfile.TemporaryDirectory() as source:
            packed = subprocess.run(
                ["git", "archive", name], cwd=report.HERE.parent, capture_output=True, check=True, timeout=TIMEOUT
            )
            subprocess.run(["tar", "-x", "-C", source], input=packed.stdout, check=True, timeout=TIMEOUT)
            install = [
                made,
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                f"{source}[figures]",
                *same(),
            ]
            subprocess.run(install, check=True, timeout=3 * TIMEOUT)
        (folder / "made").touch()
    return made


def same() -> list[str]:
    """Return the libraries that both commits use, at the versions of this environment."""
    return [f"{name}=={version(name)}" for name in ("numpy", "scipy", "polars", "pandas")]


def of_job(name: str, size: str) -> Callable[[Path, dict[str, str], Path], Measured]:
    def measure(python: Path, environment: dict[str, str], folder: Path) -> Measured:
        record = folder / "record.json"
        command = [str(python), "-m", "benchmarks.baseline_jobs", name, str(record), size]
        subprocess.run(command, cwd=report.HERE.parent, env=environment, check=True, timeout=TIMEOUT)
        return dict(json.loads(record.read_text()))

    return measure


def of_command(arguments: tuple[str, ...]) -> Callable[[Path, dict[str, str], Path], Measured]:
    def measure(python: Path, environment: dict[str, str], folder: Path) -> Measured:
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        code = "from jamrank.cli import main; main()"
        subprocess.run(
            [str(python), "-c", code, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=True,
            timeout=TIMEOUT,
        )
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"wall": wall, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}

    return measure


def write_votes(path: Path, n_votes: int) -> None:
    import polars as pl

    votes, _ = draw(200, 50, n_votes, 0)
    named = {
        "annotator": "a" + pl.Series(votes.annotator).cast(pl.String),
        "left": "item-" + pl.Series(votes.left).cast(pl.String),
        "right": "item-" + pl.Series(votes.right).cast(pl.String),
        "winner": pl.Series(np.where(votes.left_won, "left", "right")),
    }
    pl.DataFrame(named).write_csv(path)


def measure(old: Path, rounds: int, quick: bool, only: str) -> list[Line]:
    ours = dict(os.environ)
    # A path to sources would hide what is installed beside.
    theirs = {name: value for name, value in ours.items() if name != "PYTHONPATH"}
    jobs = {name: of_job(name, "quick" if quick else "whole") for name in JOBS}
    jobs |= {name: of_command(arguments) for name, arguments in (COMMANDS | {READING: BIG}).items()}
    lines = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_votes(folder / "votes.csv", 10_000)
        write_votes(folder / "many.csv", 20_000 if quick else 2_000_000)
        for name, job in jobs.items():
            if only not in name:
                continue
            report.say(f"{name} … ")
            turns: list[list[Measured]] = [[], [], []]
            for _ in range(rounds):
                for turn, (python, environment) in zip(
                    turns, ((old, theirs), (Path(sys.executable), ours), (old, theirs)), strict=True
                ):
                    turn.append(job(python, environment, folder))
            lines.append(Line(name, *turns))
            report.say(f"{lines[-1].ratio('cpu'):.2f} of the CPU time\n")
    return lines


def as_markdown(lines: list[Line], name: str, made_with: dict[str, str]) -> str:
    slower = [line.name for line in lines if line.slower("wall") and line.slower("cpu")]
    header = [
        "",
        "wall s, old",
        "new",
        "new / old",
        "old / old",
        "CPU s, old",
        "new",
        "new / old",
        "old / old",
        "slower",
    ]
    text = [
        f"# Beside commit {name}",
        "",
        "Seconds are the least of all runs; *new / old* is the median over rounds of this commit's time over the",
        "mean of the old commit's two turns before and after it; *old / old* is the largest ratio between",
        "measurements of the old commit. A line is slower where its ratio exceeds that, in wall-clock and in CPU",
        "time. Flips are fitted jointly for both commits.",
        "",
        f"Slower: {', '.join(slower) or 'none'}.",
        "",
        *report.table(header, [line.cells() for line in lines]),
    ]
    return "\n".join([*text, *report.made_with(made_with)])


def main() -> None:
    asked = report.parser("baseline", __doc__ or "")
    asked.add_argument("--commit", default=COMMIT, help="the earlier commit")
    asked.add_argument("--python", type=Path, help="a Python that has it installed already")
    asked.add_argument("--only", default="", help="only jobs with this in their name")
    given = report.arguments(asked)
    begun_at, rounds = commit(), QUICK_ROUNDS if given.quick else ROUNDS
    lines = measure(given.python or build(given.commit), rounds, given.quick, given.only)
    made_with = {"baseline": given.commit, "rounds": f"{rounds}, in turn", **about(begun_at, "polars")}
    rows: list[dict[str, Any]] = [
        {**asdict(line), **{f"ratio {what}": line.ratio(what) for what in ("wall", "cpu")}} for line in lines
    ]
    text = as_markdown(lines, given.commit, made_with)
    report.write(given.out, "baseline", text, {"about": made_with, "results": rows})


if __name__ == "__main__":
    main()
