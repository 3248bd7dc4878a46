"""Sets that a benchmark has measured: kept line by line while it runs, and packed as tables in a committed file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks import machine, report

# One set, with its name, seed and commit; the name is under another key in each benchmark.
Measured = dict[str, Any]
Case = tuple[str, int]


def run(
    measure: Callable[[str, int], Measured],
    following: Callable[[list[Measured]], list[Case]],
    key: str,
    done: Path | None,
    jobs: int,
    minutes: float,
    known: Iterable[Measured] = (),
) -> list[Measured]:
    """Measure sets, for so long; return all that are known.

    measure: Returns the set with this name and seed.
    following: Returns the next sets to be measured, given those that are known; none at the end.
    key: What the name of a set is called.
    done: Where sets are kept as they are measured; None to keep none.
    jobs: Processes.
    known: Sets that are known already.
    """
    found = {(one[key], one["seed"]): one for one in [*known, *_kept(done)]}
    if done is not None:
        done.parent.mkdir(exist_ok=True)
        with done.open("a") as lines:
            lines.write("\n")  # after a line that was cut off
    end = monotonic() + 60 * minutes
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        while monotonic() < end and (chunk := following(list(found.values()))):
            commit = machine.commit()
            for case, one in zip(chunk, pool.map(measure, *zip(*chunk, strict=True)), strict=True):
                found[case] = {key: case[0], "seed": case[1], **one, "commit": commit}
                if done is not None:
                    with done.open("a") as lines:
                        lines.write(json.dumps(found[case]) + "\n")
            report.say(f"{len(found):,} sets, {len(chunk)} in the last round\n")
    return list(found.values())


def _kept(done: Path | None) -> list[Measured]:
    lines = done.read_text().splitlines() if done is not None and done.exists() else []
    return [one for line in lines if (one := _parsed(line)) is not None]


def _parsed(line: str) -> Measured | None:
    """Return a set, or None of a line that was cut off when a run was stopped."""
    try:
        return dict(json.loads(line))
    except ValueError:
        return None


def packed(sets: Iterable[Measured], key: str) -> list[dict[str, Any]]:
    """Return sets with the same name, commit and figures as one table each, figures to four digits."""
    tables: dict[tuple[str, ...], list[list[Any]]] = {}
    for one in sets:
        names = tuple(name for name in one if name not in (key, "commit"))
        tables.setdefault((one[key], one["commit"], *names), []).append([_rounded(one[name]) for name in names])
    return [
        {key: name, "commit": commit, "names": names, "sets": rows} for (name, commit, *names), rows in tables.items()
    ]


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def unpacked(tables: Iterable[dict[str, Any]], key: str) -> list[Measured]:
    """Return the sets of tables."""
    return [
        {key: one[key], **dict(zip(one["names"], values, strict=True)), "commit": one["commit"]}
        for one in tables
        for values in one["sets"]
    ]


def text(tables: Iterable[dict[str, Any]]) -> str:
    """Return tables as JSON, one on each line."""
    return "[" + ",\n".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in tables) + "]\n"
