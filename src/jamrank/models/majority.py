"""Majority vote."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import locate
from jamrank.errors import UnknownItemError
from jamrank.fitting.disagreement import disagreement
from jamrank.inference import Uncertainty, independent
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import FeatureUse, RankingModel, _ids
from jamrank.models.vote_query import VoteQuery
from jamrank.rows.pair_counts import pair_wins
from jamrank.typing import BoolArray, FloatArray

__all__ = ["MajorityVote"]


class MajorityVote(RankingModel):
    """The share of votes on each pair; every annotator counts the same.

    Attributes
    ----------
    posterior_ : ndarray
        Share of the votes on each pair for its left item; a tie vote counts half, a pair without votes has 1/2.
    scores_ : ndarray
        Share of votes that each item won.
    flip_ : ndarray
        Share of each annotator's votes that go against the majority.
    """

    _uses_ties: ClassVar[bool] = True
    _takes_features: ClassVar[FeatureUse] = "ignored"
    _extra_state: ClassVar[tuple[str, ...]] = ("_item_votes",)

    def __init__(self) -> None:
        pass

    def _fit(self, votes: Votes, features: Any) -> None:
        assert isinstance(votes, Comparisons)
        self.n_ties_ = votes.n_ties
        wins, total = pair_wins(votes), self._pair_votes
        self.posterior_ = np.divide(wins, total, out=np.full(len(total), 0.5), where=total > 0)
        won = np.bincount(votes.pair_first, wins, votes.n_items)
        won += np.bincount(votes.pair_second, total - wins, votes.n_items)
        self._item_votes = np.bincount(votes.pair_first, total, votes.n_items)
        self._item_votes += np.bincount(votes.pair_second, total, votes.n_items)
        self.scores_ = np.divide(won, self._item_votes, out=np.full(len(won), 0.5), where=self._item_votes > 0)
        self.flip_ = disagreement(votes, lambda votes: np.sign(self.posterior_ - 0.5))

    def decide(self, random_state: Any = None) -> BoolArray:
        """Decide every pair for its left item (True) or its right, tied pairs at random as in the paper.

        Parameters
        ----------
        random_state : int, Generator or None
            For the tied pairs.

        Returns
        -------
        ndarray of bool
            One for each pair of ``pairs_``.
        """
        self._require_fit()
        confusion_group = np.random.default_rng(random_state).random(len(self.posterior_)) < 0.5
        return np.where(self.posterior_ == 0.5, confusion_group, self.posterior_ > 0.5)

    def predict_proba(self, left: Any, right: Any, features: Any = None) -> FloatArray:
        """Return the share of votes for left on each pair, over all questions; 1/2 without votes."""
        self._require_fit()
        a, b = (locate(self.items_, _ids(side)) for side in (left, right))
        if (a < 0).any() or (b < 0).any():
            unknown = _ids(left)[a < 0] if (a < 0).any() else _ids(right)[b < 0]
            raise UnknownItemError(f"item {unknown[0]!s} has no votes, and MajorityVote knows nothing else")
        n_items = len(self.items_)
        key = self._pair_first.astype(np.int64) * n_items + self._pair_second
        wanted = np.minimum(a, b) * n_items + np.maximum(a, b)
        keys, at = np.unique(key, return_inverse=True)
        wins = np.bincount(at, self.posterior_ * self._pair_votes, len(keys))
        total = np.bincount(at, self._pair_votes, len(keys))
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        known = (keys[place] == wanted) & (total[place] > 0)
        share = np.where(known, wins[place] / np.maximum(total[place], 1e-300), 0.5)
        return np.where(a < b, share, 1 - share)

    def _vote_proba(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the share on the pair within its question, with one more vote for each side."""
        share = (self.posterior_ * self._pair_votes + 1) / (self._pair_votes + 2)
        return 0.5 + query.seen_from_first(share - 0.5, np.zeros(len(query)))

    def _estimate_link(self) -> float:
        return 1.0

    def _estimate_uncertainty(self) -> Uncertainty:
        shrunk = (self.scores_ * self._item_votes + 1) / (self._item_votes + 2)
        return independent(self.scores_, np.sqrt(shrunk * (1 - shrunk) / (self._item_votes + 2)))
