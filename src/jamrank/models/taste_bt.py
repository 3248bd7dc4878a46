"""Bradley–Terry with annotators who have tastes of their own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError, NotConvergedWarning, ParameterError, TiesExcludedWarning, warn
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.fitting.taste_votes import TasteVotes
from jamrank.fitting.tastes import fit_tastes
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.families import DrawnUncertainty
from jamrank.inference.latent import N_DRAWS
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.score_uncertainty import ScoreUncertainty, at_least_one
from jamrank.inference.scores import SAME_SCORE, Scores
from jamrank.inference.tastes import TastePredictor, summarise
from jamrank.inference.vote_summary import VoteSummary
from jamrank.models.base import RankingModel
from jamrank.typing import FloatArray

# The cubes of the numbers of items of each annotator, added up: beyond, a fit takes more than some minutes.
MOST_WORK = 20_000_000_000.0
_TIES = ("auto", "davidson", "leave out")


class TasteBT(RankingModel):
    """Free item scores, and for each annotator a discrimination and a taste of their own.

    An annotator has the scores ``a s + e`` in mind: the common scores times a discrimination, and an own effect on
    each item. Both are normal, with variances that are estimated. Intervals of the scores allow for the tastes, so an
    annotator with many votes on an item says little more of it than one with some. Votes that were derived from
    ratings depend on each other in the same way: all votes of a rater on an item come from one rating.

    Parameters
    ----------
    ties : {"auto", "davidson", "leave out"}
        A tie is an outcome with a threshold for each annotator ("auto", "davidson"), or it is left out.
    n_draws : int
        How many draws of the scores to keep.
    max_iter : int
        Most iterations.
    tol : float
        Stop when the logarithms of all variances change by less than this, and margins by less than ten times this,
        times one plus the standard deviation of the tastes.

    Attributes
    ----------
    discrimination_ : ndarray
        Of each annotator; 1 on average.
    taste_sd_ : float
        Standard deviation of the own effects on items.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.

    Notes
    -----
    The posterior is approximated by a normal distribution (a Gaussian variational approximation). The work of an
    iteration grows with the cube of the number of items that each annotator voted on, and of that of all items.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(unit="vote", capabilities=Capabilities(log_odds=True, annotators=True))

    def __init__(self, *, ties: str = "auto", n_draws: int = N_DRAWS, max_iter: int = 200, tol: float = 3e-3) -> None:
        self.ties = ties
        self.n_draws = n_draws
        self.max_iter = max_iter
        self.tol = tol

    @property
    def discrimination_(self) -> FloatArray:
        """Discrimination of each annotator."""
        found: FloatArray = self.result_.extras["discrimination"]
        return found

    @property
    def taste_sd_(self) -> float:
        """Standard deviation of the own effects on items."""
        return float(self.result_.extras["taste_sds"][0])

    def _fit(self, given: FitInput) -> RankingResult:
        if given.features is not None:
            raise ParameterError(f"{type(self).__name__} uses no features; JAM does")
        if self.ties not in _TIES:
            raise ParameterError(f"ties is {self.ties!r}; expected one of {', '.join(map(repr, _TIES))}")
        votes, n_draws = given.in_memory, at_least_one("n_draws", self.n_draws)
        if not (votes.annotator_decided > 0).any():
            raise InputError("no decided vote", "a ranking needs votes that prefer one item to another")
        if votes.n_ties and self.ties == "leave out":
            warn(f"{votes.n_ties:,.0f} tie votes were left out", TiesExcludedWarning)
        counted = TasteVotes.of(votes, ties=self.ties != "leave out")
        if counted.work > MOST_WORK:
            raise ParameterError(
                f"{votes.n_items:,} items by {votes.n_annotators:,} annotators are too many for TasteBT; use AmElo"
            )
        fit = fit_tastes(counted, at_least_one("max_iter", self.max_iter), float(self.tol))
        if not fit.converged:
            warn(f"TasteBT did not converge in {fit.n_iter} iterations", NotConvergedWarning)
        found = summarise(fit, counted, n_draws)
        values = fit.scores[np.argsort(counted.items)]

        def opinion(part: Comparisons) -> FloatArray:
            margin = values[part.pair_first] - values[part.pair_second]
            return np.asarray(np.where(np.abs(margin) <= SAME_SCORE, 0.0, np.sign(margin)))

        scores = Scores(votes.items, values, type(self).__name__, score_variance=fit.variances.score)
        flip, ended = disagreement(votes, opinion), Convergence(converged=fit.converged)
        return self._counted_result(VoteSummary.of(votes), scores, flip, ended, self.get_params(), extras=found)

    @classmethod
    def _counted_parts(
        cls,
        votes: VoteSummary,
        scores: Scores,
        flip: FloatArray,
        se: FloatArray | None,
        extras: dict[str, Any],
        posterior: FloatArray | None,
    ) -> tuple[AnnotatorFit, TastePredictor, ScoreUncertainty]:
        """Return the parts of a result whose draws are in the extras."""
        predictor = TastePredictor(votes, scores, extras)
        uncertainty = DrawnUncertainty(votes, scores, extras["score_draws"], chains=False)
        return AnnotatorFit(votes, flip, predictor), predictor, uncertainty
