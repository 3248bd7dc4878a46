"""The logistic loss, the hinge and Rennie's smooth hinge; and JAM with either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from jamrank.models import JAM
from jamrank.paper.data import Data
from jamrank.paper.trials import Measurement
from jamrank.paper.wine import different_pairs, noisy_votes, wine_flips
from jamrank.typing import FloatArray


def _hinge(margin: FloatArray) -> FloatArray:
    return np.maximum(1 - margin, 0)


def _smooth_hinge(margin: FloatArray) -> FloatArray:
    """Return Rennie's: a parabola between 0 and 1, linear below, 0 above."""
    return np.where(margin >= 1, 0.0, np.where(margin <= 0, 0.5 - margin, (1 - margin) ** 2 / 2))


# Objectives of an M-step, as functions of the margin.
CURVES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log of the logistic": lambda margin: np.asarray(log_expit(margin)),
    "negative hinge": lambda margin: -_hinge(margin),
    "negative smooth hinge": lambda margin: -_smooth_hinge(margin),
}


@dataclass(frozen=True)
class LossTrial:
    """JAM with the logistic loss and with the paper's hinge, on the same votes."""

    seed: int
    n_pairs: int

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the data files that it reads."""
        return ("winequality-red.csv",)

    @property
    def cost(self) -> float:
        """About how many seconds it takes."""
        return 1.0

    def run(self, data: Data) -> list[Measurement]:
        """Fit both losses."""
        features, quality = data.wine("red")
        rng = np.random.default_rng(self.seed)
        left, right = different_pairs(quality, self.n_pairs, rng)
        votes = noisy_votes(left, right, quality, wine_flips(), rng)
        known, truth = features[votes.items], quality[votes.items]
        fits = {loss: JAM(loss=loss).fit(votes, known) for loss in ("logistic", "hinge")}
        return [Measurement(f"JAM, {loss}", "accuracy", "", 100 * fit.score(truth)) for loss, fit in fits.items()]
