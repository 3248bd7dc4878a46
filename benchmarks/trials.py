"""What was measured of one contender at one size, and what one contender is to another."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.rivals import Contender


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
        The records of :mod:`benchmarks.measure`.
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
    stderr: str = ""
    tau: float | None = None

    @property
    def name(self) -> str:
        return self.contender.name

    def add(self, records: list[dict[str, Any]], stderr: str) -> None:
        """Take in the records of one process, of which the last may be an error."""
        self.stderr = stderr.strip() or self.stderr
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
            "stderr": self.stderr[-600:],
        }


@dataclass(frozen=True)
class Ratio:
    """How many times longer a rival takes than ours, by their trials at the same size."""

    rival: Trial
    ours: Trial
    target: float

    @property
    def value(self) -> float | None:
        """The ratio, or a lower bound of it where the rival was stopped."""
        theirs = self.rival.limit if self.is_bound else self.rival.seconds
        return theirs / self.ours.seconds if theirs and self.ours.seconds else None

    @property
    def is_bound(self) -> bool:
        return self.rival.over_limit and not self.rival.cold

    def as_row(self) -> dict[str, Any]:
        return {
            "rival": self.rival.name,
            "ours": self.ours.name,
            "votes": self.rival.n_votes,
            "seconds_rival": None if self.is_bound else self.rival.seconds,
            "seconds_ours": self.ours.seconds,
            "ratio": self.value,
            "lower_bound_only": self.is_bound,
            "rival_cold_only": bool(self.rival.cold) and not self.rival.warm,
            "target": self.target,
            "text": str(self),
        }

    def __str__(self) -> str:
        what = f"{self.rival.name} / {self.ours.name} at {self.rival.n_votes:,} votes"
        if self.value is None:
            troubles = [f"{trial.name}: {trial.trouble}" for trial in (self.rival, self.ours) if trial.trouble]
            return f"{what}: not measured ({'; '.join(troubles)})"
        reached = self.value >= self.target
        if self.is_bound:
            verdict = "reached" if reached else "not shown"
            bound = f"> {self.rival.limit:g} s / {self.ours.seconds:.3g} s, so more than {self.value:.3g}"
            return f"{what}: {bound} (a lower bound: stopped at the limit; target ≥ {self.target:g}: {verdict})"
        how = "" if self.rival.warm else "one cold fit of the rival, imports included; "
        verdict = f"({how}target ≥ {self.target:g}: {'reached' if reached else 'missed'})"
        return f"{what}: {self.rival.seconds:.3g} s / {self.ours.seconds:.3g} s = {self.value:.3g} {verdict}"
