"""Whether `jamrank fit --out`, killed at any moment, leaves one run's files and nothing else.

The whole command runs in a process of its own, again and again, over the results of an earlier run of other votes and
other files, and is ended at a random moment: half of them anywhere, half while it publishes. `python -m
benchmarks.kills` writes kills.md and .json.
"""

# ruff: noqa: E501
from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from importlib import import_module
from pathlib import Path

from benchmarks.machine import about, commit
from benchmarks.report import arguments, made_with, parser, say, table, write

KILLS, QUICK_KILLS, SEEDS = 100, 6, (1, 2)
WAYS = ("folders exchanged", "journal in the folder")
FILES = {"ranking.csv", "annotators.csv", "pairs.csv", "model.jamrank", "report.html"}
# Two runs whose files and items differ.
RUNS = {
    "old": (["--export", "json,markdown"], FILES | {"results.json", "leaderboard.md"}),
    "new": (["--export", "preferences", "--by", "group"], FILES | {"preferences.csv", "by.csv"}),
}
NOTE = "notes.txt"


def votes(run: str, folder: Path) -> Path:
    """Write the votes of a run, whose items are called like it."""
    path = folder / f"{run}.csv"
    rows = [f"w{k % 3},{run}-item{k % 4},{run}-item{(k + 1 + k // 4 % 2) % 4},{'left' if k % 3 else 'right'},g{k % 2}" for k in range(48)]  # fmt: skip
    path.write_text("annotator,left,right,winner,group\n" + "\n".join(rows) + "\n")
    return path


def begin(run: str, place: Path, way: str) -> int:
    """Start the command in a process of its own; return its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:  # Ctrl-C at any moment must end here: further up, the folder of this benchmark would be removed
        sink = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(sink, stream)
        from jamrank.cli import main
        from jamrank.io import publish

        if way == WAYS[1]:
            publish._renameat2 = lambda: None
        options, _ = RUNS[run]
        command = ["fit", str(place.parent / f"{run}.csv"), "--model", "WinRate", "--out", str(place), *options]
        main.main(command, prog_name="jamrank")
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def staged(place: Path) -> set[str]:
    """Return the folders in which processes prepare new files: beside the folder or in it."""
    return {path.name for folder in (place.parent, place) for path in folder.iterdir() if ".jamrank-" in path.name}


def whose(place: Path) -> str:
    """Return which run the files of a folder are of; say what is wrong where they are of none."""
    found = {path.name for path in place.iterdir()} - {NOTE}
    for run, (_, names) in RUNS.items():
        if found == names:
            other = next(name for name in RUNS if name != run)
            strange = [name for name in sorted(names) if f"{other}-item".encode() in _content(place / name)]
            return f"{run}, but {strange} of the other" if strange else run
    return f"neither: {sorted(found)}"


def _content(path: Path) -> bytes:
    if path.suffix != ".jamrank":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def kill(place: Path, run: str, way: str, rng: random.Random, usual: float, number: int) -> tuple[str, str]:
    """Start a run, end it at a random moment; return when that was and what is there afterwards."""
    from jamrank.io import recover_run

    before, leftover = _names(place.parent), staged(place)
    child, began = begin(run, place, way), time.monotonic()
    aimed = number % 2 == 0
    if aimed:
        while time.monotonic() - began < 30 * usual and staged(place) <= leftover and not _is_gone(child):
            time.sleep(0.0005)
        time.sleep(rng.choice([0, 0.001, 0.003, 0.01]) * rng.random())
    else:
        time.sleep(rng.uniform(0, 1.2 * usual))
    amid = not staged(place) <= leftover
    how = signal.SIGINT if number % 3 == 0 else signal.SIGKILL
    os.kill(child, how)
    code = ended(child)
    if way == WAYS[1] and how == signal.SIGKILL:
        recover_run(place)  # as every command does that reads or writes results
    state = whose(place)
    left = _names(place.parent) - before
    if left and how == signal.SIGINT:
        state = f"{state}, and {sorted(left)} beside it"
    if (place / NOTE).read_text() != "mine":
        state = "a file of the user's was changed"
    return ("while publishing" if amid else "finished before" if code == 0 else "elsewhere"), state


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _is_gone(child: int) -> bool:
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def measure(way: str, kills: int, seed: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """Kill so many runs; return when they were killed, whose files were there, and what was wrong."""
    rng, moments, states, wrong = random.Random(f"{seed} {way}"), Counter[str](), Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="jamrank-kills-") as home:
        place = Path(home) / "results"
        for run in RUNS:
            votes(run, Path(home))
        began = time.monotonic()
        for run in RUNS:
            if ended(begin(run, place, way)) != 0 or whose(place) != run:
                raise RuntimeError(f"the run {run!r} fails by itself: {whose(place)}")
        usual = (time.monotonic() - began) / len(RUNS)
        (place / NOTE).write_text("mine")
        for number in range(kills):
            run = rng.choice(list(RUNS))
            moment, state = kill(place, run, way, rng, usual, number)
            moments[moment] += 1
            states[state] += 1
            if state not in RUNS:
                wrong.append(f"{way}, kill {number}: {state}")
                say(f"{wrong[-1]}\n")
        # The next run cleans up.
        if ended(begin("old", place, way)) != 0 or whose(place) != "old":
            wrong.append(f"{way}: the run after the kills: {whose(place)}")
        left = _names(Path(home)) - {"results", *(f"{run}.csv" for run in RUNS)}
        if left:
            wrong.append(f"{way}: the run after the kills leaves {sorted(left)}")
    return moments, states, wrong


def main() -> None:
    asked = parser("kills", __doc__ or "")
    asked.add_argument("--kills", type=int, help=f"how many in each way and seed (default: {KILLS})")
    asked.add_argument("--seed", type=int, action="append", help=f"repeat for more (default: {SEEDS})")
    given = arguments(asked)
    kills, seeds, begun_at = (
        given.kills or (QUICK_KILLS if given.quick else KILLS),
        given.seed or list(SEEDS),
        commit(),
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it otherwise
    for name in ("cli.main", "cli.fit", "cli.run", "cli.results", "cli.display", "io", "models", "report"):
        import_module(f"jamrank.{name}")  # once, and not again in every process
    rows, numbers, wrong = [], {}, []
    for way in WAYS:
        moments, states = Counter[str](), Counter[str]()
        for seed in seeds:
            more = measure(way, kills, seed)
            moments, states, wrong = moments + more[0], states + more[1], wrong + more[2]
        numbers[way] = {"moments": dict(moments), "states": dict(states)}
        rows.append([way, *(f"{moments[m]:,}" for m in ("while publishing", "elsewhere", "finished before")), *(f"{states[run]:,}" for run in RUNS)])  # fmt: skip
    facts = about(begun_at)
    text = [
        "# Killed runs",
        "",
        "Made by `make kills`. `jamrank fit --out` over the files of an earlier run of other votes, ended by SIGKILL (two of",
        "three) or SIGINT at a random moment, half of them anywhere, half while it publishes. Afterwards the folder must hold",
        "one run's files, a file of the user's, and nothing else; after SIGINT there must be nothing beside it either, and",
        "after the last run nothing at all. Where folders cannot be exchanged (other systems), a killed process may leave a",
        "hidden journal in the folder, which the next command completes or undoes: it is counted after that.",
        "",
        f"{kills * len(seeds) * len(WAYS):,} kills with seeds {' and '.join(map(str, seeds))}; {len(wrong)} wrong.",
        "",
        *table(["way", "killed while publishing", "elsewhere", "finished before", "old files", "new files"], rows),
        *[f"- {line}" for line in wrong[:20]],
        *made_with(facts),
    ]
    write(given.out, "kills", "\n".join(text), {"kills": kills, "seeds": seeds, "wrong": wrong, **numbers, **facts})


if __name__ == "__main__":
    sys.exit(main())
