"""Trials, measurements, and records beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from jamrank.paper.data import Data


class Measurement(NamedTuple):
    """One number that a trial found; ``setting`` says of what, where a model and a metric do not."""

    model: str
    metric: str
    setting: str
    value: float


class Trial(Protocol):
    """A unit of work whose result is stored and reused; equal trials are shared by experiments.

    A trial is a frozen dataclass: its fields, the code and the data determine the result.
    """

    @property
    def seed(self) -> int:
        """Random seed."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the data files that it reads."""
        ...

    @property
    def cost(self) -> float:
        """Expected seconds, for the progress bar."""
        ...

    def run(self, data: Data) -> list[Measurement]:
        """Do the work."""
        ...


# By trial; each experiment knows the kinds of its own.
Results = Mapping[Any, Sequence[Measurement]]


@dataclass(frozen=True)
class Record:
    """A row of ``results.json``: one number, and the paper's where it gives one.

    Accuracies and shares are in percent, as the paper has them. ``seed`` is None where nothing is random.
    """

    experiment: str
    dataset: str
    model: str
    metric: str
    setting: str
    seed: int | None
    value: float
    paper: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the record as a row of the file."""
        return asdict(self)


class Experiment(Protocol):
    """One experiment of the paper: what to run, what to record, how to show it."""

    name: str
    title: str

    def trials(self, seeds: int, quick: bool) -> list[Trial]:
        """Return what has to be run; ``quick`` for a small version that shows the trend."""
        ...

    def records(self, results: Results) -> list[Record]:
        """Return everything that the trials found, beside the paper and theory."""
        ...

    def summary(self, records: Sequence[Record]) -> list[tuple[str, str, str]]:
        """Return the main results: name, our value, the paper's value."""
        ...

    def table(self, records: Sequence[Record]) -> str:
        """Return the tables as Markdown."""
        ...

    def draw(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return matplotlib figures by name."""
        ...


def value_of(found: Iterable[Measurement], model: str, metric: str, setting: str = "") -> float:
    """Return the one measurement of this name."""
    (value,) = [m.value for m in found if (m.model, m.metric, m.setting) == (model, metric, setting)]
    return value


def pick(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Return the records whose fields have the wanted values."""
    return [record for record in records if all(getattr(record, key) == value for key, value in wanted.items())]


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds, with the half-width of its 95 % interval (none for a single value)."""

    mean: float
    half: float
    n: int

    def text(self, digits: int = 2) -> str:
        """Return it as text for tables."""
        shown = f"{self.mean:.{digits}f}"
        return shown if self.n < 2 else f"{shown} ± {self.half:.{digits}f}"


def estimate(records: Iterable[Record]) -> Estimate:
    """Return the mean of the records' values and its 95 % interval by Student's t."""
    from scipy.stats import t

    values = np.array([record.value for record in records])
    if len(values) < 2:
        return Estimate(float(values.mean()) if len(values) else float("nan"), 0.0, len(values))
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return Estimate(float(values.mean()), float(half), len(values))
