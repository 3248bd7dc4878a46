"""What every model says of how sure it is: intervals, draws of ranks, the top, groups."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from jamrank.errors import NotFittedError, ParameterError
from jamrank.inference import Uncertainty, draw_ranks, pooled_quantiles, ranks
from jamrank.inference.exchangeability import all_distinct, by_group
from jamrank.typing import BoolArray, FloatArray, IntArray

__all__ = ["N_DRAWS", "Uncertain", "as_level"]


N_DRAWS = 400
# Scores closer than this differ by rounding alone.
_SAME_SCORE = 1e-9


class Uncertain:
    """Questions about ranks that a fitted model answers by draws from its posterior."""

    items_: NDArray[Any]
    scores_: FloatArray

    if TYPE_CHECKING:  # what the models have

        @property
        def _uncertainty(self) -> Uncertainty: ...
        def _require_fit(self) -> None: ...
        def _frame(self, columns: dict[str, Any]) -> Any: ...
        def _with_gaps(self, values: NDArray[Any], known: BoolArray) -> NDArray[Any]: ...

    @cached_property
    def _posterior_uncertainty(self) -> Uncertainty:
        """What draws say; where there are none, what the ranking shows."""
        return self._uncertainty

    @property
    def _exchangeable_groups(self) -> IntArray:
        """A number for each item, the same for those that nothing but their names tells apart."""
        return all_distinct(len(self.items_))

    def _draw_scores(self, n: int, random_state: Any) -> FloatArray:
        """Return draws of the scores, one row each: here independent normals."""
        se = self._uncertainty.score_se
        if not np.isfinite(se).all():
            raise ParameterError(f"{type(self).__name__} gives no uncertainty of its scores")
        noise = np.random.default_rng(random_state).standard_normal((n, len(se)))
        return np.asarray(self.scores_ + se * noise)

    def score_draws(self, n: int = N_DRAWS, random_state: Any = 0) -> FloatArray:
        """Draw scores from their posterior.

        Parameters
        ----------
        n : int
            How many draws.
        random_state : int, Generator or None
            Fixes them.

        Returns
        -------
        ndarray of shape (n, items)
            In the order of ``items_``.
        """
        self._require_fit()
        return self._draw_scores(_at_least_one("n", n), random_state)

    def rank_draws(self, n: int = N_DRAWS, random_state: Any = 0) -> IntArray:
        """Draw rankings from the posterior: 1 for the best item.

        Parameters
        ----------
        n : int
            How many draws.
        random_state : int, Generator or None
            Fixes them.

        Returns
        -------
        ndarray of shape (n, items)
            The rank of each item, in the order of ``items_``.
        """
        return draw_ranks(self.score_draws(n, random_state))

    @cached_property
    def _rank_draws(self) -> IntArray:
        return self.rank_draws()

    @property
    def rank_distribution_(self) -> FloatArray:
        """P(item has rank r): one row for each of ``items_``, one column for each rank from 1."""
        self._require_fit()
        drawn, n_items = self._rank_draws, len(self.items_)
        cells = np.arange(n_items) * n_items + drawn - 1
        share = np.bincount(cells.ravel(), minlength=n_items**2).reshape(n_items, n_items) / len(drawn)
        return by_group(share, self._exchangeable_groups)

    def top(self, k: int) -> Any:
        """Say how likely each item is to be among the best.

        Parameters
        ----------
        k : int
            How many are the best.

        Returns
        -------
        data frame
            Columns item, rank and p_top, the probability that the item is among the ``k`` best; likeliest first.
        """
        self._require_fit()
        if _at_least_one("k", k) > len(self.items_):
            raise ParameterError(f"k is {k}; there are {len(self.items_)} items")
        likely = by_group((self._rank_draws <= k).mean(axis=0), self._exchangeable_groups)
        rank = ranks(self.scores_, within=_SAME_SCORE)
        order = np.lexsort((np.arange(len(rank)), rank, -likely))
        columns = {"item": self.items_, "rank": rank, "p_top": likely}
        return self._frame({name: column[order] for name, column in columns.items()})

    @property
    def groups_(self) -> Any:
        """Frame of the items, best first, in groups: item, rank, group, apart_from.

        Two items are told apart where one is above the other in at least 97.5 % of the draws: the 95 % interval of
        the difference of their scores leaves out 0. A new group begins where an item is told apart from the one
        before it, so neighbours within a group are not told apart (items further from each other may be).
        ``apart_from`` is the rank of the first item below from which on all can be told apart from this one; empty
        where there is none.
        """
        self._require_fit()
        order = np.lexsort((np.arange(len(self.scores_)), -self.scores_))
        draws = self.score_draws()[:, order]
        n_items = len(order)
        group, apart = np.ones(n_items, np.int64), np.zeros(n_items, np.int64)
        rank = ranks(self.scores_, within=_SAME_SCORE)[order]
        for i in range(n_items - 1):
            below = (draws[:, [i]] > draws[:, i + 1 :]).mean(axis=0) >= 0.975
            group[i + 1] = group[i] + int(below[0])
            open_until = np.flatnonzero(~below)
            first = i + 1 + (int(open_until[-1]) + 1 if len(open_until) else 0)
            apart[i] = rank[first] if first < n_items else 0
        return self._frame(
            {
                "item": self.items_[order],
                "rank": rank,
                "group": group,
                "apart_from": self._with_gaps(apart, apart > 0),
            }
        )

    def score_intervals(self, level: float = 0.95) -> Any:
        """Return an interval for the score of each item, relative to the mean of all scores.

        Parameters
        ----------
        level : float
            Probability that it is to cover.

        Returns
        -------
        data frame
            Columns item, score, score_low, score_high; best first.
        """
        self._require_fit()
        low, high = self._score_bounds(as_level(level))
        order = np.lexsort((np.arange(len(self.scores_)), -self.scores_))
        known = np.isfinite(low)
        columns = {
            "item": self.items_,
            "score": self.scores_,
            "score_low": self._with_gaps(low, known),
            "score_high": self._with_gaps(high, known),
        }
        return self._frame({name: column[order] for name, column in columns.items()})

    def _score_bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        unsure = self._posterior_uncertainty
        if level == 0.95:
            return unsure.score_low, unsure.score_high
        if unsure.kind == "posterior":
            tails = [(1 - level) / 2, (1 + level) / 2]
            low, high = pooled_quantiles(self.score_draws(), tails, self._exchangeable_groups, "weibull")
            return low, high
        reach = float(ndtri((1 + level) / 2)) * unsure.score_se
        return self.scores_ - reach, self.scores_ + reach

    def uncertainty(self, kind: str = "posterior", *, n_resamples: int = 100, random_state: Any = 0) -> Uncertainty:
        """Work out how sure the scores and ranks are, in one of several ways.

        Parameters
        ----------
        kind : {"posterior", "information", "sandwich", "bootstrap"}
            ``posterior``: draws from the posterior where the votes are few enough, which ``ranking_`` shows.
            ``information``: a normal around the fit with the observed information of scores and noise, which
            ``ranking_`` shows where they are not. ``sandwich``: the
            same with the spread between annotators in the middle, where votes of an annotator may depend on each
            other. ``bootstrap``: refits to annotators drawn with replacement.
        n_resamples : int
            Refits of the bootstrap.
        random_state : int, Generator or None
            For the bootstrap.

        Returns
        -------
        Uncertainty
            Arrays in the order of ``items_``.
        """
        self._require_fit()
        if kind == "posterior":
            return self._posterior_uncertainty
        if kind == "bootstrap":
            from jamrank.inference.bootstrap import bootstrap
            from jamrank.models.base import RankingModel

            return bootstrap(cast(RankingModel, self), _at_least_one("n_resamples", n_resamples), random_state)
        if kind == "information":
            return self._information_uncertainty()
        if kind == "sandwich":
            return self._sandwich_uncertainty()
        raise ParameterError(f"kind is {kind!r}; expected 'posterior', 'information', 'sandwich' or 'bootstrap'")

    def _information_uncertainty(self) -> Uncertainty:
        raise ParameterError(f"{type(self).__name__} has no likelihood, and so no information; try kind='bootstrap'")

    def _sandwich_uncertainty(self) -> Uncertainty:
        raise ParameterError(f"{type(self).__name__} has no likelihood to take apart; try kind='bootstrap'")

    def _require_votes(self) -> None:
        if "_votes" not in vars(self):
            raise NotFittedError("a model from a file keeps its intervals, not the votes to draw from; fit again")


def as_level(value: Any) -> float:
    """Return the level of an interval, if it is one."""
    try:
        fine = 0 < value < 1
    except TypeError:
        fine = False
    if not fine:
        raise ParameterError(f"level is {value!r}; expected a probability between 0 and 1, neither included")
    return float(value)


def _at_least_one(name: str, value: Any) -> int:
    if not (isinstance(value, (int, np.integer)) and value >= 1):
        raise ParameterError(f"{name} is {value!r}; expected a whole number of at least 1")
    return int(value)
