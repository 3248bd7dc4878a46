"""Bradley–Terry: every annotator is believed equally."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.engines import Engine
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.em import Point
from jamrank.fitting.prior import Prior
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import RankingModel
from jamrank.models.crowd_bt import CrowdBT
from jamrank.models.latent import LatentModel
from jamrank.noise import Noise, NoNoise
from jamrank.typing import FloatArray

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

    _likelihood_unit: ClassVar[str] = "side"
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
        return NoNoise(engine.n_confusion_groups)

    def _flips(self, votes: Votes, point: Point) -> FloatArray:
        def opinion(part: Comparisons) -> FloatArray:
            return np.asarray(np.sign(point.scores[part.pair_first] - point.scores[part.pair_second]))

        return disagreement(votes, opinion)

    # A vote is its own truth.
    _vote_proba = LatentModel._truth_proba

    def _says_left(self, better: FloatArray, who: NDArray[np.intp]) -> FloatArray:
        return better

    # Flips are counted here, not estimated: as in the base of all models.
    _estimate_flip_information = RankingModel._estimate_flip_information
    _truth_of_votes = RankingModel._truth_of_votes
