"""Rankings by group of votes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.errors import FeatureError, GroupWarning, InputError, JamrankWarning, warn
from jamrank.inference.item_groups import first_of_groups, item_groups, within_groups
from jamrank.inference.order_probability import find_items
from jamrank.models.base import RankingModel

_SHOWN = ("group", "rank", "score", "rank_low", "rank_high", "score_low", "score_high", "p_first")
# Of more groups, intervals come from a normal approximation: draws would take most of a second for each.
_MOST_DRAWN = 20


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
        A fitted model for each group; a group that cannot be ranked is left out with a warning. Of more than 20
        groups, intervals come from a normal approximation and not from draws of the posterior.
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
    if len(fitted) > _MOST_DRAWN:
        for own in fitted.values():
            own.result_.uncertainty.approximate()
    return fitted


class about_group:  # noqa: N801
    """A context manager that adds the name of the group to jamrank's warnings.

    name: The group.
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


def group_ranking(model: RankingModel, scale: str = "logit", anchor: Any = None) -> pl.DataFrame:
    """Return a ranking with the probability of each item to be the first, both within groups that votes join.

    model: Fitted.
    scale, anchor: As in :meth:`RankingModel.ranking_on`.
    """
    result = model.result_
    plain = (scale, anchor) == ("logit", None)
    ranking = pl.DataFrame(result.ranking() if plain else result.ranking_on(scale, anchor))
    order = result.order(item_groups(result, result.votes.in_memory))
    ranking = within_groups(ranking, result, order)
    chance = first_of_groups(order)[find_items(result.items, ranking["item"].to_list())]
    return ranking.with_columns(pl.Series("p_first", chance, nan_to_null=True))


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
        ``item``, then ``rank``, ``score``, ``rank_low``, ``rank_high``, ``score_low``, ``score_high`` and ``p_first``
        (as far as the rankings have them) overall, best first, and the same for each group, as in ``rank GROUP``;
        null where a group has no vote on an item. A ranking within groups of items has ``group`` before ``rank``.
    """
    whole = pl.DataFrame(overall)
    items = {item: place for place, item in enumerate(whole["item"].to_list())}
    table = [whole["item"], *_columns(whole, "")]
    for name, ranking in groups.items():
        own = pl.DataFrame(ranking)
        at = np.full(len(items), own.height, dtype=np.uint32)  # an index beyond the end stands for no votes
        for row, item in enumerate(own["item"].to_list()):
            if item in items:
                at[items[item]] = row
        places = pl.Series(at).replace(own.height, None)
        table += [column.gather(places) for column in _columns(own, f" {name}")]
    return pl.DataFrame(table)


def _columns(ranking: pl.DataFrame, suffix: str) -> list[pl.Series]:
    return [ranking[name].alias(f"{name}{suffix}") for name in _SHOWN if name in ranking.columns]
