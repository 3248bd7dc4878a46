"""The candidates of a comparison of models, and how each predicted held-out votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jamrank.data.covariates import SIDE
from jamrank.typing import FloatArray


@dataclass(frozen=True)
class Candidate:
    """A model to be compared: how to make one, what it uses, and what to fit to all votes if it is chosen."""

    name: str
    make: Callable[[], Any]
    features: bool = False
    annotators: bool = False
    model: Any = None
    pooled_baseline_of: str | None = None
    """The model of which this is the pooled baseline: for comparison, never chosen."""

    @property
    def noise(self) -> str | None:
        """The noise of the annotators, where it is one of the grid."""
        return None if self.model is None or not self.annotators else self.model.get_params().get("noise")

    @property
    def by_side(self) -> bool:
        """Whether it estimates a preference for a side."""
        known = {} if self.model is None else self.model.get_params()
        return known.get("noise") == "two-coin" or SIDE in known.get("covariates", ())

    def differs_in_unit(self, other: Candidate) -> bool:
        """Whether both are the same but for what shares a truth, a vote or a pair: neither is simpler."""
        if self.noise is None or self.noise != other.noise or self.features or other.features:
            return False
        return bool(self.model._spec.unit != other.model._spec.unit)


@dataclass(frozen=True)
class Estimate:
    """A mean over held-out votes with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


@dataclass(frozen=True)
class Trial:
    """The predictions of a model for held-out votes, one entry per decided vote."""

    candidate: Candidate
    proba: FloatArray
    """P(the vote is for the first item of its pair); NaN if there is no prediction."""
    seconds: float
    tie_loss: FloatArray | None = None
    """Of each folded vote, minus the log-probability of being a tie or not; None where the model has no ties."""
