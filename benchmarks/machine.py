"""On what, and with what, something was measured; and what that machine can do at best."""

from __future__ import annotations

import os
import platform
import subprocess
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
# Double-precision matrices of this side stay in cache and keep all cores busy.
MATRIX_SIDES = (512, 1024)
LIMIT_ROUNDS = 15


def about(begun_at: str, *packages: str) -> dict[str, str]:
    """Return where it was measured, and on which commit: on two, where it changed since ``begun_at``."""
    ended_at = commit()
    return {
        "commit": begun_at if begun_at == ended_at else f"changed meanwhile: {begun_at}, then {ended_at}",
        "machine": f"{processor()}, {cores()} cores",
        "kernels of jamrank": _kernels(),
        "versions": versions("jamrank", "numpy", "scipy", *packages),
    }


def commit() -> str:
    name = _git("rev-parse", "--short", "HEAD") or "unknown"
    return f"{name}, with uncommitted changes in src" if _git("status", "--porcelain", "--", "../src") else name


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def versions(*packages: str) -> str:
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in packages)])


def copy_bandwidth() -> float:
    """Return how many bytes a second all cores together read and write when they copy large arrays."""
    import numpy as np

    from benchmarks.measure import in_turn

    size, threads = 1 << 25, cores()
    sources = [np.ones(size) for _ in range(threads)]
    targets = [np.zeros(size) for _ in range(threads)]

    def copy_all() -> None:
        workers = [threading.Thread(target=np.copyto, args=pair) for pair in zip(targets, sources, strict=True)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    seconds, _ = in_turn({"copy": copy_all}, LIMIT_ROUNDS)
    return 2 * 8 * size * threads / seconds["copy"]


def arithmetic_peak() -> float:
    """Return how many additions and multiplications of doubles a second BLAS reaches on all cores."""
    import numpy as np

    from benchmarks.measure import in_turn

    matrices = {str(n): np.random.default_rng(0).random((n, n)) for n in MATRIX_SIDES}
    seconds, _ = in_turn({name: lambda m=m: m @ m for name, m in matrices.items()}, LIMIT_ROUNDS)
    return max(2 * int(name) ** 3 / taken for name, taken in seconds.items())


def _kernels() -> str:
    try:
        from jamrank.kernels import compiled
    except Exception as error:
        return f"unknown ({type(error).__name__}: {error})"
    return "compiled" if compiled else "numpy"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=HERE, check=False).stdout.strip()
