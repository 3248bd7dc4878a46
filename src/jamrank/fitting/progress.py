"""Progress of a fit, shown only when asked for."""

from __future__ import annotations

import math
from time import monotonic
from types import TracebackType
from typing import Any, Self


class Progress:
    """A line on the terminal with the iteration and the remaining time; nothing if not shown.

    name: What is fitted.
    show: Whether to show anything.
    tol: Where the fit will stop.
    """

    def __init__(self, name: str, show: bool, tol: float) -> None:
        self.name, self.show, self.tol = name, show, tol
        self._bar: Any = None
        self._first: float | None = None
        self._iteration, self._passes, self._share = "", 0, 0.0
        self._begin = self._counted = monotonic()

    def __enter__(self) -> Self:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[state]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=1.0, state="")
        return self

    def __call__(self, iteration: int, remaining: float) -> None:
        """Show an iteration; the distance falls geometrically, so the bar moves with its logarithm."""
        if self._bar is None:
            return
        done = 0.0
        if 0 < remaining < math.inf:
            if self._first is None:
                self._counted = monotonic()
            self._first = max(self._first or remaining, remaining, 10 * self.tol)
            done = math.log(self._first / remaining) / math.log(self._first / self.tol)
        self._share = min(max(done, 0.0), 1.0)
        self._iteration = f"iteration {iteration}"
        if remaining < math.inf:
            self._iteration += f", within {remaining:.1e} of the limit"
        self._show("")

    def part(self, done: int, total: int) -> None:
        """Show how much of a pass over votes on disk is done."""
        if self._bar is None:
            return
        self._passes += done == 0
        self._show(f"pass {self._passes}: {done} of {total} parts")

    def refit(self, done: int, total: int) -> None:
        """Show how many of several fits are done."""
        self._share, self._iteration = done / total, f"fit {done + 1} of {total}"
        if self._bar is not None:
            self._show("")

    def _show(self, part: str) -> None:
        state = [self._iteration, part]
        if 0.05 < self._share < 1.0:
            state.append(f"about {_duration((monotonic() - self._counted) * (1 / self._share - 1))} left")
        self._bar.update(self._task, completed=self._share, state=", ".join(filter(None, state)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
