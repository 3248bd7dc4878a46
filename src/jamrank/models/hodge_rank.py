"""HodgeRank: least squares on the graph of comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jamrank.errors import ParameterError
from jamrank.linalg.laplacian import potentials
from jamrank.models.closed_form import ClosedForm, require_smoothing
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray


@dataclass(kw_only=True, repr=False, eq=False)
class HodgeRank(ClosedForm):
    """Least-squares scores: their differences fit the flow of votes on each pair best.

    Every pair of items counts as often as it has votes. After Jiang, Lim, Yao and Ye, *Statistical ranking and
    combinatorial Hodge theory*, 2011.

    Parameters
    ----------
    flow : {"log-odds", "share"}
        The flow on a pair: the log-odds of its smoothed share, or the share of wins minus the share of losses, in
        which case the scores are those of Massey's method for votes of +1 and -1.
    smoothing : float
        Pseudo-votes for each side of every compared pair, for the log-odds.

    Attributes
    ----------
    scores_ : ndarray
        With mean 0 in each connected component; 0 for an item without votes.
    inconsistency_ : float
        Share, from 0 to 1, of the squared flow that no scores can explain: cycles such as a over b over c over a,
        and noise.
    slope_ : float
        Log-odds for one unit of score, fitted to the votes.
    posterior_ : ndarray
        Sigmoid of ``slope_`` times the difference in scores, for each pair.
    flip_ : ndarray
        Share of each annotator's votes that go against the scores.
    """

    flow: str = "log-odds"
    smoothing: float = 0.5

    def _score(self, counts: PairCounts) -> tuple[FloatArray, bool, dict[str, Any]]:
        require_smoothing(self.smoothing)
        flow = self._flow_on(counts)
        scores, converged = potentials(counts, flow, counts.votes)
        left = flow - (scores[counts.first] - scores[counts.second])
        energy = float((counts.votes * flow**2).sum())
        unexplained = min(float((counts.votes * left**2).sum()) / energy, 1.0) if energy > 0 else 0.0
        return scores, converged, {"inconsistency": unexplained}

    @property
    def inconsistency_(self) -> float:
        """Share, from 0 to 1, of the squared flow that no scores can explain."""
        return float(self.result_.extras["inconsistency"])

    def _flow_on(self, counts: PairCounts) -> FloatArray:
        if self.flow == "share":
            return (counts.wins - counts.losses) / counts.votes
        if self.flow == "log-odds":
            return np.log((counts.wins + self.smoothing) / (counts.losses + self.smoothing))
        raise ParameterError(f"flow is {self.flow!r}; expected 'log-odds' or 'share'")
