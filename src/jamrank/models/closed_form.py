"""Base of the models that count votes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.errors import DisconnectedWarning, NotConvergedWarning, ParameterError, warn
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.link import fit_link
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.prediction import LinkPredictor, SlopePredictor
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.scores import SAME_SCORE, Scores
from jamrank.inference.vote_summary import VoteSummary
from jamrank.models.base import RankingModel
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray

_MOST_NAMED = 3


class ClosedForm(RankingModel):
    """Base of models whose scores follow from counts of votes by pair of items.

    A subclass returns the scores in ``_score``, and standard errors, if any, in ``_standard_errors``. Ties count half
    a vote for each side. If items are not all connected, a warning says that scores of different groups cannot be
    compared.

    scores_: One for each item, in the model's own unit.
    slope_: Log-odds for one unit of score, fitted to the votes.
    posterior_: Sigmoid of ``slope_`` times the difference in scores, for each pair.
    flip_: Share of each annotator's votes that go against the scores.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(unit="vote", capabilities=Capabilities(features="ignored", ties=True))

    _predictor: ClassVar[type[LinkPredictor]] = SlopePredictor

    @property
    def slope_(self) -> float:
        """Log-odds for one unit of score, fitted to the votes."""
        return self.result_.scores.slope

    def _fit(self, given: FitInput) -> RankingResult:
        votes, name = given.in_memory, type(self).__name__
        counts = PairCounts.of(votes)
        values, converged, extras = self._score(counts)
        self._warn_of_groups(counts, votes.items)
        if not converged:
            warn(
                f"{name} did not converge: some items are connected too weakly",
                NotConvergedWarning,
            )
        slope = fit_link(values[counts.first] - values[counts.second], counts.wins, counts.votes)

        def opinion(part: Comparisons) -> FloatArray:
            margin = values[part.pair_first] - values[part.pair_second]
            return np.asarray(np.where(np.abs(margin) <= SAME_SCORE, 0.0, np.sign(margin)))

        summary = VoteSummary.of(votes)
        scores = Scores(votes.items, values, name, slope)
        se = self._standard_errors(counts, values, slope)
        flip = disagreement(votes, opinion)
        ended = Convergence(converged=converged)
        return self._counted_result(summary, scores, flip, ended, self.get_params(), se=se, extras=extras)

    def _score(self, counts: PairCounts) -> tuple[FloatArray, bool, dict[str, Any]]:
        """Return the scores, whether they converged, and further results of the model."""
        raise NotImplementedError

    def _standard_errors(self, counts: PairCounts, scores: FloatArray, slope: float) -> FloatArray | None:
        """Return the standard error of each score; None if there is no simple valid one."""
        return None

    def _warn_of_groups(self, counts: PairCounts, items: NDArray[Any]) -> None:
        first = counts.representatives
        if len(first) < 2:
            return
        named = ", ".join(str(item) for item in items[first[:_MOST_NAMED]])
        more = ", …" if len(first) > _MOST_NAMED else ""
        warn(
            f"the items fall into {len(first):,} groups with no vote between them (those of {named}{more}); "
            "scores of different groups cannot be compared",
            DisconnectedWarning,
        )


def require_smoothing(smoothing: float) -> None:
    """Raise for a smoothing with which a score could be infinite."""
    try:
        fine = 0 < smoothing < float("inf")
    except TypeError:
        fine = False
    if not fine:
        raise ParameterError(f"smoothing is {smoothing!r}; expected a number above 0, such as 0.5")
