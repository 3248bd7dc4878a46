"""One fused pass over all pairs of 4,898 items judged by six annotators, and how far it is from what memory allows.

Run it with ``make benchmark``; it prints a table and writes ``passes.md`` and ``passes.json`` beside this file. With
``JAMRANK_TRIAL`` naming a file that has the functions ``indexed`` and ``walk`` (numba), these run in between.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.machine import commit, cores, processor, versions
from jamrank.kernels import compiled, default_threads, kernels

HERE = Path(__file__).parent
SEED, REPEATS = 0, 15
N_ITEMS, N_PATTERNS = 4898, 64
TRIAL = Path(os.environ.get("JAMRANK_TRIAL") or HERE.parents[1] / "shared" / "trial_kernel.py")
# Bytes that a pass must move for each row: pattern and curvature, and with an index the second item.
WALK_BYTES, INDEX_BYTES = 1 + 4, 1 + 4 + 2


def contenders() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(SEED)
    first, second = (side.astype(np.int32) for side in np.triu_indices(N_ITEMS, 1))
    pattern = rng.integers(0, N_PATTERNS, len(first)).astype(np.uint8)
    scores, ratio = rng.normal(size=N_ITEMS), np.exp(rng.normal(size=N_PATTERNS))
    start = np.concatenate([[0], np.cumsum(np.arange(N_ITEMS - 1, -1, -1))])
    curvature, by_item = np.empty(len(first), dtype=np.float32), [np.empty(N_ITEMS) for _ in range(2)]
    nothing, none, by_pattern = np.empty(0), np.empty(0, dtype=np.int32), np.empty(N_PATTERNS)

    def run(*layout: np.ndarray) -> None:
        inputs = pattern, nothing, nothing, ratio, scores, nothing, curvature, *by_item, by_pattern
        kernels.expectation(*layout, *inputs, default_threads())

    near = second.astype(np.uint16)
    found: dict[str, Callable[[], object]] = {
        "jamrank, all pairs walked": lambda: run(np.empty(0, dtype=np.int64), none),
        "jamrank, index of second items": lambda: run(start, near),
    }
    trial = load_trial()
    if trial is not None:
        threads = default_threads()
        found["trial in numba, all pairs walked"] = lambda: trial.walk(
            pattern, start[:-1], scores, ratio, N_ITEMS, threads
        )
        found["trial in numba, index arrays"] = lambda: trial.indexed(
            first, second, pattern, scores, ratio, N_ITEMS, threads
        )
    return found


def load_trial() -> ModuleType | None:
    if not TRIAL.exists() or importlib.util.find_spec("numba") is None:
        return None
    spec = importlib.util.spec_from_file_location("trial", TRIAL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy_bandwidth() -> float:
    """Return how many bytes a second all cores together read and write when they copy large arrays."""
    size, threads = 1 << 25, cores()
    sources = [np.ones(size) for _ in range(threads)]
    targets = [np.zeros(size) for _ in range(threads)]

    def copy_all() -> None:
        workers = [threading.Thread(target=np.copyto, args=pair) for pair in zip(targets, sources, strict=True)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return 2 * 8 * size * threads / median_seconds([copy_all])[0]


def median_seconds(calls: list[Callable[[], object]], repeats: int = REPEATS) -> list[float]:
    """Return the median time of each call, all of them in turn."""
    seconds: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(repeats):
        for call, times in zip(calls, seconds, strict=True):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
    return [statistics.median(times) for times in seconds]


def measure() -> dict[str, object]:
    calls = contenders()
    seconds = dict(zip(calls, median_seconds(list(calls.values())), strict=True))
    bandwidth = copy_bandwidth()
    rows = N_ITEMS * (N_ITEMS - 1) // 2
    moved = {"jamrank, all pairs walked": WALK_BYTES, "jamrank, index of second items": INDEX_BYTES}
    ratios = {}
    for ours, theirs in (("all pairs walked", "all pairs walked"), ("index of second items", "index arrays")):
        trial = seconds.get(f"trial in numba, {theirs}")
        if trial is not None:
            ratios[ours] = seconds[f"jamrank, {ours}"] / trial
    return {
        "rows": rows,
        "seconds": seconds,
        "nanoseconds a row": {name: 1e9 * value / rows for name, value in seconds.items()},
        "share of copy bandwidth": {name: each * rows / seconds[name] / bandwidth for name, each in moved.items()},
        "copy bandwidth, GB/s": bandwidth / 1e9,
        "times the trial": ratios,
    }


def as_markdown(found: dict, about: dict[str, str]) -> str:
    lines = [
        f"# One fused pass over {found['rows']:,} pairs, six annotators",
        "",
        "Margin, posterior, likelihood, sums by pattern, gradient and curvature by item, curvature of each pair.",
        "",
        "| | seconds | ns a pair | share of copy bandwidth |",
        "|---|---|---|---|",
    ]
    for name, seconds in found["seconds"].items():
        share = found["share of copy bandwidth"].get(name)
        shown = "" if share is None else f"{share:.0%}"
        lines.append(f"| {name} | {seconds:.4f} | {found['nanoseconds a row'][name]:.2f} | {shown} |")
    lines += ["", f"Copying large arrays on all cores moves {found['copy bandwidth, GB/s']:.1f} GB/s.", ""]
    lines += [f"- {name}: {ratio:.2f} of the trial's time" for name, ratio in found["times the trial"].items()]
    return "\n".join([*lines, *(f"- {key}: {value}" for key, value in about.items()), ""])


if __name__ == "__main__":
    measured = measure()
    where = {
        "repeats": f"{REPEATS}, in turn; medians",
        "commit": commit(),
        "machine": f"{processor()}, {default_threads()} cores",
        "versions": versions("numpy", "jamrank", "numba"),
        "kernels": "compiled" if compiled else "numpy",
    }
    text = as_markdown(measured, where)
    (HERE / "passes.md").write_text(text)
    (HERE / "passes.json").write_text(json.dumps({"about": where, "results": measured}, indent=1) + "\n")
    sys.stdout.write(text)
