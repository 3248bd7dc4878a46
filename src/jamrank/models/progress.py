"""Progress of a fit, shown only when asked for."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]


class Progress:
    """A line on the terminal with the iteration and how far there is to go; nothing where it is not wanted.

    Parameters
    ----------
    name : str
        What is fitted.
    show : bool
        Whether to show anything.
    tol : float
        Where the fit will stop.
    """

    def __init__(self, name: str, show: bool, tol: float) -> None:
        self.name, self.show, self.tol = name, show, tol
        self._bar: Any = None
        self._first: float | None = None

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
        """Note an iteration; distance falls geometrically, so the bar moves with its logarithm."""
        if self._bar is None:
            return
        done = 0.0
        if 0 < remaining < math.inf:
            self._first = max(self._first or remaining, remaining, 10 * self.tol)
            done = math.log(self._first / remaining) / math.log(self._first / self.tol)
        state = f"iteration {iteration}"
        if remaining < math.inf:
            state += f", within {remaining:.1e} of the limit"
        self._bar.update(self._task, completed=min(max(done, 0.0), 1.0), state=state)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
