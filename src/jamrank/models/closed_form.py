"""What the models that count votes share: everything but the scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.errors import DisconnectedWarning, NotConvergedWarning, ParameterError, UnknownItemError, warn
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.link import fit_link
from jamrank.inference import Uncertainty, independent
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import _SAME_SCORE, FeatureUse, RankingModel
from jamrank.rows.pair_counts import PairCounts
from jamrank.typing import FloatArray

__all__ = ["ClosedForm", "require_smoothing"]

_MOST_NAMED = 3


class ClosedForm(RankingModel):
    """Base of models whose scores follow from counts of votes, whoever cast them and under whatever question.

    A subclass gives the scores, in ``_score``, and standard errors if it has them, in ``_standard_errors``. Ties
    count half a vote for each side. Where votes leave the items in several groups, it says so: scores of different
    groups cannot be compared.

    Attributes
    ----------
    scores_ : ndarray
        One for each item, in the model's own unit.
    slope_ : float
        Log-odds for one unit of score, fitted to the votes.
    posterior_ : ndarray
        Sigmoid of ``slope_`` times the difference in scores, for each pair.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    _uses_ties: ClassVar[bool] = True
    _takes_features: ClassVar[FeatureUse] = "ignored"
    _extra_state: ClassVar[tuple[str, ...]] = ("slope_",)
    slope_: float

    def _fit(self, votes: Votes, features: Any) -> None:
        assert isinstance(votes, Comparisons)
        self.n_ties_ = votes.n_ties
        counts = PairCounts.of(votes)
        self.scores_ = self._score(counts)
        self._warn_of_groups(counts)
        if not self.converged_:
            name = type(self).__name__
            warn(
                f"{name} stopped before its scores had settled: some items are linked too weakly", NotConvergedWarning
            )
        self.slope_ = fit_link(self.scores_[counts.first] - self.scores_[counts.second], counts.wins, counts.votes)
        self._score_se = self._standard_errors(counts)
        self.flip_ = disagreement(votes, self._opinion)

    def _score(self, counts: PairCounts) -> FloatArray:
        raise NotImplementedError

    def _standard_errors(self, counts: PairCounts) -> FloatArray | None:
        """Return the standard error of each score; None where nothing simple is honest."""
        return None

    def _opinion(self, votes: Comparisons) -> FloatArray:
        margin = self.scores_[votes.pair_first] - self.scores_[votes.pair_second]
        return np.asarray(np.where(np.abs(margin) <= _SAME_SCORE, 0.0, np.sign(margin)))

    def _warn_of_groups(self, counts: PairCounts) -> None:
        first = counts.representatives
        if len(first) < 2:
            return
        named = ", ".join(str(item) for item in self.items_[first[:_MOST_NAMED]])
        more = ", …" if len(first) > _MOST_NAMED else ""
        warn(
            f"the items fall into {len(first):,} groups with no vote between them (those of {named}{more}); "
            "scores of different groups cannot be compared",
            DisconnectedWarning,
        )

    def _estimate_posterior(self) -> FloatArray:
        log_odds = self.slope_ * self.scores_
        return np.asarray(expit(log_odds[self._pair_first] - log_odds[self._pair_second]))

    def _estimate_uncertainty(self) -> Uncertainty:
        if self._score_se is None:
            return Uncertainty.unknown(len(self.items_))
        return independent(self.scores_, self._score_se)

    def _estimate_link(self) -> float:
        return self.slope_

    def _score_of(self, wanted: NDArray[Any], features: Any) -> FloatArray:
        """Return scores as log-odds, for ``predict_proba``."""
        return np.asarray(self.slope_ * super()._score_of(wanted, features))

    def _score_unseen(self, items: NDArray[Any], features: Any) -> FloatArray:
        name = type(self).__name__
        raise UnknownItemError(f"item {items[0]!s} has no votes, and {name} knows nothing else")


def require_smoothing(smoothing: float) -> None:
    """Refuse a smoothing under which a score could be infinite."""
    try:
        fine = 0 < smoothing < float("inf")
    except TypeError:
        fine = False
    if not fine:
        raise ParameterError(f"smoothing is {smoothing!r}; expected a number above 0, such as 0.5")
