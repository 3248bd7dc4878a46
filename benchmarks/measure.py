"""Time and memory, measured in the same way everywhere."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")
Call = Callable[[], Any]


def in_turn(calls: Mapping[str, Call], rounds: int, warm_up: bool = True) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the median seconds of each call, and what it returned last; in every round each has its turn."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    results = {name: call() for name, call in calls.items()} if warm_up else {}
    for _ in range(rounds):
        for name, call in calls.items():
            results[name], taken = timed(call)
            seconds[name].append(taken)
    return {name: statistics.median(times) for name, times in seconds.items()}, results


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function of a module in a new process, which starts without what this one has in memory."""
    # Imported here: a contender's first fit is timed with its imports, and nothing may be imported before.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def memory(field: str) -> float:
    """Return a field of /proc/self/status in MiB, or else the peak.

    Linux's getrusage would do for the peak were it not that a new process inherits its parent's.
    """
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
