"""A quick fit of CrowdBT, which several tests of the same votes begin with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.models.registry import find_model
from jamrank.typing import FloatArray

_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class CrowdFit:
    """What is kept of the fit; it must not hold the votes, which it would keep alive.

    scores: Of each item.
    flip: Of each annotator.
    proba: Of each decided vote, the probability that it is for the first item of its pair.
    log_likelihood: Of all votes.
    """

    scores: FloatArray
    flip: FloatArray
    proba: FloatArray
    log_likelihood: float


# Votes are frozen: they are fitted once.
_FITS: WeakKeyDictionary[Comparisons, dict[str, CrowdFit]] = WeakKeyDictionary()


def fit_crowd(votes: Comparisons, noise: str = "flip") -> CrowdFit:
    """Fit a CrowdBT whose flips are fitted jointly with the scores, without ties."""
    known = _FITS.setdefault(votes, {})
    if noise not in known:
        model: Any = find_model("CrowdBT")().set_params(noise=noise, flips="joint", ties="leave out", tol=_TOL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JamrankWarning)
            result = model.fit(votes).result_
            proba = np.asarray(model.vote_proba(votes))
        likelihood = float(result.convergence.log_likelihood or -np.inf)
        known[noise] = CrowdFit(result.scores.scores, result.annotators.overall, proba, likelihood)
    return known[noise]
