"""How sure the order of items is: one notion for the whole report, that of the rank ranges."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from scipy.special import ndtr

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics.graph import components
from jamrank.inference import draw_ranks
from jamrank.io.out_of_core.parted import Votes
from jamrank.models import RankingModel
from jamrank.rows.duels import Duels
from jamrank.typing import FloatArray, IntArray

__all__ = ["Sureness", "group_of_items"]


# Numbers held at a time.
_MOST_NUMBERS = 1 << 23
_DRAWS = 400
# Of more items there are no draws of all together.
_MOST_DRAWN = 20_000
# Of more groups, ranges within them would take long and be read by nobody.
_MOST_GROUPS = 300
# So many standard errors are certainty.
_FAR = 40.0
_TAILS = [0.025, 0.975]


def group_of_items(model: RankingModel, votes: Votes) -> IntArray | None:
    """Return the number of the group of each item, the largest first, where no vote compares some with others.

    None where all items are on one scale: linked by votes, by gold pairs or by features, or on disk, where it is not
    known.
    """
    if not isinstance(votes, Comparisons) or model.features_ is not None:
        return None
    known = vars(model).get("_gold")
    found = components(Duels.of(votes if known is None else known.told))
    if not found.any():
        return None
    size = np.bincount(found)
    best = np.full(len(size), -np.inf)
    np.maximum.at(best, found, model.scores_)
    place = np.empty(len(size), dtype=np.int64)
    place[np.lexsort((-best, -size))] = np.arange(len(size))
    return np.asarray(place[found])


class Sureness:
    """The probability that one item is truly above another, from draws of the scores or from a normal.

    Parameters
    ----------
    model : RankingModel
        Fitted.
    votes : Comparisons or StoredComparisons
        What it was fitted to.
    """

    def __init__(self, model: RankingModel, votes: Votes) -> None:
        self.scores, self.error = model.scores_, model._uncertainty.score_se
        self.known = bool(np.isfinite(self.error).all())
        self.group = group_of_items(model, votes)
        self._model = model

    @cached_property
    def _together(self) -> FloatArray | None:
        """Draws of all scores together, where the rank ranges come from such; one row a draw."""
        from_draws = self._model._uncertainty.kind in ("posterior", "information")
        return self._model.score_draws() if from_draws and "_votes" in vars(self._model) else None

    def _draws(self, items: IntArray) -> FloatArray:
        if self._together is not None:
            return self._together[:, items]
        noise = np.random.default_rng(0).standard_normal((_DRAWS, len(items)))
        return np.asarray(self.scores[items] + self.error[items] * noise)

    def above(self, upper: IntArray, lower: IntArray) -> FloatArray:
        """Return the probability that each upper item is truly above the lower one; NaN where it is not known."""
        if not self.known:
            return np.full(len(upper), np.nan)
        if self._together is None:
            spread = np.hypot(self.error[upper], self.error[lower])
            gap = self.scores[upper] - self.scores[lower]
            return np.asarray(ndtr(np.divide(gap, spread, out=_FAR * np.sign(gap), where=spread > 0)))
        sure = np.empty(len(upper))
        step = max(_MOST_NUMBERS // len(self._together), 1)
        for begin in range(0, len(upper), step):
            part = slice(begin, begin + step)
            one, other = self._together[:, upper[part]], self._together[:, lower[part]]
            sure[part] = ((one > other).mean(axis=0) + (one >= other).mean(axis=0)) / 2
        return sure

    def first(self, items: IntArray) -> FloatArray:
        """Return the probability that each of some items is truly the first of them; NaN where it is not known."""
        if not self.known or len(items) > _MOST_DRAWN:
            return np.full(len(items), np.nan)
        winner = self._draws(items).argmax(axis=1)
        return np.asarray(np.bincount(winner, minlength=len(items)) / max(len(winner), 1))

    @cached_property
    def within_groups(self) -> pl.DataFrame | None:
        """Return the place, group, rank and range of ranks of each item within its group, group by group; or None."""
        if self.group is None:
            return None
        items = np.arange(len(self.group))
        frame = pl.DataFrame({"place": items, "group": self.group + 1, "score": self.scores}).with_columns(
            rank=pl.col("score").round(9).rank("min", descending=True).over("group").cast(pl.Int64)
        )
        low = high = np.zeros(len(items), dtype=np.int64)
        if self.known and len(items) <= _MOST_DRAWN and self.group.max() < _MOST_GROUPS:
            low, high = self._ranges(frame["rank"].to_numpy())
        ends = pl.Series(low).replace(0, None), pl.Series(high).replace(0, None)
        return (
            frame.with_columns(rank_low=ends[0], rank_high=ends[1])
            .sort("group", "score", "place", descending=[False, True, False])
            .drop("score")
        )

    def _ranges(self, rank: IntArray) -> tuple[IntArray, IntArray]:
        """Return the 95 % interval of the rank of each item within its group."""
        assert self.group is not None
        low, high = rank.copy(), rank.copy()
        for number in range(int(self.group.max()) + 1):
            items = np.flatnonzero(self.group == number)
            drawn = draw_ranks(self._draws(items))
            ends = np.quantile(drawn, _TAILS, axis=0, method="inverted_cdf").astype(np.int64)
            low[items], high[items] = np.minimum(ends[0], rank[items]), np.maximum(ends[1], rank[items])
        return low, high
