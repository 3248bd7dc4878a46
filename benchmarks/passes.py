"""One fused pass over all pairs of 4,898 items judged by six annotators, and how far it is from what memory allows.

The pass is margin, posterior, likelihood, sums by pattern and gradient by item; with curvature, also that of each
pair and by item.

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
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.machine import commit, cores, processor, versions
from jamrank.kernels import compiled, default_threads, kernels

HERE = Path(__file__).parent
SEED, REPEATS = 0, 30
# Threads of numba keep a core busy for a while after their work is done.
PAUSE_SECONDS = 0.03
N_ITEMS, N_PATTERNS = 4898, 64
TRIAL = Path(os.environ.get("JAMRANK_TRIAL") or HERE.parents[1] / "shared" / "trial_kernel.py")
# Bytes that a pass must move for each row: pattern, with an index the second item, and curvature where it is wanted.
BYTES = {
    "jamrank, all pairs walked": 1,
    "jamrank, index of second items": 1 + 2,
    "jamrank, all pairs walked, with curvature": 1 + 4,
    "jamrank, index of second items, with curvature": 1 + 2 + 4,
}


def contenders() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(SEED)
    first, second = (side.astype(np.int32) for side in np.triu_indices(N_ITEMS, 1))
    pattern = rng.integers(0, N_PATTERNS, len(first)).astype(np.uint8)
    scores, ratio = rng.normal(size=N_ITEMS), np.exp(rng.normal(size=N_PATTERNS))
    start = np.concatenate([[0], np.cumsum(np.arange(N_ITEMS - 1, -1, -1))])
    curvature, by_item = np.empty(len(first), dtype=np.float32), [np.empty(N_ITEMS) for _ in range(2)]
    nothing, none, by_pattern = np.empty(0), np.empty(0, dtype=np.int32), np.empty(N_PATTERNS)

    def run(bend: np.ndarray, *layout: np.ndarray) -> None:
        inputs = pattern, nothing, nothing, ratio, scores, nothing, bend, *by_item, by_pattern
        kernels.expectation(*layout, *inputs, default_threads())

    walk, index = (np.empty(0, dtype=np.int64), none), (start, second.astype(np.uint16))
    passes = ((bend, layout) for bend in (curvature[:0], curvature) for layout in (walk, index))
    found: dict[str, Callable[[], object]] = {
        name: partial(run, bend, *layout) for name, (bend, layout) in zip(BYTES, passes, strict=True)
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

    return 2 * 8 * size * threads / statistics.median(seconds_of([copy_all], REPEATS // 2)[0])


def seconds_of(calls: list[Callable[[], object]], repeats: int = REPEATS) -> list[list[float]]:
    """Return the times of each call, all of them in turn."""
    seconds: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(repeats):
        for call, times in zip(calls, seconds, strict=True):
            time.sleep(PAUSE_SECONDS)
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
    return seconds


def measure() -> dict[str, object]:
    calls = contenders()
    times = dict(zip(calls, seconds_of(list(calls.values())), strict=True))
    # Whatever else runs on the machine only adds.
    seconds = {name: min(each) for name, each in times.items()}
    bandwidth = copy_bandwidth()
    rows = N_ITEMS * (N_ITEMS - 1) // 2
    ratios = {}
    for name in BYTES:
        theirs = "all pairs walked" if "all pairs" in name else "index arrays"
        trial = seconds.get(f"trial in numba, {theirs}")
        if trial is not None:
            ratios[name] = seconds[name] / trial
    return {
        "rows": rows,
        "seconds": seconds,
        "median seconds": {name: statistics.median(each) for name, each in times.items()},
        "nanoseconds a row": {name: 1e9 * value / rows for name, value in seconds.items()},
        "share of copy bandwidth": {name: each * rows / seconds[name] / bandwidth for name, each in BYTES.items()},
        "copy bandwidth, GB/s": bandwidth / 1e9,
        "times the trial": ratios,
    }


def as_markdown(found: dict, about: dict[str, str]) -> str:
    lines = [
        f"# One fused pass over {found['rows']:,} pairs, six annotators",
        "",
        "Margin, posterior, likelihood, sums by pattern, gradient by item; with curvature, that of pairs and items.",
        "",
        "| | least seconds | median | ns a pair | share of copy bandwidth |",
        "|---|---|---|---|---|",
    ]
    for name, seconds in found["seconds"].items():
        share = found["share of copy bandwidth"].get(name)
        shown = "" if share is None else f"{share:.0%}"
        middle, each = found["median seconds"][name], found["nanoseconds a row"][name]
        lines.append(f"| {name} | {seconds:.4f} | {middle:.4f} | {each:.2f} | {shown} |")
    lines += ["", f"Copying large arrays on all cores moves {found['copy bandwidth, GB/s']:.1f} GB/s.", ""]
    lines += [f"- {name}: {ratio:.2f} of the trial's least time" for name, ratio in found["times the trial"].items()]
    return "\n".join([*lines, *(f"- {key}: {value}" for key, value in about.items()), ""])


if __name__ == "__main__":
    measured = measure()
    where = {
        "repeats": f"{REPEATS}, in turn",
        "commit": commit(),
        "machine": f"{processor()}, {default_threads()} cores",
        "versions": versions("numpy", "jamrank", "numba"),
        "kernels": "compiled" if compiled else "numpy",
    }
    text = as_markdown(measured, where)
    (HERE / "passes.md").write_text(text)
    (HERE / "passes.json").write_text(json.dumps({"about": where, "results": measured}, indent=1) + "\n")
    sys.stdout.write(text)
