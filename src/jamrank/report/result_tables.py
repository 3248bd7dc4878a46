"""The tables of a fit, each computed at most once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.inference.covariates import ranking_with_effects
from jamrank.inference.item_groups import item_groups, within_groups
from jamrank.inference.order_probability import OrderProbability
from jamrank.inference.result import RankingResult


class ResultTables:
    """The tables of a fit, as polars frames.

    result: Of a fitted or loaded model.
    scale, anchor: The scale of the scores, as in :meth:`RankingModel.ranking_on`.
    """

    def __init__(self, result: RankingResult, *, scale: str = "logit", anchor: Any = None) -> None:
        self.result, self.scale, self.anchor = result, scale, anchor

    @cached_property
    def ranking(self) -> pl.DataFrame:
        """The ranking on the model's own scale."""
        return pl.DataFrame(self.result.ranking())

    @cached_property
    def shown_ranking(self) -> pl.DataFrame:
        """The ranking on the chosen scale."""
        if (self.scale, self.anchor) == ("logit", None):
            return self.ranking
        return pl.DataFrame(self.result.ranking_on(self.scale, self.anchor))

    @property
    def known_votes(self) -> Comparisons | None:
        """The votes, where they are in memory."""
        return self.result.votes.in_memory

    @cached_property
    def order(self) -> OrderProbability:
        """Probabilities that one item is above another."""
        return self.result.order(item_groups(self.result, self.known_votes))

    @cached_property
    def group_ranking(self) -> pl.DataFrame | None:
        """The ranking within each group of items that votes join, by group; None where there is one group."""
        return None if self.order.group is None else within_groups(self.shown_ranking, self.result, self.order)

    @property
    def written_ranking(self) -> pl.DataFrame:
        """The ranking as it is written to files: within groups of items where there are several."""
        return self.shown_ranking if self.group_ranking is None else self.group_ranking

    @cached_property
    def annotators(self) -> pl.DataFrame:
        """The annotators, in the order of the votes."""
        return pl.DataFrame(self.result.annotators_frame())

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The pairs with their posterior probabilities."""
        return pl.DataFrame(self.result.pairs())

    @cached_property
    def features(self) -> pl.DataFrame | None:
        """The effects of the features; None without features."""
        found = self.result.features_frame()
        return None if found is None else pl.DataFrame(found)

    @cached_property
    def effects(self) -> pl.DataFrame | None:
        """The effects of covariates; None without covariates."""
        found = self.result.effects_frame()
        return None if found is None else pl.DataFrame(found)

    @cached_property
    def with_effects(self) -> pl.DataFrame | None:
        """The ranking with the effects of covariates left in; None without covariates."""
        result = self.result
        return pl.DataFrame(ranking_with_effects(result.votes, result.extras)) if result.can.covariates else None

    @property
    def excluded_ties(self) -> float:
        """The number of tie votes that the model excluded."""
        fit = self.result.fit
        halved = fit is not None and fit.fitted.source.ties == "half"
        used = halved or self.result.can.ties or "tie" in self.result.annotators.traits
        return 0.0 if used else self.result.votes.n_ties
