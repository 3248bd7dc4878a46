"""Bradley–Terry with annotators who flip."""

from __future__ import annotations

from typing import Any, ClassVar

from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.models.latent import LatentModel

__all__ = ["CrowdBT"]


class CrowdBT(LatentModel):
    """Free item scores, a latent truth of each vote, a flip probability for each annotator.

    Parameters
    ----------
    noise, ties, flips, prior, init, n_init, max_iter, tol, random_state, engine, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    posterior_ : ndarray
        P(left beats right) for each pair, from the scores: no truth is shared by the votes on a pair.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote",
        scorer="objects",
        noise="flip",
        capabilities=Capabilities(gold=True, out_of_core=True, log_odds=True, annotators=True, likelihood=True),
    )

    def __init__(
        self,
        *,
        noise: str = "flip",
        ties: str = "auto",
        flips: str = "joint",
        prior: Prior | str | None = "auto",
        init: str = "share",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.noise = noise
        self.ties = ties
        self.flips = flips
        self.prior = prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose
