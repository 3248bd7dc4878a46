"""Predictors with flips by cluster of pairs, and with independent truths of pairs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from jamrank.inference.prediction import LatentPredictor, LinkPredictor
from jamrank.inference.vote_query import VoteQuery
from jamrank.noise.kmeans import nearest_centroid
from jamrank.scorers import align_features
from jamrank.typing import FloatArray, IntArray


class ClusterPredictor(LatentPredictor):
    """A flip for each annotator and cluster of pairs: VRJAM."""

    def confusion(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item, by the truth; a mean if the cluster is unknown."""
        found = super().confusion(query, features)
        lost = self.group(query, features) < 0
        if lost.any():
            cluster_votes, decided = self.fit.extras["cluster_votes"], self.votes.decided_votes
            share = cluster_votes.sum(axis=0) / cluster_votes.sum()
            for_first = self.vote_tables[:, 1].reshape(len(self.votes.annotators), -1, 2)
            of_all = np.einsum("akz,k->az", for_first, share)
            overall = decided @ of_all / decided.sum()
            found[lost] = np.concatenate([of_all, overall[None]])[query.annotator[lost]]
        return found

    def group(self, query: VoteQuery, features: Any) -> IntArray:
        """Return the cluster of each vote's pair: as fitted or, for another pair, the nearest; -1 where unknown."""
        extras = self.fit.extras
        kinds = np.where(query.pair >= 0, extras["cluster"][query.pair], -1).astype(np.int64)
        new = (query.pair < 0) & (query.first >= 0) & (query.second >= 0)
        matrix = self._standardised(features) if new.any() else None
        if matrix is not None:
            first, second = query.first[new].astype(np.int32), query.second[new].astype(np.int32)
            kinds[new] = nearest_centroid(first, second, matrix, extras["centroids"], self.fit.settings.n_jobs)
        return kinds

    def _standardised(self, features: Any) -> FloatArray | None:
        """Return the standardised features of all items: those of the fit, or where they are missing, those given."""
        matrix: FloatArray | None = self.fit.extras.get("matrix")
        if matrix is None and features is not None and self.scores.features is not None:
            given, _ = align_features(features, self.votes.items, self.scores.features.names)
            matrix = self.scores.features.standardise(given)
        return matrix


class PairPredictor(LatentPredictor):
    """Truths of pairs are independent (Dawid and Skene); new pairs are predicted from the scores."""

    def of_query(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item; on a new pair, through a link from the scores."""
        truth = 0.5 + query.seen_from_first(self.posterior - 0.5, np.zeros(len(query)))
        for_first = self.confusion(query, features)
        expected = truth * for_first[:, 1] + (1 - truth) * for_first[:, 0]
        return np.where(query.pair >= 0, expected, LinkPredictor.of_query(self, query, features))

    @cached_property
    def link(self) -> float:
        """Slope fitted to the votes: scores are log-odds of shares, not of votes."""
        link: float = LinkPredictor.link.func(self)  # type: ignore[attr-defined]
        return link

    @cached_property
    def score_variances(self) -> FloatArray:
        """Zeros."""
        return np.zeros(len(self.votes.items))
