"""Bradley–Terry: every annotator is believed equally."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import Comparisons
from jamrank.engines import Engine
from jamrank.io.parted import Votes
from jamrank.models.agreement import disagreement
from jamrank.models.base import RankingModel
from jamrank.models.crowd_bt import CrowdBT
from jamrank.models.em import Point
from jamrank.models.latent import LatentModel
from jamrank.models.prior import Prior
from jamrank.noise import Noise, NoNoise

__all__ = ["BradleyTerry"]


class BradleyTerry(CrowdBT):
    """Free item scores, and votes that are taken for the truth.

    Parameters
    ----------
    ties : {"leave out", "davidson"}
        As in :class:`JAM`.
    prior : "auto", Prior or None
        Normal prior on the scores, its variance estimated from the votes; None for plain maximum likelihood.
    max_iter, tol, engine, n_jobs, verbose
        As in :class:`JAM`; ``tol`` is smaller, for without hidden truths every step gains digits.

    Attributes
    ----------
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _rows_by: ClassVar[str] = "side"
    _knows_annotators: ClassVar[bool] = False
    _takes_gold: ClassVar[bool] = False

    def __init__(
        self,
        *,
        ties: str = "leave out",
        prior: Prior | str | None = "auto",
        max_iter: int = 500,
        tol: float = 1e-8,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.ties = ties
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _noise(self, engine: Engine, prior: Prior | None) -> Noise:
        return NoNoise(engine.n_coins)

    def _flips(self, votes: Votes, point: Point) -> NDArray[np.float64]:
        def opinion(part: Comparisons) -> NDArray[np.float64]:
            return np.sign(point.scores[part.pair_first] - point.scores[part.pair_second])

        return disagreement(votes, opinion)

    # A vote is its own truth.
    _vote_proba = LatentModel._truth_proba

    def _says_left(self, better: NDArray[np.float64], who: NDArray[np.intp]) -> NDArray[np.float64]:
        return better

    # Flips are counted here, not estimated: as in the base of all models.
    _estimate_flip_information = RankingModel._estimate_flip_information
    _truth_of_votes = RankingModel._truth_of_votes
