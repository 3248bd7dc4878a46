"""Variable Reliability Joint Annotator Modeling: the paper's VRJAM."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.engines import Engine, MemoryEngine
from jamrank.errors import FeatureError, ParameterError
from jamrank.fitting.em import Fit, Point, Problem, run
from jamrank.fitting.prior import Prior
from jamrank.inference.clusters import describe_cluster
from jamrank.inference.information import interval, joint_covariance
from jamrank.inference.response_bias import VoteChunk
from jamrank.io.out_of_core.parted import Votes
from jamrank.models.base import FeatureUse
from jamrank.models.jam import JAM
from jamrank.models.vote_query import VoteQuery
from jamrank.noise import ClusteredFlip, Flip, Noise
from jamrank.noise.clustered import choose_strength
from jamrank.noise.kmeans import choose_clusters, cluster_pairs, nearest_centroid
from jamrank.rows.rows import Rows
from jamrank.scorers import Scorer, align_features
from jamrank.typing import FloatArray, Int32Array, IntArray

__all__ = ["VRJAM"]

_STRENGTH_ROUNDS = 3


class VRJAM(JAM):
    """Variable Reliability JAM: a flip probability for each annotator and cluster of pairs.

    Pairs are clustered by K-means on the differences of their standardised features, a difference and its opposite
    being one. Each annotator's flips are drawn towards the annotator's overall flip, as far as the votes suggest.
    With one cluster it is JAM.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" adds clusters until two centroids come closer than ``centroid_gap`` times the
        median distance between centroids, the paper's rule.
    centroid_gap : float
        That threshold.
    max_clusters : int
        Most clusters that "auto" may take.
    loss, prior, init, n_init, max_iter, tol, random_state, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    flip_ : ndarray of shape (annotators, clusters)
        Flip probabilities.
    centroids_ : ndarray of shape (clusters, features)
        In units of standardised features; a centroid stands for itself and its opposite.
    cluster_ : ndarray
        Cluster of each pair of ``pairs_``.
    flip_interval_ : ndarray of shape (annotators, clusters, 2)
        95 % interval of each flip.
    strength_ : float
        How many imagined votes draw a flip towards the annotator's overall one.
    """

    # Clusters of pairs are found, and flips by cluster fitted, with all votes in memory.
    _from_disk: ClassVar[bool] = False
    _takes_features: ClassVar[FeatureUse] = "always"
    _extra_state: ClassVar[tuple[str, ...]] = (
        *JAM._extra_state,
        "flip_interval_",
        "centroids_",
        "cluster_",
        "strength_",
        "_cluster_votes",
    )
    centroids_: FloatArray
    cluster_: Int32Array
    strength_: float
    _overall: tuple[Problem, Point]

    def __init__(
        self,
        *,
        n_clusters: int | str = "auto",
        centroid_gap: float = 0.5,
        max_clusters: int = 8,
        loss: str = "logistic",
        prior: Prior | str | None = "auto",
        init: str = "share",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            loss=loss,
            prior=prior,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_clusters = n_clusters
        self.centroid_gap = centroid_gap
        self.max_clusters = max_clusters

    def _validate(self) -> None:
        super()._validate()
        for name in ("n_clusters", "max_clusters"):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= 1) and (name, value) != ("n_clusters", "auto"):
                raise ParameterError(f"{name} is {value!r}; expected a whole number of at least 1")

    def _fit(self, votes: Votes, features: Any) -> None:
        if features is None:
            raise FeatureError(
                "VRJAM needs features", "give one row an item (--features FILE), or use JAM, which needs none"
            )
        super()._fit(votes, features)

    def _fit_linear(
        self,
        votes: Votes,
        engine: Engine,
        noise: Noise,
        prior: Prior | None,
        matrix: FloatArray,
    ) -> tuple[Problem, Fit]:
        assert isinstance(engine, MemoryEngine) and isinstance(votes, Comparisons)
        problem = self._linear_problem(engine, noise, prior, matrix)
        fit = self._best_run(problem)
        self._matrix = matrix
        self.centroids_ = self._find_centroids(engine.rows, matrix)
        self.cluster_ = nearest_centroid(votes.pair_first, votes.pair_second, matrix, self.centroids_, self.n_jobs)
        self.strength_, self._overall = 0.0, (problem, fit.point)
        if len(self.centroids_) > 1:
            cluster = self.cluster_[engine.rows.pair]
            engine = MemoryEngine(engine.rows.clustered(cluster, len(self.centroids_)), self.n_jobs)
            problem, fit = self._fit_clusters(engine, problem.scorer, prior, fit, problem.posterior(fit.point))
        self._cluster_votes = engine.rows.vote_counts.sum(axis=1).reshape(votes.n_annotators, -1)
        self._finish_linear(problem, prior, fit)
        return problem, fit

    def _find_centroids(self, rows: Rows, matrix: FloatArray) -> FloatArray:
        """Cluster the distinct pairs of items that were voted on."""
        first, second = rows.first[rows.edges], rows.second[rows.edges]
        if self.n_clusters != "auto":
            return cluster_pairs(first, second, matrix, int(self.n_clusters), self.n_jobs).centroids
        return choose_clusters(first, second, matrix, self.centroid_gap, self.max_clusters, self.n_jobs).centroids

    def _fit_clusters(
        self,
        engine: MemoryEngine,
        scorer: Scorer,
        prior: Prior | None,
        jam: Fit,
        posterior: FloatArray,
    ) -> tuple[Problem, Fit]:
        """Continue from JAM's answer with a flip for each cluster, shrunk as far as the votes suggest."""
        n_clusters = len(self.centroids_)
        overall = jam.point.rates
        weak = prior.flip_votes if prior else (0.0, 0.0)
        plain = Flip(engine.rows.vote_counts)
        votes = plain.votes.reshape(-1, n_clusters)

        def problem() -> Problem:
            noise = ClusteredFlip(engine.rows.vote_counts, n_clusters, overall, self.strength_, *weak)
            return Problem(engine, scorer, noise, self.loss)

        expected_counts = engine.rows.over_votes(posterior)
        point = problem().evaluate(jam.point.theta, np.repeat(jam.point.params, n_clusters))
        for _ in range(_STRENGTH_ROUNDS if prior else 0):
            self.strength_ = choose_strength(plain.errors(expected_counts).reshape(-1, n_clusters), votes, overall)
            now = problem()
            point = run(now, now.with_prior(point), max_iter=10, tol=1e-3).point
            expected_counts = point.expectation.expected_counts
        final = problem()
        return final, self._best_run(final, point)

    def _confusion_groups(self, query: VoteQuery, features: Any) -> FloatArray:
        """Return the probability of a vote for the first item, by the truth; of all clusters where none is known."""
        log_emission = super()._confusion_groups(query, features)
        lost = self._kinds(query, features) < 0
        if lost.any():
            share = self._cluster_votes.sum(axis=0) / self._cluster_votes.sum()
            of_all = np.einsum("akz,k->az", self._vote_tables[:, 1].reshape(len(self._annotators), -1, 2), share)
            overall = self._decided_votes @ of_all / self._decided_votes.sum()
            log_emission[lost] = np.concatenate([of_all, overall[None]])[query.annotator[lost]]
        return log_emission

    def _kinds(self, query: VoteQuery, features: Any) -> IntArray:
        """Return the cluster of each vote's pair: as fitted or, for another pair, the nearest; -1 where unknown."""
        kinds = np.where(query.pair >= 0, self.cluster_[query.pair], -1).astype(np.int64)
        new = (query.pair < 0) & (query.first >= 0) & (query.second >= 0)
        matrix = self._measured(features) if new.any() else None
        if matrix is not None:
            first, second = query.first[new].astype(np.int32), query.second[new].astype(np.int32)
            kinds[new] = nearest_centroid(first, second, matrix, self.centroids_, self.n_jobs)
        return kinds

    def _measured(self, features: Any) -> FloatArray | None:
        """Return the standardised features of all items: those of the fit, or where it was loaded, those given."""
        if "_matrix" not in vars(self) and features is not None and self._features is not None:
            matrix, _ = align_features(features, self.items_, self._features.names)
            return self._features.standardise(matrix)
        return vars(self).get("_matrix")

    @cached_property
    def flip_interval_(self) -> FloatArray | None:
        """95 % interval of each flip, by annotator and cluster, from low to high; None where that costs too much.

        A flip is drawn towards the annotator's overall one, and inherits what is not known of that. Where a cluster
        is easier or harder for everyone, flips are drawn the wrong way; the interval makes up for it.
        """
        self._require_fit()
        problem, point = self._fitted
        covariance = joint_covariance(problem, point)
        if covariance is None:
            return None
        n_annotators, n_clusters = self.flip_.shape
        centre = self._overall[1].rates
        pull = np.repeat(self.strength_ * centre * (1 - centre), n_clusters)
        inherited = (covariance * pull).reshape(-1, n_annotators, n_clusters).sum(axis=2)
        variance = np.diag(covariance) + (inherited**2 / np.maximum(self._flip_information, 1e-6)).sum(axis=1)
        moved, more = self._common_to_all(np.diag(covariance), pull)
        bounds = expit(interval(point.params + moved, variance + more)).reshape(n_annotators, n_clusters, 2)
        low, high = np.minimum(bounds[..., 0], self.flip_), np.maximum(bounds[..., 1], self.flip_)
        return np.stack([low, high], axis=2)

    def _common_to_all(self, variance: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far the pull has kept each flip, on its logit, from what its cluster does to all annotators.

        Votes and pull are weighed as normals. The second value is the variance of the first.
        """
        n_clusters = self.flip_.shape[1]
        if not self.strength_ > 0:
            return np.zeros_like(pull), np.zeros_like(pull)
        of_votes = np.maximum(1.0 / variance - pull, 1e-3)
        away = self._fitted[1].params - np.repeat(self._overall[1].params, n_clusters)
        without_pull = away * (of_votes + pull) / of_votes
        weight = (of_votes * pull / (of_votes + pull)).reshape(-1, n_clusters)
        total = np.maximum(weight.sum(axis=0), 1e-12)
        common = (weight * without_pull.reshape(-1, n_clusters)).sum(axis=0) / total
        share = (pull / (of_votes + pull)).reshape(-1, n_clusters)
        return np.asarray((share * common).ravel()), np.asarray((share**2 / total).ravel())

    def _estimate_flip_information(self) -> FloatArray:
        """Return the information on the overall flips, which the clusters' are drawn to."""
        return self._information_of_flips(*self._overall)

    def _flips(self, votes: Votes, point: Point) -> FloatArray:
        return point.rates.reshape(votes.n_annotators, -1)

    def _flip_of_votes(self, chunk: VoteChunk) -> FloatArray:
        return np.asarray(self.flip_[chunk.annotator, self.cluster_[chunk.pair]])

    @property
    def clusters_(self) -> Any:
        """Frame of the clusters: cluster, pairs, votes, description in the user's features."""
        self._require_fit()
        assert self._features is not None
        names, scale = self._features.names, self._features.scale
        told = [describe_cluster(centroid, names, scale) for centroid in self.centroids_]
        return self._frame(
            {
                "cluster": np.arange(len(told)),
                "pairs": np.bincount(self.cluster_, minlength=len(told)),
                "votes": self._cluster_votes.sum(axis=0),
                "description": np.array(told, dtype=object),
            }
        )

    @property
    def skills_(self) -> Any:
        """Frame of who is good at what: annotator, cluster, votes, flip."""
        self._require_fit()
        n_annotators, n_clusters = self.flip_.shape
        return self._frame(
            {
                "annotator": np.repeat(self._annotators, n_clusters),
                "cluster": np.tile(np.arange(n_clusters), n_annotators),
                "votes": self._cluster_votes.ravel(),
                "flip": self.flip_.ravel(),
            }
        )

    def _overall_flip(self) -> FloatArray:
        total = self._cluster_votes.sum(axis=1)
        flipped = (self.flip_ * self._cluster_votes).sum(axis=1)
        return np.asarray(np.divide(flipped, total, out=self.flip_.mean(axis=1), where=total > 0))
