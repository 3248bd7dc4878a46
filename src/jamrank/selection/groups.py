"""Rankings by group of votes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.errors import FeatureError, GroupWarning, InputError, JamrankWarning, warn
from jamrank.models.base import RankingModel

__all__ = ["about_group", "fit_groups", "side_by_side"]


def fit_groups(
    model: RankingModel, groups: Mapping[Any, Comparisons], features: Any = None, gold: Any = None
) -> dict[Any, RankingModel]:
    """Fit a model to each group of votes.

    Parameters
    ----------
    model : RankingModel
        The model; it is not changed.
    groups : mapping of group to Comparisons
        The votes of each, as from :func:`jamrank.read_groups`.
    features, gold : optional
        As in :meth:`RankingModel.fit`, the same for all groups.

    Returns
    -------
    dict
        A fitted model for each group; a group that cannot be ranked is left out with a warning.
    """
    fitted = {}
    for name, votes in groups.items():
        own = type(model)(**model.get_params())
        try:
            with about_group(name):
                fitted[name] = own.fit(votes, features, gold=gold)
        except FeatureError:
            raise
        except InputError as error:
            warn(f"group {name} left out: {error}", GroupWarning)
    return fitted


class about_group:  # noqa: N801
    """A context manager that adds the name of the group to jamrank's warnings.

    Parameters
    ----------
    name
        The group.
    """

    # Not contextlib, whose frames would come between a warning and the user's line.
    def __init__(self, name: Any) -> None:
        self.name, self._catching = name, warnings.catch_warnings(record=True)

    def __enter__(self) -> None:
        self._caught: list[warnings.WarningMessage] = self._catching.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *error: Any) -> None:
        self._catching.__exit__(*error)
        for one in self._caught if error[0] is None else ():
            if issubclass(one.category, JamrankWarning):
                warn(f"group {self.name}: {one.message}", one.category)
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def side_by_side(overall: Any, groups: Mapping[Any, Any]) -> pl.DataFrame:
    """Return the ranks of all items in each group beside those overall.

    Parameters
    ----------
    overall : data frame
        The ranking of all votes, such as ``model.ranking_``.
    groups : mapping of group to data frame
        The ranking of each group.

    Returns
    -------
    polars.DataFrame
        ``item``, ``rank`` and ``score`` overall, best first, then ``rank GROUP`` and ``score GROUP`` for each group;
        null where a group has no vote on an item.
    """
    table = pl.DataFrame(overall).select("item", "rank", "score")
    for name, ranking in groups.items():
        own = pl.DataFrame(ranking).select(
            "item", pl.col("rank").alias(f"rank {name}"), pl.col("score").alias(f"score {name}")
        )
        table = table.join(own, on="item", how="left", maintain_order="left")
    return table
