"""The tables of a fitted model, each computed at most once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from jamrank.models import RankingModel

__all__ = ["ResultTables"]


class ResultTables:
    """The tables of a fitted or loaded model, as polars frames.

    Parameters
    ----------
    model : RankingModel
        Fitted, or loaded.
    scale, anchor
        The scale of the scores, as in :meth:`RankingModel.ranking_on`.
    """

    def __init__(self, model: RankingModel, *, scale: str = "logit", anchor: Any = None) -> None:
        self.model, self.scale, self.anchor = model, scale, anchor

    @property
    def model_name(self) -> str:
        """The name of the model that was fitted."""
        return str(getattr(self.model, "chosen_", type(self.model).__name__))

    @cached_property
    def ranking(self) -> pl.DataFrame:
        """The ranking on the model's own scale."""
        return pl.DataFrame(self.model.ranking_)

    @cached_property
    def shown_ranking(self) -> pl.DataFrame:
        """The ranking on the chosen scale."""
        if (self.scale, self.anchor) == ("logit", None):
            return self.ranking
        return pl.DataFrame(self.model.ranking_on(self.scale, self.anchor))

    @cached_property
    def annotators(self) -> pl.DataFrame:
        """The annotators, in the order of the votes."""
        return pl.DataFrame(self.model.annotators_)

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The pairs with their posterior probabilities."""
        return pl.DataFrame(self.model.pairs_)

    @cached_property
    def features(self) -> pl.DataFrame | None:
        """The effects of the features; None without features."""
        found = self.model.features_
        return None if found is None else pl.DataFrame(found)

    @property
    def excluded_ties(self) -> float:
        """The number of tie votes that the model excluded."""
        return 0.0 if self.model._uses_ties else float(self.model.n_ties_)
