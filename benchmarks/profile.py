"""Where the time goes, and how far the passes are from what this machine can do.

``make benchmark-profile`` prints tables, and writes ``profile.md`` and ``profile.json`` beside this file.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jamrank as jr
from benchmarks import report, stages, wine
from benchmarks.machine import about, arithmetic_peak, commit, copy_bandwidth
from benchmarks.votes import draw, draw_jury

SEED, ROUNDS, QUICK_ROUNDS = 0, 5, 1
CROWD = {"n_items": 200, "n_annotators": 50, "n_votes": 500_000}
COMMAND_VOTES, QUICK_ITEMS, QUICK_VOTES = 10_000, 300, 20_000
WITHIN = 5
# Additions, multiplications and divisions, each as one, that the mathematics of a pass asks for on each row:
# odds 1, joint 2, posterior and prior 5, likelihood 1 and its logarithm 5, derivative 1, curvature 6, sums 5.
E_STEP_OPERATIONS = 26
# A curvature product: a difference, a multiplication and two sums.
CURVATURE_OPERATIONS = 4
OPERATIONS = {stages.E_STEP: E_STEP_OPERATIONS, stages.CURVATURE: CURVATURE_OPERATIONS}
ORDER = (
    "start of Python",
    stages.IMPORTS,
    stages.READING,
    stages.ENCODING,
    stages.ROWS,
    stages.E_STEP,
    stages.M_STEP,
    stages.CURVATURE,
)


def jury(quick: bool) -> tuple[str, Callable[[], Any]]:
    """Return JAM on the pairs of white wine or, where it is not at hand, on all pairs of as many made-up items."""
    if wine.items("white")[2] == "white wine":
        wines = wine.draw("white", quick)
        name, inputs = wines.name, (wines.first, wines.second, wines.said, wines.features)
    else:
        n_items, n_features = wine.SHAPES["white"]
        n_items = QUICK_ITEMS if quick else n_items
        drawn = draw_jury(n_items, None, n_features, wine.FLIPS, SEED)
        name, inputs = (
            f"{n_items:,} made-up items",
            tuple(drawn[key] for key in ("first", "second", "said", "features")),
        )
    title = f"JAM from a matrix, {name}, {len(inputs[0]):,} pairs, {len(wine.FLIPS)} annotators, with features"
    return title, lambda: wine.fit(*inputs)


def crowd(quick: bool) -> tuple[str, Callable[[], Any]]:
    numbers = {**CROWD, "n_votes": QUICK_VOTES} if quick else CROWD
    votes, _ = draw(**numbers, seed=SEED)
    size = ", ".join(f"{value:,} {name.removeprefix('n_')}" for name, value in numbers.items())
    columns = votes.left, votes.right, votes.annotator, votes.left_won
    return f"CrowdBT from arrays, {size}", lambda: jr.CrowdBT().fit(jr.Comparisons.from_arrays(*columns))


def profile_fit(fit: Callable[[], Any], rounds: int) -> dict[str, Any]:
    """Return medians of the seconds of each stage, the work of the kernels, and what takes longest in the rest."""
    fitted = fit()
    measured = []
    for _ in range(rounds):
        watch = stages.Stopwatch()
        watch.watch_jamrank()
        try:
            fit()
        finally:
            measured.append(watch.stop())
    work = {stage: vars(one) for stage, one in watch.work.items()}
    return {
        "seconds": medians(measured),
        "passes": fitted.result_.convergence.n_passes,
        "work": work,
        "longest": longest(fit),
    }


def medians(measured: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys([*ORDER, *(name for one in measured for name in one if name != stages.REST), stages.REST])
    found = {name: statistics.median(one.get(name, 0.0) for one in measured) for name in names}
    return {name: value for name, value in found.items() if value}


def longest(fit: Callable[[], Any]) -> list[dict[str, Any]]:
    """Return the functions with the largest time of their own, as the standard profiler sees them."""
    profiler = cProfile.Profile()
    profiler.runcall(fit)
    found = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    own = sorted(((row[2], key) for key, row in found.items()), reverse=True)[:WITHIN]
    return [{"function": _named(*key), "seconds": value} for value, key in own]


def _named(file: str, line: int, function: str) -> str:
    return function.strip("<>") if file == "~" else f"{Path(file).stem}.{function}"


def profile_command(quick: bool, rounds: int) -> tuple[str, dict[str, Any]]:
    n_votes = QUICK_VOTES // 10 if quick else COMMAND_VOTES
    with tempfile.TemporaryDirectory() as folder:
        votes, record = Path(folder) / "votes.csv", Path(folder) / "record.json"
        jr.simulate(200, 50, n_votes, random_state=SEED).frame.write_csv(votes)
        command = ["fit", str(votes), "--out", str(Path(folder) / "out")]
        measured = []
        for _ in range(1 + rounds):
            begun = str(time.monotonic())
            child = [sys.executable, "-m", "benchmarks.stages", begun, str(record), *command]
            subprocess.run(child, cwd=report.HERE.parent, capture_output=True, check=True)
            measured.append(json.loads(record.read_text()))
    # The first run only brings the files into the cache.
    return f"`jamrank fit VOTES --out DIR`, {n_votes:,} votes", {"seconds": medians(measured[1:])}


def limits(found: dict[str, Any], bandwidth: float, peak: float) -> list[dict[str, Any]]:
    """Return, for each kind of pass, what it does a second, beside what this machine does at best."""
    rows = []
    for stage, operations in OPERATIONS.items():
        work, seconds = found["work"].get(stage), found["seconds"].get(stage)
        if work and seconds:
            moved, done = work["bytes"] / seconds, operations * work["rows"] / seconds
            rows.append(
                {
                    "stage": stage,
                    "calls": work["calls"],
                    "ns a row": 1e9 * seconds / work["rows"],
                    "bytes a row": work["bytes"] / work["rows"],
                    "operations a row": operations,
                    "share of copy bandwidth": moved / bandwidth,
                    "share of arithmetic peak": done / peak,
                }
            )
    return rows


def as_markdown(found: dict[str, dict[str, Any]], machine: dict[str, float], made_with: dict[str, str]) -> str:
    lines = [
        "# Where the time goes",
        "",
        "All time is attributed to one stage; the time of a kernel belongs to the stage that calls it. *Rows* is the",
        "construction of the rows that passes run over; *the rest* is everything else, in Python and numpy.",
        "",
    ]
    for title, one in found.items():
        total = sum(one["seconds"].values())
        lines += [f"## {title}", ""]
        shares = [[name, report.seconds(value), f"{value / total:.0%}"] for name, value in one["seconds"].items()]
        lines += report.table(["stage", "seconds", "share"], [*shares, ["all", report.seconds(total), "100%"]])
        if "longest" in one:
            top = ", ".join(f"`{row['function']}` {report.seconds(row['seconds'])} s" for row in one["longest"])
            lines += [f"{one['passes']} passes. Functions with the most own time, by the profiler: {top}.", ""]
    lines += [
        "## Distance to the limits of this machine",
        "",
        f"Copying large arrays on all cores moves {machine['copy bandwidth, GB/s']:.1f} GB/s; BLAS multiplies",
        f"matrices in cache at {machine['arithmetic peak, Gflop/s']:.1f} Gflop/s in float64. Bytes are those of all",
        "arrays of a pass, each read or written once; operations are those that the formulas need, and a division",
        "counts as one. A matrix product uses fused instructions on whole vectors, without divisions, look-ups or",
        "scattered sums, so no pass can reach its rate.",
        "",
    ]
    header = ["fit", "pass", "calls", "ns a row", "bytes a row", "operations a row"]
    header += ["share of copy bandwidth", "share of arithmetic peak"]
    lines += report.table(
        header, [_cells(title.split(",")[0], row) for title, one in found.items() for row in one.get("limits", [])]
    )
    return "\n".join([*lines, *report.made_with(made_with)])


def _cells(title: str, row: dict[str, Any]) -> list[str]:
    cells = [title, row["stage"], str(row["calls"]), f"{row['ns a row']:.2f}", f"{row['bytes a row']:.1f}"]
    shares = [f"{row[f'share of {what}']:.1%}" for what in ("copy bandwidth", "arithmetic peak")]
    return [*cells, str(row["operations a row"]), *shares]


def main() -> None:
    given = report.arguments(report.parser("profile", __doc__))
    begun_at, rounds = commit(), QUICK_ROUNDS if given.quick else ROUNDS
    bandwidth, peak = copy_bandwidth(), arithmetic_peak()
    found = {}
    for title, fit in (jury(given.quick), crowd(given.quick)):
        report.say(f"{title}\n")
        found[title] = profile_fit(fit, rounds)
        found[title]["limits"] = limits(found[title], bandwidth, peak)
    title, found_command = profile_command(given.quick, rounds)
    found[title] = found_command
    machine = {"copy bandwidth, GB/s": bandwidth / 1e9, "arithmetic peak, Gflop/s": peak / 1e9}
    made_with = {"seed": str(SEED), "rounds": f"{rounds} after one to warm up; medians", **about(begun_at, "polars")}
    text = as_markdown(found, machine, made_with)
    report.write(given.out, "profile", text, {"about": made_with, "machine": machine, "results": found})


if __name__ == "__main__":
    main()
