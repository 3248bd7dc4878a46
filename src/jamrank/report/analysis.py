"""A result with its votes: everything that report and terminal show, each computed at most once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from jamrank.acquisition.goals import Goal
from jamrank.acquisition.suggestions import Suggestions, suggest_pairs
from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics import Contested, Health, Unsettled, check, contested_pairs, unsettled_pairs
from jamrank.diagnostics.graph import question_of_items
from jamrank.errors import ParameterError
from jamrank.inference.result import RankingResult
from jamrank.io.any_votes import as_votes
from jamrank.io.given import VoteSource
from jamrank.io.out_of_core.parted import Votes
from jamrank.report.record import AgreementMatrix, Skills
from jamrank.report.result_tables import ResultTables
from jamrank.typing import FloatArray, IntArray

# Up to so many items the choice of pairs knows how scores vary together.
_MOST_JOINT = 500
_MOST_NEXT = 10
# Of more annotators, this many are shown in the matrix of who agrees with whom.
_MOST_COMPARED = 25


class Analysis(ResultTables):
    """A fit, for people to read.

    Parameters
    ----------
    result : RankingResult
        Of a fitted model.
    votes : Comparisons, StoredComparisons, path-like, data frame, mapping or list
        What it was fitted to.
    scale, anchor
        The scale of the scores, as in :meth:`RankingModel.ranking_on`.
    """

    def __init__(
        self, result: RankingResult, votes: Votes | VoteSource, *, scale: str = "logit", anchor: Any = None
    ) -> None:
        super().__init__(result, scale=scale, anchor=anchor)
        self.votes = as_votes(votes)
        if not np.array_equal(self.votes.items, result.items):
            raise ParameterError(
                "votes has other items than the fit; expected the votes to which the model was fitted"
            )
        self.items, self.scores = result.items, result.scores.scores

    @property
    def in_memory(self) -> bool:
        """Whether the votes are in memory; pairs and data checks need them."""
        return isinstance(self.votes, Comparisons)

    # -- annotators -----------------------------------------------------------------------------------------------

    @cached_property
    def correlated(self) -> pl.DataFrame:
        """Pairs of annotators whose errors are correlated, the strongest first."""
        return pl.DataFrame(self.result.correlated())

    @cached_property
    def agreement(self) -> AgreementMatrix | None:
        """Who agrees with whom; None where annotators have too few pairs in common."""
        found = self.result.judging.annotators.agreement(_MOST_COMPARED)
        if found is None:
            return None
        names = self.result.votes.annotators[found.annotators].tolist()
        return AgreementMatrix(names, found.share, found.n_others)

    @cached_property
    def n_judges(self) -> int:
        """The number of annotators with decided votes."""
        return int(np.count_nonzero(self.result.votes.decided_votes > 0))

    @cached_property
    def effective_judges(self) -> float | None:
        """How many independent annotators they are equivalent to; None where unknown."""
        found = self.result.judging.annotators.effective_judges
        return None if found is None else float(found)

    @property
    def models_annotators(self) -> bool:
        """Whether the model estimates flips, rather than counting them afterwards."""
        return self.result.can.annotators

    @cached_property
    def skills(self) -> Skills | None:
        """The flips by cluster of pairs; None where the model has no clusters."""
        result, flip = self.result, self.result.annotators.flip
        if flip.ndim == 1:
            return None
        names, interval = self.annotators["annotator"].to_list(), getattr(result.annotators, "cluster_interval", None)
        if result.annotators.why_withheld:
            interval = None
        return Skills(pl.DataFrame(result.clusters()), names, flip, result.extras["cluster_votes"], interval)

    # -- uncertainty ----------------------------------------------------------------------------------------------

    @property
    def interval_kind(self) -> str:
        """How intervals were computed."""
        return str(self.result.uncertainty.estimate.kind)

    @cached_property
    def rank_intervals(self) -> tuple[IntArray, IntArray] | None:
        """The 95 % intervals of the ranks, in the order of the items; None where the model has none."""
        found = self.result.uncertainty.estimate
        return (found.rank_low, found.rank_high) if (found.rank_low > 0).all() else None

    @property
    def _drawn(self) -> bool:
        """Whether there are draws of the scores, or can be."""
        return self.interval_kind in ("posterior", "information") and self.result.votes.source is not None

    @property
    def known_votes(self) -> Comparisons | None:
        """The votes, where they are in memory."""
        return self.votes if isinstance(self.votes, Comparisons) else None

    @cached_property
    def health(self) -> Health | None:
        """The result of the health checks; None where the votes stay on disk."""
        return check(self.votes, self.result) if isinstance(self.votes, Comparisons) else None

    @property
    def settled(self) -> bool:
        """Whether votes tell an order, and which way round; taken for granted where they stay on disk."""
        return self.health is None or self.health.settled

    # -- pairs ----------------------------------------------------------------------------------------------------

    @cached_property
    def uncertain(self) -> Unsettled:
        """The pairs of items whose order is least certain."""
        return unsettled_pairs(self.scores, self.order.above, self.order.group)

    @cached_property
    def ask_next(self) -> Suggestions | None:
        """The pairs on which a vote tells most about the order of the items; None where there are none to choose by.

        So it is where scores are no log-odds, or votes tell no order.
        """
        uncertainty = self.result.uncertainty
        if not (self.in_memory and self.order.known and self.result.can.log_odds) or len(self.items) < 2:
            return None
        if not self.settled:
            return None
        covariance = uncertainty.estimate.score_se**2
        if self._drawn and len(self.items) <= _MOST_JOINT:
            covariance = np.cov(_of_one_scale(uncertainty.score_draws), rowvar=False)
        flip = 0.0
        if self.models_annotators:
            flips, votes = self.result.annotators.flip, self.result.votes.decided_votes
            flip = float(np.average(flips if flips.ndim == 1 else flips.mean(axis=1), weights=votes))
        assert isinstance(self.votes, Comparisons)
        return suggest_pairs(
            self.scores,
            covariance,
            min(max(flip, 0.0), 0.5),
            Goal("ranking", group=question_of_items(self.votes)),
            most=_MOST_NEXT,
            one_truth=self.result.spec.unit == "pair",
            order=self._above_by_votes,
        )

    def _above_by_votes(self, upper: IntArray, lower: IntArray) -> FloatArray:
        """Return the probabilities of orders; NaN where no votes connect the two items."""
        above, group = self.order.above(upper, lower), self.order.group
        return above if group is None else np.where(group[upper] == group[lower], above, np.nan)

    @cached_property
    def contested(self) -> Contested | None:
        """The pairs on which the votes are split; None where the votes stay on disk."""
        return contested_pairs(self.votes, self.scores) if isinstance(self.votes, Comparisons) else None

    @cached_property
    def first_probability(self) -> FloatArray:
        """The probability of each item to be truly first; NaN where unknown."""
        return self.order.first(np.arange(len(self.items)))

    # -- the fit --------------------------------------------------------------------------------------------------

    @property
    def score_meaning(self) -> str:
        """What the scores are: their unit, what is 0, and what the standard errors refer to."""
        at = "the mean of all items" if self.anchor is None else str(self.anchor)
        note = (
            ""
            if self.anchor is None
            else "; standard errors and intervals are those of the distance to the mean of all items"
        )
        if self.scale == "elo":
            return f"Elo points (400 points are odds of 10 to 1), {at} = 1000{note}"
        log_odds = self.result.can.log_odds
        unit = "log-odds" if log_odds else f"the scale of {self.result.model}"
        return f"{unit}, {at} = 0{note}" if self.anchor is not None or log_odds else unit


def _of_one_scale(draws: FloatArray) -> FloatArray:
    """Return draws of scores, all as spread out as they are on average: how far apart scores are orders no items."""
    centred = draws - draws.mean(axis=1, keepdims=True)
    spread = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred * (spread.mean() / np.maximum(spread, 1e-300)))
