"""What a fit of own tastes says of votes: the scores that each annotator has in mind."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from jamrank.data.comparisons import Comparisons
from jamrank.fitting.taste_votes import TasteVotes
from jamrank.fitting.tastes import TasteFit, tie_share
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.families import TASTES
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.scores import Scores
from jamrank.inference.vote_query import VoteQuery, probit_adjusted_sigmoid
from jamrank.inference.vote_summary import VoteSummary
from jamrank.typing import FloatArray

# With own tastes of a smaller standard deviation, flips hardly change.
_NO_TASTE = 0.2


def keep_tastes(fit: TasteFit, votes: TasteVotes, n_draws: int) -> dict[str, Any]:
    """Return what a result keeps of a fit, items and annotators in the order of the votes."""
    n, k = len(votes.items), len(votes.annotators)
    cell = votes.cells[0]
    code = votes.annotators[cell // n] * n + votes.items[cell % n]
    order = np.argsort(code)
    place, place_of_annotator = np.argsort(votes.items), np.argsort(votes.annotators)
    root = np.linalg.cholesky(fit.covariance)
    noise = np.random.default_rng(0).standard_normal((n_draws, n)) @ root.T
    draws = fit.scores + noise - noise.mean(axis=1, keepdims=True)
    found = {
        "score_draws": draws[:, place],
        "mind_cell": code[order],
        "mind": fit.own[order],
        "mind_variance": fit.own_variance[order],
        "discrimination": fit.slopes[place_of_annotator],
        "taste_sds": np.sqrt(np.array([fit.variances.own, fit.variances.slope])),
    }
    if fit.threshold is not None:
        voted = np.bincount(votes.annotator, minlength=k) > 0
        known = np.where(voted, fit.threshold, fit.threshold[voted].mean())
        found["tie_threshold"] = known[place_of_annotator]
    return found


class TasteAnnotators(AnnotatorFit):
    """Annotators with tastes of their own: votes against the scores are not only errors."""

    predictor: TastePredictor

    @cached_property
    def why_withheld(self) -> str:
        """Why intervals of flips are withheld, in a sentence; empty where they are not."""
        return TASTES if self.predictor.found["taste_sds"][0] > _NO_TASTE else ""


class TastePredictor(LinkPredictor):
    """Votes follow the scores that their annotator has in mind."""

    def __init__(self, votes: VoteSummary, scores: Scores, found: dict[str, Any]) -> None:
        super().__init__(votes, scores)
        self.found = found
        self.score_variances = np.asarray(found["score_draws"].var(axis=0))

    def margins(self, query: VoteQuery, features: Any) -> tuple[FloatArray, FloatArray]:
        """Return the margin of each vote in its annotator's mind, and its posterior variance."""
        own_sd, slope_sd = self.found["taste_sds"]
        slope = np.append(self.found["discrimination"], 1.0)[query.annotator]
        scores = np.append(self.scores.scores, self.scores.scores.mean())
        variances = np.append(self.score_variances, self._unseen_variance())
        margin, variance = np.zeros(len(query)), np.zeros(len(query))
        for item, sign in ((query.first, 1.0), (query.second, -1.0)):
            at, known = self._cells(query.annotator, item)
            mind = np.where(known, self.found["mind"][at], slope * scores[item])
            spread = np.where(known, self.found["mind_variance"][at], slope**2 * variances[item] + own_sd**2)
            margin += sign * mind
            variance += spread
        new = query.annotator < 0
        variance[new] += slope_sd**2 * margin[new] ** 2
        return margin, variance

    def _cells(
        self, who: NDArray[np.integer], item: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the places of annotators' items, and which there are."""
        cells, wanted = self.found["mind_cell"], who.astype(np.int64) * len(self.votes.items) + item
        at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
        return at, (cells[at] == wanted) & (who >= 0) & (item >= 0)

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return how likely each vote is to be for the first item of its pair."""
        return probit_adjusted_sigmoid(*self.margins(query, features))

    def says_left(
        self, better: FloatArray, who: NDArray[np.intp], flip: FloatArray, traits: dict[str, Any]
    ) -> FloatArray:
        """Return the sigmoid of the annotator's discrimination times the log-odds, with an unknown own taste."""
        own_sd, _ = self.found["taste_sds"]
        return probit_adjusted_sigmoid(
            self.found["discrimination"][who] * logit(better), np.full(len(who), 2 * own_sd**2)
        )

    def tie(self, votes: Comparisons, features: Any = None) -> FloatArray | None:
        """Return for each vote, ties included, how likely a tie is; None where ties were left out."""
        thresholds = self.found.get("tie_threshold")
        if thresholds is None:
            return None
        query = VoteQuery.of(self.votes, votes, ties=True)
        margin, variance = self.margins(query, features)
        threshold = np.append(thresholds, thresholds.mean())[query.annotator]
        at, weight = np.polynomial.hermite_e.hermegauss(9)
        shares = [tie_share(margin + node * np.sqrt(variance), threshold) for node in at]
        return np.asarray(np.tensordot(weight / weight.sum(), np.array(shares), axes=1))
