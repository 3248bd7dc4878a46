"""The fits of the golden file: every model but ``Auto``, every parameter named, so that no default changes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jamrank as jr

__all__ = ["CASES", "Case"]

PRIOR = jr.Prior(
    flip_wrong=1.0,
    flip_right=2.0,
    weight_variance=None,
    score_variance=None,
    bias_variance=1.0,
    discrimination_variance=1.0,
    tie_variance=1.0,
)
GIVEN_VARIANCES = jr.Prior(
    flip_wrong=2.0,
    flip_right=3.0,
    weight_variance=4.0,
    score_variance=2.5,
    bias_variance=0.5,
    discrimination_variance=0.5,
    tie_variance=0.5,
)

# What most models share.
_LOOP: dict[str, Any] = {"prior": PRIOR, "max_iter": 500, "n_jobs": 1, "verbose": False}
_STARTS: dict[str, Any] = {"init": "share", "n_init": 1, "random_state": 7}
_NOISY: dict[str, Any] = {"noise": "flip", "ties": "leave out", "engine": "memory", "tol": 1e-5} | _LOOP | _STARTS

PARAMETERS: dict[str, dict[str, Any]] = {
    "MajorityVote": {},
    "IAM": {"normalise": False, "loss": "logistic", "tol": 1e-5} | _LOOP,
    "JAM": {"scorer": "objects", "loss": "logistic", "flips": "joint"} | _NOISY,
    "VRJAM": {"n_clusters": 2, "centroid_gap": 0.5, "max_clusters": 8, "loss": "logistic", "tol": 1e-5}
    | _LOOP
    | _STARTS,
    "KernelJAM": {"scorer": "kernel", "kernel": "rbf", "n_landmarks": 200, "loss": "logistic"} | _NOISY,
    "BradleyTerry": {"ties": "leave out", "tol": 1e-8, "engine": "memory"} | _LOOP,
    "MixedBT": {"scorer": "linear+objects", "ties": "leave out", "tol": 1e-8, "engine": "memory"} | _LOOP,
    "CrowdBT": _NOISY | {"scorer": "objects", "flips": "joint"},
    "AmElo": {"engine": "memory", "tol": 1e-6} | _LOOP,
    "DawidSkene": {"noise": "flip", "tol": 1e-5} | _LOOP | _STARTS,
    "Borda": {},
    "Copeland": {},
    "HodgeRank": {"flow": "log-odds", "smoothing": 0.5},
    "RankCentrality": {"smoothing": 0.5},
    "WinRate": {},
}
NEED_FEATURES = ("IAM", "VRJAM", "KernelJAM", "MixedBT")
EVERYWHERE = [name for name in PARAMETERS if name not in NEED_FEATURES]


@dataclass(frozen=True)
class Case:
    """One fit: a model with parameters, and which data it is given."""

    model: str
    data: str
    label: str = ""
    changed: dict[str, Any] = field(default_factory=dict)
    features: bool = False
    gold: bool = False
    start: str | None = None
    # Whether to ask for what may rest on draws from the posterior, which take most of the time: ranks and intervals.
    draws: bool = True

    @property
    def name(self) -> str:
        return f"{self.data}:{self.model}" + (f"({self.label})" if self.label else "")

    @property
    def parameters(self) -> dict[str, Any]:
        return PARAMETERS[self.model] | self.changed


def plain() -> Iterator[Case]:
    """Yield every model on every data set that it can take."""
    for data in ("jury", "crowd", "features", "ties", "questions", "gold", "sides", "two"):
        for model in EVERYWHERE:
            slow = model in ("JAM", "CrowdBT", "BradleyTerry") and data in ("features", "gold", "sides")
            yield Case(model, data, draws=not slow)
    for model in NEED_FEATURES:
        yield Case(model, "features", features=True)


def of_noise_and_ties() -> Iterator[Case]:
    for model in ("JAM", "CrowdBT", "DawidSkene"):
        for data in ("jury", "crowd", "sides"):
            yield Case(model, data, "two-coin", {"noise": "two-coin"}, draws=data != "crowd")
    for model in ("JAM", "CrowdBT", "BradleyTerry"):
        yield Case(model, "ties", "davidson", {"ties": "davidson"})
    yield Case("CrowdBT", "jury", "davidson, no ties", {"ties": "davidson"})
    for model in ("JAM", "CrowdBT"):
        both = {"noise": "two-coin", "ties": "davidson"}
        yield Case(model, "ties", "two-coin, davidson", both, draws=False)


def of_features() -> Iterator[Case]:
    for scorer in ("linear", "linear+objects", "kernel", "kernel+objects"):
        yield Case("JAM", "features", f"{scorer}", {"scorer": scorer}, features=True)
    yield Case("JAM", "features", "linear, two-coin", {"scorer": "linear", "noise": "two-coin"}, features=True)
    yield Case("JAM", "features", "linear, hinge", {"scorer": "linear", "loss": "hinge"}, features=True)
    yield Case("KernelJAM", "features", "kernel+objects", {"scorer": "kernel+objects"}, features=True)
    yield Case("KernelJAM", "features", "linear kernel", {"kernel": "linear"}, features=True)
    yield Case("KernelJAM", "features", "6 landmarks", {"n_landmarks": 6}, features=True)
    yield Case("MixedBT", "features", "kernel+objects", {"scorer": "kernel+objects"}, features=True)
    yield Case("MixedBT", "features", "linear", {"scorer": "linear"}, features=True)
    yield Case("IAM", "features", "normalised", {"normalise": True}, features=True)
    yield Case("IAM", "features", "hinge", {"loss": "hinge"}, features=True)
    yield Case("VRJAM", "features", "clusters found", {"n_clusters": "auto"}, features=True)
    yield Case("VRJAM", "features", "one cluster", {"n_clusters": 1}, features=True)


def of_gold() -> Iterator[Case]:
    for model in ("JAM", "CrowdBT", "DawidSkene"):
        yield Case(model, "gold", "known", gold=True)
        yield Case(model, "gold", "known, two-coin", {"noise": "two-coin"}, gold=True, draws=False)


def of_priors_and_starts() -> Iterator[Case]:
    for model in ("JAM", "CrowdBT", "BradleyTerry", "AmElo", "DawidSkene"):
        yield Case(model, "jury", "given variances", {"prior": GIVEN_VARIANCES}, draws=model == "JAM")
    # Only where the likelihood has a finite maximum: where scores diverge, rounding decides where they stop.
    for model in ("CrowdBT", "BradleyTerry", "AmElo", "DawidSkene"):
        yield Case(model, "sides", "no prior", {"prior": None}, draws=False)
    yield Case("JAM", "features", "linear, no prior", {"scorer": "linear", "prior": None}, features=True)
    for model in ("JAM", "CrowdBT", "DawidSkene"):
        yield Case(model, "crowd", "random starts", {"init": "random", "n_init": 3}, draws=False)
    for model in ("JAM", "CrowdBT", "AmElo"):
        yield Case(model, "crowd", "from BradleyTerry", start="BradleyTerry", draws=False)
    yield Case("JAM", "questions", "from CrowdBT", start="CrowdBT", draws=False)
    yield Case("HodgeRank", "jury", "share", {"flow": "share", "smoothing": 1.0})
    yield Case("RankCentrality", "jury", "more smoothing", {"smoothing": 2.0})


_ALL = [*plain(), *of_noise_and_ties(), *of_features(), *of_gold(), *of_priors_and_starts()]
CASES = {case.name: case for case in _ALL}
assert len(CASES) == len(_ALL), "two cases have one name"
