"""Majority vote."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.fitting.disagreement import disagreement, disagreement_by_pattern
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.prediction import LinkPredictor, SharePredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.scores import Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.kernels import default_threads, kernels
from jamrank.models.base import RankingModel
from jamrank.rows import pair_wins, rows_by_pattern, shares
from jamrank.typing import BoolArray, FloatArray


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
        votes = given.in_memory
        sums, flip, share = _count_by_pattern(votes) or _count_by_pair(votes)
        won = sums[0, :, 0] + np.maximum(sums[1, :, 1] - sums[1, :, 0], 0.0)
        item_votes = sums[:, :, 1].sum(axis=0)
        values = shares(won, item_votes)
        scores = Scores(votes.items, values, type(self).__name__)
        shrunk = (values * item_votes + 1) / (item_votes + 2)
        se = np.sqrt(shrunk * (1 - shrunk) / (item_votes + 2))
        summary = VoteSummary.of(votes)
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


# By side, the first or the second of its pairs, and item: wins of the first item, and votes; flips; and the share of
# the votes on each pair, where it was computed.
_Counts = tuple[FloatArray, FloatArray, FloatArray | None]


def _count_by_pair(votes: Comparisons) -> _Counts:
    wins, total = pair_wins(votes), votes.pair_weight
    sums, share = np.empty((2, 2, votes.n_items)), shares(wins, total)
    for own, item in zip(sums, (votes.pair_first, votes.pair_second), strict=True):
        kernels.sum_by_code(item, wins, own[0], default_threads())
        kernels.sum_by_code(item, total, own[1], default_threads())
    return sums.swapaxes(1, 2), disagreement(votes, lambda votes: np.sign(share - 0.5)), share


def _count_by_pattern(votes: Comparisons) -> _Counts | None:
    """Count a jury's votes without an array of numbers for each pair, which takes longer than all else."""
    known = rows_by_pattern(votes)
    if known is None:
        return None
    rows, patterns = known
    sums, totals = np.empty((2, votes.n_items, 2)), rows.list_totals()
    ends = votes.pair_first, votes.pair_second, patterns.of_row
    kernels.sum_patterns(*ends, *totals, sums[0].ravel(), sums[1].ravel(), default_threads())
    return sums, disagreement_by_pattern(rows, patterns, np.sign(shares(*totals) - 0.5)), None
