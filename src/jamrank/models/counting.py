"""Scores by counting: the share of votes won, of opponents beaten, or the mean share against each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from jamrank.models.closed_form import ClosedForm
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray

# Sums of fractional weights have rounding errors, which must not decide a majority.
_ROUNDING = 1e-9


class WinRate(ClosedForm):
    """The share of its votes that each item won; a tie counts half, and nothing is smoothed.

    An item without votes has 1/2. It rewards weak opponents: use it if all items had similar opponents.

    Attributes
    ----------
    scores_ : ndarray
        Share of votes won.
    slope_, posterior_, flip_
        As in :class:`HodgeRank`.
    """

    def _score(self, counts: PairCounts) -> tuple[FloatArray, bool, dict[str, Any]]:
        votes = counts.by_item(counts.votes, counts.votes)
        return _ratio(counts.by_item(counts.wins, counts.losses), votes), True, {}

    def _standard_errors(self, counts: PairCounts, scores: FloatArray, slope: float) -> FloatArray:
        """Binomial, with one pseudo-win and one pseudo-loss, so that an item that only won is not certain."""
        votes = counts.by_item(counts.votes, counts.votes)
        share = (scores * votes + 1) / (votes + 2)
        return np.asarray(np.sqrt(share * (1 - share) / (votes + 2)))


class Borda(ClosedForm):
    """The mean over opponents of the share of votes that an item won against each.

    Every opponent counts the same, however many votes there are. If all items met all others it is the classic Borda
    count divided by the number of opponents. An item without votes has 1/2.

    Attributes
    ----------
    scores_ : ndarray
        Mean share.
    slope_, posterior_, flip_
        As in :class:`HodgeRank`.
    """

    def _score(self, counts: PairCounts) -> tuple[FloatArray, bool, dict[str, Any]]:
        share = counts.wins / counts.votes
        return _ratio(counts.by_item(share, 1 - share), counts.opponents), True, {}

    def _standard_errors(self, counts: PairCounts, scores: FloatArray, slope: float) -> FloatArray:
        """Binomial for each opponent, at the probability that the scores give: shares of few votes are too noisy."""
        p = expit(slope * (scores[counts.first] - scores[counts.second]))
        spread = p * (1 - p) / counts.votes
        se = np.sqrt(counts.by_item(spread, spread)) / np.maximum(counts.opponents, 1)
        return np.asarray(np.where(counts.opponents > 0, se, 0.5))


class Copeland(ClosedForm):
    """The number of opponents that an item beat by majority, minus those that beat it; tied pairs count 0.

    Sizes of majorities do not count. Neither does the number of opponents: an item that met few stays near 0.

    Attributes
    ----------
    scores_ : ndarray
        Opponents beaten minus opponents lost to: whole numbers.
    slope_, posterior_, flip_
        As in :class:`HodgeRank`.
    """

    def _score(self, counts: PairCounts) -> tuple[FloatArray, bool, dict[str, Any]]:
        lead = 2 * counts.wins - counts.votes
        beaten = np.where(np.abs(lead) <= _ROUNDING * counts.votes, 0.0, np.sign(lead))
        return counts.by_item(beaten, -beaten), True, {}


def _ratio(won: FloatArray, total: FloatArray) -> FloatArray:
    return np.asarray(np.divide(won, total, out=np.full(len(won), 0.5), where=total > 0))
