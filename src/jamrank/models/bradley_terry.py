"""Bradley–Terry: all annotators are equally reliable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.prediction import CertainPredictor, LatentPredictor
from jamrank.models.latent import LatentModel


@dataclass(kw_only=True, repr=False, eq=False)
class BradleyTerry(LatentModel):
    """Free item scores, and votes without noise.

    Parameters
    ----------
    ties : {"auto", "davidson", "half", "leave out"}
        As in :class:`JAM`.
    prior : "auto", Prior or None
        Normal prior on the scores, its variance estimated from the votes; None for plain maximum likelihood.
    max_iter, tol, engine, n_jobs, verbose
        As in :class:`JAM`; ``tol`` is smaller, since without latent truths convergence is quadratic.

    Attributes
    ----------
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote",
        scorer="objects",
        noise="none",
        capabilities=Capabilities(out_of_core=True, log_odds=True, likelihood=True),
    )
    _predictor: ClassVar[type[LatentPredictor]] = CertainPredictor

    ties: str = "auto"
    prior: Prior | str | None = "auto"
    max_iter: int = 500
    tol: float = 1e-8
    engine: str = "auto"
    n_jobs: int | None = None
    verbose: bool = False
