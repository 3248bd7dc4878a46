"""Bradley–Terry: all annotators are equally reliable; and with covariates of the votes that sway annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.covariates import SIDE, checked_covariates
from jamrank.data.storage import FIRST, TIE
from jamrank.engines import Choice
from jamrank.errors import InputError, ParameterError, UncertaintyWarning, warn
from jamrank.fitting.covariate_mode import CovariateVotes
from jamrank.fitting.covariates import (
    find_identified,
    first_dependent,
    fit_covariates,
    item_constants,
    typical_size,
)
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.covariates import (
    CovariateAnnotators,
    CovariatePredictor,
    NormalUncertainty,
    confounded,
    oriented,
    ranking_with_effects,
    summarise,
)
from jamrank.inference.prediction import CertainPredictor, LatentPredictor, LinkPredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.score_uncertainty import ScoreUncertainty
from jamrank.inference.scores import SAME_SCORE, Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.reader import read_comparisons
from jamrank.models.base import RankingModel
from jamrank.models.latent import LatentModel
from jamrank.typing import FloatArray

# The work grows with the cube of the items, and with their square for each annotator.
_MOST_ITEMS, _MOST_WORK = 2000, 1_000_000_000
# Squares of covariates must be finite, and not 0.
_LARGEST = 1e100


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


@dataclass(kw_only=True, repr=False, eq=False)
class CovariateBT(RankingModel):
    """Free item scores, and covariates of the votes that sway annotators: their effects are taken out of the scores.

    The log-odds of an opinion for the item on the left are the difference of the scores plus, for each covariate, its
    value times a coefficient of the annotator. A vote is the opinion or, with the probability of a flip, its
    opposite. Coefficients of annotators are normal around a common mean, with a standard deviation that is estimated.
    The ranking is the one with all covariates at 0.

    Parameters
    ----------
    covariates : list of str
        Columns of the votes: numbers, left minus right, such as the difference in length of two answers; swapping the
        sides of a vote negates them. ``side`` stands for the side itself: a preference for the item on the left.
    reference : str, optional
        An annotator whom no covariate sways. If a covariate is a difference of constants of the items, its common
        effect can be separated from the scores only with a reference; otherwise differences between annotators are
        estimated.
    noise : {"flip", "none"}
        Whether annotators may err, beside what sways them. With ``flip`` each has a flip; how frequent flips are is
        integrated out, no flips being one possibility.

    Attributes
    ----------
    effects_ : data frame
        Coefficients of all annotators (their mean) and of each, with 95 % intervals and a sentence.
    ranking_with_effects_ : data frame
        The ranking with the effects left in: the same model without covariates.
    confounded_ : list of str
        A sentence on every covariate whose common effect cannot be separated from the scores.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.

    Notes
    -----
    A tie counts half a vote for each side. For up to 2,000 items.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote", capabilities=Capabilities(ties=True, log_odds=True, covariates=True)
    )

    covariates: Sequence[str] = (SIDE,)
    reference: str | None = None
    noise: str = "flip"

    @property
    def effects_(self) -> Any:
        """Frame: covariate, annotator (or ``all``), coef, coef_se, coef_low, coef_high, sentence."""
        return self.result_.effects_frame()

    @property
    def ranking_with_effects_(self) -> Any:
        """The ranking with the effects left in; columns as in ``ranking_``."""
        return ranking_with_effects(self.result_.votes, self.result_.extras)

    @property
    def confounded_(self) -> list[str]:
        """A sentence on every covariate whose common effect cannot be separated from the scores."""
        return confounded(self.result_.extras)

    def _bring(self, votes: Any) -> tuple[Choice, Votes]:
        if not isinstance(votes, (Comparisons, PartedComparisons)):
            votes = read_comparisons(votes, covariates=self._names())
        return super()._bring(votes)

    def _names(self) -> tuple[str, ...]:
        checked_covariates(self.covariates)
        names = (self.covariates,) if isinstance(self.covariates, str) else tuple(dict.fromkeys(self.covariates))
        if not names:
            raise ParameterError("CovariateBT has no covariates; expected names of columns, or 'side'")
        return names

    def _fit(self, given: FitInput) -> RankingResult:
        if given.features is not None:
            raise ParameterError(f"{type(self).__name__} uses no features; JAM does")
        if self.noise not in ("flip", "none"):
            raise ParameterError(f"noise is {self.noise!r}; expected 'flip' or 'none'")
        votes, names = given.in_memory, self._names()
        if votes.n_items > _MOST_ITEMS or votes.n_items**2 * votes.n_annotators * len(names) > _MOST_WORK:
            raise ParameterError(
                f"{votes.n_items:,} items and {votes.n_annotators:,} annotators are too many for CovariateBT"
            )
        observed = self._observations(votes, names)
        fit, plain = (
            fit_covariates(part, flips=self.noise == "flip")
            for part in (observed, replace(observed, x=observed.x[:, :0]))
        )
        found = summarise(names, typical_size(observed), fit, plain)
        for sentence in confounded(found):
            warn(sentence, UncertaintyWarning)
        scores = Scores(votes.items, fit.scores, type(self).__name__, score_variance=fit.score_variance)

        def opinion(part: Comparisons) -> FloatArray:
            margin = fit.scores[part.pair_first] - fit.scores[part.pair_second]
            return np.where(np.abs(margin) <= SAME_SCORE, 0.0, np.sign(margin))

        flip = disagreement(votes, opinion)
        return self._counted_result(
            VoteSummary.of(votes), scores, flip, Convergence(), self.get_params(), extras=found
        )

    def _observations(self, votes: Comparisons, names: tuple[str, ...]) -> CovariateVotes:
        """Return the votes as observations, and refuse covariates that explain nothing."""
        cast = votes.vote_weight > 0
        if not votes.annotator_decided.any():
            raise InputError("no decided vote", "a ranking needs votes that prefer one item to another")
        x = oriented(votes, names)
        for c, name in enumerate(names):
            shown = np.where(votes.vote_swapped, -x[:, c], x[:, c])[cast]
            if name != SIDE and np.ptp(shown) == 0:
                hint = f"use {SIDE!r} for a preference for a side" if shown[0] else "it cannot explain anything"
                raise InputError(f"{name} is {shown[0]:g} in every vote", hint)
            largest = float(np.abs(shown).max())
            if not 1 / _LARGEST <= largest <= _LARGEST:
                raise InputError(
                    f"{name} is at most {largest:g}",
                    f"expected values whose largest is between {1 / _LARGEST:g} and {_LARGEST:g}; use another unit",
                )
        if self.reference is not None:
            known = [str(name) for name in votes.annotators.tolist()]
            if str(self.reference) not in known:
                raise ParameterError(f"reference is {self.reference}, who cast no vote")
            x = np.where((votes.vote_annotator == known.index(str(self.reference)))[:, None], 0.0, x)
        pair, result = votes.vote_pair[cast], votes.vote_result[cast]
        observed = CovariateVotes(
            votes.pair_first[pair].astype(np.int64),
            votes.pair_second[pair].astype(np.int64),
            votes.vote_annotator[cast].astype(np.int64),
            np.where(result == TIE, 0.5, result == FIRST),
            np.asarray(votes.vote_weight[cast], dtype=np.float64),
            x[cast],
            votes.n_items,
            votes.n_annotators,
        )
        without = np.flatnonzero(~observed.x.any(axis=0))
        if len(without):
            raise InputError(
                f"{names[without[0]]} is 0 in every vote of the annotators whom it may sway",
                "leave it out, or name another reference",
            )
        _, residual = item_constants(observed)
        dependent = first_dependent(observed, residual, find_identified(observed, residual))
        if dependent is not None:
            raise InputError(
                f"{names[dependent]} follows from the other covariates and the items", "leave one of them out"
            )
        return observed

    @classmethod
    def _counted_parts(
        cls,
        votes: VoteSummary,
        scores: Scores,
        flip: FloatArray,
        se: FloatArray | None,
        extras: dict[str, Any],
        posterior: FloatArray | None,
    ) -> tuple[AnnotatorFit, LinkPredictor, ScoreUncertainty]:
        """Return the parts of a result whose effects are in the extras."""
        predictor = CovariatePredictor(votes, scores, extras)
        uncertainty = NormalUncertainty(votes, scores, extras["information"])
        return CovariateAnnotators(votes, flip, predictor), predictor, uncertainty
