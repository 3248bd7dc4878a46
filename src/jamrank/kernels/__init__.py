"""Loops over rows of votes, compiled where possible; :mod:`jamrank.kernels.twin` has the same in numpy."""

from __future__ import annotations

import os
import warnings
from typing import Any

from jamrank.errors import SlowKernelsWarning
from jamrank.kernels import twin

__all__ = ["compiled", "default_threads", "kernels"]


def _load() -> Any:
    if os.environ.get("JAMRANK_KERNELS") == "numpy":
        return twin
    try:
        from jamrank.kernels import _native  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return _instead("was installed without its compiled kernels (no C++ compiler was found)")
    if not all(hasattr(_native, name) for name in twin.__all__):
        return _instead("has compiled kernels that are older than its other files")
    return _native


def _instead(found: str) -> Any:
    """Warn of what was found, and return the twins."""
    remedy = "install a C++ compiler and reinstall jamrank"
    warnings.warn(f"jamrank {found} and runs on numpy, many times slower; {remedy}", SlowKernelsWarning, stacklevel=3)
    return twin


kernels = _load()
compiled = kernels is not twin


def default_threads() -> int:
    """Return the default number of threads: every core that this process may run on, unless a variable is set."""
    wanted = os.environ.get("JAMRANK_THREADS") or os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
