"""Where the time goes, by stages: a stopwatch that is told when functions are entered and left.

``python -m benchmarks.stages BEGUN RECORD ARGUMENT…`` runs the command ``jamrank ARGUMENT…`` under it and writes what
it found to the file RECORD; BEGUN is ``time.monotonic()`` before the process was started.
"""

from __future__ import annotations

import functools
import importlib
import importlib._bootstrap as bootstrap  # type: ignore[import-not-found]
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

REST = "the rest"
READING, ENCODING, ROWS, IMPORTS, OUTPUT = "reading", "encoding", "rows", "imports", "report and files"
E_STEP, M_STEP, CURVATURE = "E-step passes", "M-step passes", "curvature products"
# What the kernels are for, by how their names begin; one that is not here is shown by its own name.
KERNELS = {"expectation": E_STEP, "maximisation": M_STEP, "laplacian": CURVATURE, "lloyd": "clustering"}
# Stages by module and function, or class and how its methods' names begin. What is no longer there is left out.
FUNCTIONS = {
    ("jamrank.io", "read_comparisons"): READING,
    ("jamrank.io", "write_together"): OUTPUT,
    ("jamrank.report", "describe"): OUTPUT,
    ("jamrank.report", "render"): OUTPUT,
}
METHODS = {
    ("jamrank.data.comparisons", "Comparisons", "from_"): ENCODING,
    ("jamrank.rows.rows", "Rows", "per_"): ROWS,
}


@dataclass
class Work:
    """What was asked of the kernels of one stage: calls, rows and bytes of their arrays, each counted once a call."""

    calls: int = 0
    rows: int = 0
    bytes: int = 0

    def add(self, arguments: tuple[Any, ...]) -> None:
        arrays = [one for one in arguments if hasattr(one, "nbytes")]
        self.calls += 1
        self.rows += max((len(one) for one in arrays), default=0)
        self.bytes += sum(one.nbytes for one in arrays)


@dataclass
class Stopwatch:
    """Gives every moment to the innermost stage; the kernels of reading, encoding and rows are part of these."""

    seconds: dict[str, float] = field(default_factory=dict)
    work: dict[str, Work] = field(default_factory=dict)
    _open: list[str] = field(default_factory=lambda: [REST])
    _since: float = field(default_factory=time.perf_counter)
    _undo: list[tuple[Any, str, Any]] = field(default_factory=list)

    def _turn(self) -> None:
        now = time.perf_counter()
        self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def stop(self) -> dict[str, float]:
        """Return the seconds of each stage, and put everything back."""
        self._turn()
        for owner, name, original in reversed(self._undo):
            setattr(owner, name, original)
        return self.seconds

    def watch(self, owner: Any, name: str, stage: str, kernel: bool = False) -> None:
        """Time a function wherever it is called as ``owner.name``."""
        original = owner.__dict__.get(name, None)
        if original is None:
            return
        is_method = isinstance(original, classmethod)
        function: Callable[..., Any] = original.__func__ if is_method else original

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            closed = kernel and self._open[-1] in (READING, ENCODING, ROWS)
            if closed or threading.current_thread() is not threading.main_thread():
                return function(*args, **kwargs)
            if kernel:
                self.work.setdefault(stage, Work()).add(args)
            with self.stage(stage):
                return function(*args, **kwargs)

        self._undo.append((owner, name, original))
        setattr(owner, name, classmethod(watched) if is_method else watched)

    def watch_imports(self) -> None:
        self.watch(bootstrap, "_find_and_load", IMPORTS)

    def watch_jamrank(self) -> None:
        from jamrank.kernels import kernels

        for name in [name for name in dir(kernels) if not name.startswith("_")]:
            if callable(getattr(kernels, name)):
                purpose = [stage for start, stage in KERNELS.items() if name.startswith(start)]
                self.watch(kernels, name, purpose[0] if purpose else name, kernel=True)
        for (module, class_name, start), stage in METHODS.items():
            owner = getattr(importlib.import_module(module), class_name, None)
            for name in [name for name in vars(owner or object) if name.startswith(start)]:
                self.watch(owner, name, stage)
        for (module, name), stage in FUNCTIONS.items():
            self.watch(importlib.import_module(module), name, stage)


def run_command(begun: float, arguments: list[str]) -> dict[str, float]:
    """Run a jamrank command in this process; return the seconds of its stages, the start of Python among them."""
    started = time.monotonic() - begun
    watch = Stopwatch()
    watch.watch_imports()
    from jamrank.cli import main

    watch.watch_jamrank()
    try:
        main(arguments)
    except SystemExit as ending:
        if ending.code:
            raise
    return {"start of Python": started, **watch.stop()}


if __name__ == "__main__":
    import sys

    record = sys.argv[2]
    found = run_command(float(sys.argv[1]), sys.argv[3:])
    import json
    from pathlib import Path

    Path(record).write_text(json.dumps(found))
