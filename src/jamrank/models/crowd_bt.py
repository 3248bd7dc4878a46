"""Bradley–Terry with annotators who flip."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine
from jamrank.errors import ParameterError
from jamrank.fitting.em import Point
from jamrank.fitting.prior import Prior
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.latent import LatentModel
from jamrank.typing import FloatArray

__all__ = ["CrowdBT"]


class CrowdBT(LatentModel):
    """Free item scores, a truth drawn anew for each vote, a flip probability for each annotator.

    Parameters
    ----------
    noise, ties, flips, prior, init, n_init, max_iter, tol, random_state, engine, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    posterior_ : ndarray
        P(left beats right) for each pair, from the scores: no truth is shared by the votes on a pair.
    """

    _likelihood_unit: ClassVar[str] = "vote"
    _from_disk: ClassVar[bool] = True
    _takes_gold: ClassVar[bool] = True

    def __init__(
        self,
        *,
        noise: str = "flip",
        ties: str = "leave out",
        flips: str = "marginal",
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

    def _fit(self, votes: Votes, features: Any) -> None:
        if features is not None:
            raise ParameterError(f"{type(self).__name__} uses no features; JAM does")
        super()._fit(votes, None)

    def _posterior(self, votes: Comparisons, engine: MemoryEngine, point: Point) -> FloatArray:
        return np.asarray(expit(point.scores[votes.pair_first] - point.scores[votes.pair_second]))
