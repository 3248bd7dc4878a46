"""Groups of items that votes join, and the ranking within each: no vote compares items of different groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.inference.order_probability import OrderProbability
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult


def components_of(votes: Comparisons, scores: FloatArray) -> IntArray | None:
    """Return the connected component of each item, the largest numbered 0; None where there is only one."""
    found = PairCounts.decided(votes).component
    if not found.any():
        return None
    size = np.bincount(found)
    best = np.full(len(size), -np.inf)
    np.maximum.at(best, found, scores)
    place = np.empty(len(size), dtype=np.int64)
    place[np.lexsort((-best, -size))] = np.arange(len(size))
    return np.asarray(place[found])


def item_groups(result: RankingResult, votes: Comparisons | None) -> IntArray | None:
    """Return the group of each item that votes or pairs of known truth join.

    votes: What the model was fitted to, where that is in memory.
    Returns: None where there is one group, where features compare all items, and without votes.
    """
    if votes is None or result.scores.features is not None:
        return None
    gold = result.votes.gold
    return components_of(votes if gold is None else gold.with_truths, result.scores.scores)


def within_groups(ranking: pl.DataFrame, result: RankingResult, order: OrderProbability) -> pl.DataFrame:
    """Return a ranking with a column ``group`` and ranks within groups, by group; as it is where there is one group.

    ranking: Of all items, on any scale.
    order: Of the same items; it has their groups.
    """
    within = order.within_groups
    if within is None:
        return ranking
    items = pl.Series("item", result.items[within["place"].to_numpy()].tolist(), strict=False)
    ranks = within.drop("place").with_columns(items.cast(ranking["item"].dtype))
    scores = ranking.drop("rank", "rank_low", "rank_high")
    columns = ["item", "group", *ranking.columns[1:]]
    return ranks.join(scores, on="item", how="left", maintain_order="left").select(columns)


def first_of_groups(order: OrderProbability) -> FloatArray:
    """Return the probability of each item to be the first of its group; NaN where unknown."""
    n = len(order.scores)
    group = np.zeros(n, dtype=np.int64) if order.group is None else order.group
    found = np.full(n, np.nan)
    for number in range(int(group.max(initial=-1)) + 1):
        items = np.flatnonzero(group == number)
        found[items] = order.first(items)
    return found
