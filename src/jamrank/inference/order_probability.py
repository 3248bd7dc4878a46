"""The probability that the score of one item is higher, and the difference of their scores."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from jamrank.data.ids import locate
from jamrank.errors import UnknownItemError
from jamrank.inference.uncertainty import draw_ranks, independent_draws
from jamrank.typing import FloatArray, IntArray

# Numbers held at a time: draws of both items of some pairs, in cache.
_MOST_NUMBERS = 1 << 15
# Of more items, first-place probabilities and ranks within groups are not computed.
_MOST_DRAWN = 20_000
# Of more groups, rank intervals within groups are not computed.
_MOST_GROUPS = 300
# In standard errors: certain.
_FAR = 40.0
_TAILS = [0.025, 0.975]
_NORMAL_95 = 1.959963984540054


def find_items(items: NDArray[Any], ids: Any) -> IntArray:
    """Return the codes of one id or several.

    Raises UnknownItemError: If no vote is about such an item; it names similar ones.
    """
    several = not isinstance(ids, str) and hasattr(ids, "__len__")
    wanted = np.empty(len(ids) if several else 1, dtype=object)
    wanted[:] = list(ids) if several else [ids]
    found = locate(items, wanted).astype(np.int64)
    if (found < 0).any():
        name = str(wanted[int((found < 0).argmax())])
        alike = get_close_matches(name, list(map(str, items.tolist())), 3, 0.6)
        meant = f"; did you mean {' or '.join(alike)}?" if alike else ""
        raise UnknownItemError(f"{name}: no vote is about such an item{meant}")
    return found


class OrderProbability:
    """Probabilities of orders, from joint draws of the scores or from independent normal distributions.

    scores, error: The score of each item and its standard error; NaN where unknown.
    draw: Returns joint draws of all scores, one row per draw; called at most once.
    group: Group of each item, where items of different groups cannot be compared.
    """

    def __init__(
        self,
        scores: FloatArray,
        error: FloatArray,
        draw: Callable[[], FloatArray] | None = None,
        group: IntArray | None = None,
    ) -> None:
        self.scores, self.error, self.group = scores, error, group
        self.known = bool(np.isfinite(error).all())
        self._draw = draw

    @cached_property
    def _joint(self) -> FloatArray | None:
        return None if self._draw is None else self._draw()

    def _draws(self, items: IntArray) -> FloatArray:
        if self._joint is not None:
            return self._joint[:, items]
        return self._independent[items].T

    @cached_property
    def _independent(self) -> FloatArray:
        """The draws from which rank intervals come, so that these and probabilities agree."""
        return independent_draws(self.scores, self.error, np.random.default_rng(0))

    def above(self, upper: IntArray, lower: IntArray) -> FloatArray:
        """Return the probability that each upper item has a higher score than the lower one; NaN where unknown."""
        if not self.known:
            return np.full(len(upper), np.nan)
        if self._joint is None:
            spread = np.hypot(self.error[upper], self.error[lower])
            gap = self.scores[upper] - self.scores[lower]
            return np.asarray(ndtr(np.divide(gap, spread, out=_FAR * np.sign(gap), where=spread > 0)))
        by_item, found = np.ascontiguousarray(self._joint.T), np.empty(len(upper))
        step = max(_MOST_NUMBERS // len(self._joint), 1)
        for begin in range(0, len(upper), step):
            part = slice(begin, begin + step)
            one, other = by_item[upper[part]], by_item[lower[part]]
            found[part] = ((one > other).mean(axis=1) + (one >= other).mean(axis=1)) / 2
        return found

    def difference(self, upper: int, lower: int) -> tuple[float, float, float]:
        """Return the difference of two scores and its 95 % interval; NaN where unknown."""
        gap = float(self.scores[upper] - self.scores[lower])
        if not self.known:
            return gap, np.nan, np.nan
        if self._joint is None:
            reach = _NORMAL_95 * float(np.hypot(self.error[upper], self.error[lower]))
            return gap, gap - reach, gap + reach
        drawn = self._joint[:, upper] - self._joint[:, lower]
        low, high = np.quantile(drawn, _TAILS, method="weibull").tolist()
        return gap, low, high

    def first(self, items: IntArray) -> FloatArray:
        """Return the probability that each of some items is truly the first of them; NaN where unknown."""
        if not self.known or len(items) > _MOST_DRAWN:
            return np.full(len(items), np.nan)
        winner = self._draws(items).argmax(axis=1)
        return np.asarray(np.bincount(winner, minlength=len(items)) / max(len(winner), 1))

    @cached_property
    def within_groups(self) -> pl.DataFrame | None:
        """Place, group, rank and rank interval of each item within its group; None without groups."""
        if self.group is None:
            return None
        items = np.arange(len(self.group))
        frame = pl.DataFrame({"place": items, "group": self.group + 1, "score": self.scores}).with_columns(
            rank=pl.col("score").round(9).rank("min", descending=True).over("group").cast(pl.Int64)
        )
        low = high = np.zeros(len(items), dtype=np.int64)
        if self.known and len(items) <= _MOST_DRAWN and self.group.max() < _MOST_GROUPS:
            low, high = self._intervals(frame["rank"].to_numpy())
        ends = pl.Series(low).replace(0, None), pl.Series(high).replace(0, None)
        return (
            frame.with_columns(rank_low=ends[0], rank_high=ends[1])
            .sort("group", "score", "place", descending=[False, True, False])
            .drop("score")
        )

    def _intervals(self, rank: IntArray) -> tuple[IntArray, IntArray]:
        """Return the 95 % interval of the rank of each item within its group."""
        assert self.group is not None
        low, high = rank.copy(), rank.copy()
        for number in range(int(self.group.max()) + 1):
            items = np.flatnonzero(self.group == number)
            drawn = draw_ranks(self._draws(items))
            ends = np.quantile(drawn, _TAILS, axis=0, method="inverted_cdf").astype(np.int64)
            low[items], high[items] = np.minimum(ends[0], rank[items]), np.maximum(ends[1], rank[items])
        return low, high
