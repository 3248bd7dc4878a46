"""Majority vote."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.prediction import LinkPredictor, SharePredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.scores import Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.kernels import default_threads, kernels
from jamrank.models.base import RankingModel
from jamrank.rows import pair_wins
from jamrank.typing import BoolArray, FloatArray, Int32Array


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

    _spec: ClassVar[ModelSpec] = ModelSpec(unit="vote", capabilities=Capabilities(features="ignored", ties=True))

    _predictor: ClassVar[type[LinkPredictor]] = SharePredictor

    def _fit(self, given: FitInput) -> RankingResult:
        votes, name = given.in_memory, type(self).__name__
        summary = VoteSummary.of(votes)
        wins, total = pair_wins(votes), votes.pair_weight
        share = np.divide(wins, total, out=np.full(len(total), 0.5), where=total > 0)
        as_first, as_second = (_by_item(item, total, votes) for item in (votes.pair_first, votes.pair_second))
        lost = _by_item(votes.pair_second, wins, votes)
        won = _by_item(votes.pair_first, wins, votes) + np.maximum(as_second - lost, 0.0)
        item_votes = as_first + as_second
        values = np.divide(won, item_votes, out=np.full(len(won), 0.5), where=item_votes > 0)
        scores = Scores(votes.items, values, name)
        shrunk = (values * item_votes + 1) / (item_votes + 2)
        se = np.sqrt(shrunk * (1 - shrunk) / (item_votes + 2))
        flip = disagreement(votes, lambda votes: np.sign(share - 0.5))
        return self._counted_result(summary, scores, flip, Convergence(), self.get_params(), se=se, posterior=share)

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
        coin = np.random.default_rng(random_state).random(len(self.posterior_)) < 0.5
        return np.where(self.posterior_ == 0.5, coin, self.posterior_ > 0.5)


def _by_item(item: Int32Array, of_pair: FloatArray, votes: Comparisons) -> FloatArray:
    sums = np.empty(votes.n_items)
    kernels.sum_by_code(item, of_pair, sums, default_threads())
    return sums
