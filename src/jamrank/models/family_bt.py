"""Bradley–Terry with families of annotators who think alike, and with tastes of each annotator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError, NotConvergedWarning, ParameterError, TiesExcludedWarning, warn
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.families import WARM_UP, FamilyDraws, sample_families
from jamrank.fitting.family_normal import fit_families, nearly_normal
from jamrank.fitting.family_state import ALONE
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.fitting.taste_votes import TasteVotes
from jamrank.fitting.tastes import fit_tastes
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.families import (
    DrawnUncertainty,
    FamilyAnnotators,
    FamilyPredictor,
    families_ranking,
    summarise,
)
from jamrank.inference.latent import N_DRAWS
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.score_uncertainty import ScoreUncertainty, at_least_one
from jamrank.inference.scores import SAME_SCORE, Scores
from jamrank.inference.tastes import TasteAnnotators, TastePredictor, keep_tastes
from jamrank.inference.vote_summary import VoteSummary
from jamrank.models.base import RankingModel
from jamrank.typing import FloatArray, IntArray

# A sweep costs as the cube of the items, for each annotator; beyond, a fit takes more than some minutes.
_MOST_WORK = 20_000_000
# Chains that disagree more than this have not settled.
_LARGEST_RHAT = 1.5
# The cubes of the numbers of items of each annotator, added up: beyond, a fit takes more than half an hour.
_MOST_TASTE_WORK = 20_000_000_000.0
_TIES = ("auto", "davidson", "leave out")


class FamilyBT(RankingModel):
    """Free item scores, flips, and families of annotators who share a taste: intervals that allow for it.

    An annotator has the scores ``s + f + e`` in mind: the common scores, an effect on each item that the members of a
    family share, and an own effect. Deviations of the effects, flips and, unless given, families are drawn from
    their posterior together with the scores, so that intervals of scores and ranks allow for what is not known of
    them: by Gibbs sampling or, where votes are many, from a normal approximation in a fraction of the time. With
    annotators who err independently it is :class:`CrowdBT`.

    Parameters
    ----------
    families : mapping, optional
        The family of annotators by id; found in the votes unless given. Annotators that it does not name have none.
    n_draws : int
        How many draws to keep. Gibbs sampling has 16 chains, each after up to 80 sweeps that are discarded (fewer
        with few draws).
    random_state : int
        Seed of the draws.

    Attributes
    ----------
    families_ : ndarray of int
        Number of each annotator's family, -1 for none: given, or likelier than not.
    same_taste_ : ndarray of shape (annotators, annotators)
        How likely two annotators have the same taste: both are of one family, or neither of any.
    effective_judges_ : float
        How many independent annotators these are equivalent to.
    rankings_by_family_ : data frame
        The ranking of every group of annotators with one taste.

    Notes
    -----
    Ties are left out. The work grows with the cube of the number of items. The normal approximation is used where the
    product of the annotators and the cube of the items is above 500,000 and each annotator cast at least 30 votes for
    each item on average: 100 annotators, 100 items and a million votes take about a second. With fewer votes
    the product may be up to 20 million.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote", capabilities=Capabilities(log_odds=True, annotators=True, families=True, tastes=True)
    )

    def __init__(
        self, *, families: Mapping[Any, Any] | None = None, n_draws: int = N_DRAWS, random_state: int = 0
    ) -> None:
        self.families = families
        self.n_draws = n_draws
        self.random_state = random_state

    @property
    def families_(self) -> IntArray:
        """Number of each annotator's family; -1 for none."""
        found: IntArray = self.result_.extras["family"]
        return found

    @property
    def same_taste_(self) -> FloatArray:
        """How likely two annotators have the same taste."""
        found: FloatArray = self.result_.extras["same_taste"]
        return found

    @property
    def rankings_by_family_(self) -> Any:
        """Frame: family, annotators, item, rank, score, score_low, score_high, rank_low, rank_high."""
        return families_ranking(self.result_.votes, self.result_.extras)

    def _fit(self, given: FitInput) -> RankingResult:
        if given.features is not None:
            raise ParameterError(f"{type(self).__name__} uses no features; JAM does")
        votes, n_draws = given.in_memory, at_least_one("n_draws", self.n_draws)
        kept = np.flatnonzero(votes.annotator_decided > 0)
        if not len(kept):
            raise InputError("no decided vote", "a ranking needs votes that prefer one item to another")
        normal = nearly_normal(len(kept), votes.n_items, float(votes.annotator_decided.sum()))
        if not normal and len(kept) * votes.n_items**3 > _MOST_WORK:
            raise ParameterError(
                f"{len(kept):,} annotators and {votes.n_items:,} items are too many for FamilyBT; use CrowdBT"
            )
        if votes.n_ties:
            warn(f"{votes.n_ties:,.0f} tie votes were left out", TiesExcludedWarning)
        known = self._known_families(votes)
        draws = _draw(votes, kept, None if known is None else known[kept], n_draws, self.random_state, normal)
        found = summarise(draws, kept, votes.annotator_decided)
        if normal:
            found["normal"] = True
        if known is not None:
            found["family"] = known
        scores = Scores(
            votes.items,
            draws.scores.mean(axis=0),
            type(self).__name__,
            score_variance=float((draws.sds[:, 0] ** 2).mean()),
        )
        result = self._counted_result(
            VoteSummary.of(votes), scores, draws.flip.mean(axis=0), Convergence(), self.get_params(), extras=found
        )
        rhat = result.uncertainty.diagnostics
        if rhat is not None and rhat.rhat > _LARGEST_RHAT:
            warn(
                f"chains disagree (R-hat {rhat.rhat:.2f}): the votes allow for several explanations, and intervals "
                "are a rough guide",
                NotConvergedWarning,
            )
        return result

    def _known_families(self, votes: Comparisons) -> IntArray | None:
        if self.families is None:
            return None
        if not isinstance(self.families, Mapping):
            raise ParameterError(f"families is {self.families!r}; expected None or the family of each annotator")
        # Ids of a file are text.
        given = {str(name): family for name, family in self.families.items()}
        names = [str(name) for name in votes.annotators.tolist()]
        unknown = [name for name in given if name not in set(names)]
        if unknown:
            raise ParameterError(f"families names {unknown[0]}, who cast no vote")
        named = [given.get(name) for name in names]
        numbers = {name: g for g, name in enumerate(dict.fromkeys(name for name in named if name is not None))}
        return np.array([ALONE if name is None else numbers[name] for name in named], dtype=np.int64)

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
        """Return the parts of a result whose draws are in the extras."""
        predictor = FamilyPredictor(votes, scores, extras)
        uncertainty = DrawnUncertainty(votes, scores, extras["score_draws"], chains=not extras.get("normal"))
        return FamilyAnnotators(votes, predictor), predictor, uncertainty


def _draw(
    votes: Comparisons, kept: IntArray, families: IntArray | None, n_draws: int, seed: int, normal: bool
) -> FamilyDraws:
    """Draw in an order that does not depend on names."""
    pairs = FamilyVotes.of(votes)
    place = np.full(votes.n_annotators, -1)
    place[kept] = np.arange(len(kept))
    pairs = replace(pairs, annotator=place[pairs.annotator], n_annotators=len(kept))
    pairs, items, annotators = pairs.ordered(sort=not normal)
    own = None if families is None else _renumbered(families[annotators])
    if normal:
        drawn = fit_families(pairs, own, n_draws, seed)
    else:
        drawn = sample_families(pairs, own, n_draws=n_draws, warm_up=min(WARM_UP, n_draws // 4), random_state=seed)
    item, who = np.argsort(items), np.argsort(annotators)
    return FamilyDraws(
        drawn.scores[:, item],
        drawn.own[:, who][:, :, item],
        drawn.flip[:, who],
        drawn.family[:, who],
        drawn.sds,
    )


def _renumbered(families: IntArray) -> IntArray:
    """Return given families numbered without gaps; one of a single member is none."""
    size = np.bincount(families[families >= 0], minlength=families.max(initial=0) + 1)
    kept = np.where((families >= 0) & (size[families] > 1), families, ALONE)
    numbers = np.unique(kept[kept >= 0])
    return np.where(kept >= 0, np.searchsorted(numbers, kept), ALONE)


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

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote", capabilities=Capabilities(log_odds=True, annotators=True, tastes=True)
    )

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
        if counted.work > _MOST_TASTE_WORK:
            raise ParameterError(
                f"{votes.n_items:,} items by {votes.n_annotators:,} annotators are too many for TasteBT; use AmElo"
            )
        fit = fit_tastes(counted, at_least_one("max_iter", self.max_iter), float(self.tol))
        if not fit.converged:
            warn(f"TasteBT did not converge in {fit.n_iter} iterations", NotConvergedWarning)
        found = keep_tastes(fit, counted, n_draws)
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
        traits = {"discrimination": extras["discrimination"]}
        if "tie_threshold" in extras:
            traits["tie"] = 0.5 * np.exp(extras["tie_threshold"])
        return TasteAnnotators(votes, flip, predictor, traits), predictor, uncertainty
