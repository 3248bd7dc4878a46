"""Contenders on the same votes: every measurement in a process of its own, rounds interleaved."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import HERE, say
from benchmarks.rivals import CONTENDERS, Contender
from benchmarks.votes import draw


@dataclass
class Trial:
    """One contender at one size, over all rounds.

    Attributes
    ----------
    trouble : str
        Why there is no result, or not a whole one; empty where all went well.
    over_limit : bool
        Whether a fit took longer than ``limit`` seconds and was stopped.
    cold, warm : list of dict
        The records of :mod:`benchmarks.contend`.
    tau : float or None
        Kendall's τ of the scores with the true ones; None where all scores are equal or NaN.
    """

    contender: Contender
    n_votes: int
    limit: float
    trouble: str = ""
    over_limit: bool = False
    cold: list[dict[str, Any]] = field(default_factory=list)
    warm: list[dict[str, Any]] = field(default_factory=list)
    tau: float | None = None

    @property
    def name(self) -> str:
        return self.contender.name

    def add(self, records: list[dict[str, Any]]) -> None:
        """Take in the records of one process, of which the last may be an error."""
        for record in records:
            if "error" in record:
                self.trouble = record["error"]
            else:
                (self.warm if record["warm"] else self.cold).append(record)

    def stop(self, trouble: str, over_limit: bool = False) -> None:
        self.trouble, self.over_limit = trouble, over_limit

    def compare_with(self, truth: np.ndarray) -> None:
        """Set τ, over the items that have a score."""
        from scipy.stats import kendalltau

        if self.cold:
            scores = np.array([*self.cold, *self.warm][-1]["scores"], dtype=np.float64)
            known = ~np.isnan(scores)
            tau = float(kendalltau(scores[known], truth[known]).statistic)
            self.tau = None if np.isnan(tau) else tau

    def median(self, what: str, warm: bool) -> float | None:
        records = self.warm if warm else self.cold
        return statistics.median(record[what] for record in records) if records else None

    @property
    def seconds(self) -> float | None:
        """Preparation and fit together: warm, or cold where there is no warm fit."""
        warm = self.median("seconds", warm=True)
        return self.median("seconds", warm=False) if warm is None else warm

    def latest(self) -> str:
        """Return how it stands, for the progress."""
        last = [f"{self.cold[-1]['seconds']:.3g} s cold"] if self.cold else []
        last += [f"{self.median('seconds', warm=True):.3g} s warm"] if self.warm else []
        return ", ".join([*last, *([self.trouble] if self.trouble else [])])

    def as_row(self) -> dict[str, Any]:
        return {
            "contender": self.name,
            "package": self.contender.package,
            "annotators": self.contender.annotators,
            "votes": self.n_votes,
            "seconds_cold": self.median("seconds", warm=False),
            "seconds_warm": self.median("seconds", warm=True),
            "seconds_prepare": self.median("prepare", warm=True),
            "seconds_fit": self.median("fit", warm=True),
            "peak_mib": self.median("peak_mib", warm=False),
            "kendall_tau": self.tau,
            "trouble": self.trouble,
            "over_limit": self.over_limit,
            "limit": self.limit,
            "all_cold": [record["seconds"] for record in self.cold],
            "all_warm": [record["seconds"] for record in self.warm],
        }


@dataclass(frozen=True)
class World:
    """What the votes are drawn from."""

    n_items: int
    n_annotators: int
    seed: int


@dataclass(frozen=True)
class Plan:
    """How one contender is measured: so many processes, so many warm fits in each, a limit for every fit."""

    rounds: int
    warm: int
    limit: float


def measure_at(world: World, n_votes: int, plans: dict[str, Plan]) -> dict[str, Trial]:
    """Measure at one size: rounds outside, contenders inside."""
    trials = {name: Trial(CONTENDERS[name], n_votes, plan.limit) for name, plan in plans.items()}
    with tempfile.TemporaryDirectory() as folder:
        votes, truth = draw(world.n_items, world.n_annotators, n_votes, world.seed)
        votes.save(Path(folder))
        del votes
        for turn in range(max((plan.rounds for plan in plans.values()), default=0)):
            for name, plan in plans.items():
                if turn < plan.rounds and not trials[name].trouble:
                    say(f"{n_votes:,} votes, round {turn + 1} of {plan.rounds}: {name} … ")
                    _run(trials[name], Path(folder), plan)
                    say(trials[name].latest() + "\n")
    for trial in trials.values():
        trial.compare_with(truth)
    return trials


def _run(trial: Trial, folder: Path, plan: Plan) -> None:
    """Measure once, in a new process."""
    if not trial.contender.installed:
        trial.stop("not installed")
        return
    records = folder / "records.jsonl"
    records.unlink(missing_ok=True)
    arguments = [trial.name, str(folder), str(plan.limit), str(plan.warm), str(records)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.contend", *arguments],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = records.read_text().splitlines() if records.exists() else []
    trial.add([json.loads(line) for line in lines])
    if ended.returncode == -signal.SIGALRM:
        trial.stop(f"> {plan.limit:g} s", over_limit=True)
    elif ended.returncode < 0:
        trial.stop(f"killed by {signal.Signals(-ended.returncode).name}")
    elif ended.returncode and not trial.trouble:
        trial.stop(f"ended with status {ended.returncode}")
