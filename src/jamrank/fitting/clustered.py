"""Flips by annotator and cluster of pairs: the fit of VRJAM."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.engines import Engine, MemoryEngine
from jamrank.fitting.cluster_choice import HeldOutVotes, choose_number
from jamrank.fitting.em import Fit, Point, Problem, run
from jamrank.fitting.latent import LatentFitter, Outcome
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.solution import NoiseState, ScorerState, Solution
from jamrank.noise import Flip, Noise
from jamrank.noise.clustered import choose_strength
from jamrank.noise.kmeans import (
    PairClusters,
    SampledPairs,
    choose_clusters,
    cluster_pairs,
    nearest_centroid,
    refined,
)
from jamrank.rows import Rows
from jamrank.typing import FloatArray, Int32Array

_STRENGTH_ROUNDS = 3
# The number of clusters is chosen by clusters of about so many pairs after so many rounds of k-means, and by the
# losses of about so many votes: enough to tell apart what differs by the least gain that counts.
_MOST_PAIRS, _ROUNDS, _MOST_VOTES = 1 << 13, 5, 1 << 17


class ClusteredFitter(LatentFitter):
    """Fits JAM, clusters the pairs, then fits one flip per annotator and cluster.

    n_clusters (int, "auto" or "gap").
    max_clusters: As in :class:`jamrank.VRJAM`; set before :meth:`fit`.
    """

    n_clusters: int | str = "auto"
    centroid_gap: float = 0.5
    max_clusters: int = 32

    def fit_linear(self, engine: Engine, noise: Noise, matrix: FloatArray) -> Outcome:
        """Fit weights and overall flips, then clusters."""
        memory, votes, n_jobs = cast(MemoryEngine, engine), cast(Comparisons, self.votes), self.settings.n_jobs
        problem, state = self.linear_problem(engine, noise, matrix)
        fit = self.best_run(problem)
        self.matrix = matrix
        self.centroids = self._find_centroids(memory.rows, matrix, problem, fit)
        self.cluster = self._nearest(votes, self.centroids)
        self.strength = 0.0
        self.overall = Solution.of(self.source, state, self.noise_state, problem, fit.point)
        noise_state = self.noise_state
        if len(self.centroids) > 1:
            posterior = problem.posterior(fit.point)
            source = replace(self.source, cluster=self.cluster, n_clusters=len(self.centroids))
            rows = memory.rows.clustered(self.cluster[memory.rows.pair], len(self.centroids))
            memory = MemoryEngine(rows, n_jobs, votes)
            self.source = source.with_engine(memory)
            problem, fit, noise_state = self._fit_clusters(memory, state, fit, posterior)
        self.cluster_votes = memory.rows.vote_counts.sum(axis=1).reshape(votes.n_annotators, -1)
        return self.with_free_scores(problem, fit, state, noise_state)

    def _find_centroids(self, rows: Rows, matrix: FloatArray, problem: Problem, fit: Fit) -> FloatArray:
        """Cluster the distinct pairs of items that were voted on."""
        n_jobs, most = self.settings.n_jobs, self.max_clusters
        if self.n_clusters == "gap":
            return choose_clusters(*rows.pairs, matrix, self.centroid_gap, most, n_jobs).centroids
        if self.n_clusters != "auto":
            return cluster_pairs(*rows.pairs, matrix, int(self.n_clusters), n_jobs).centroids
        sampled = SampledPairs(matrix, n_jobs)
        pairs = PairClusters(*sampled.some(*rows.pairs, _MOST_PAIRS), matrix, most, n_jobs)
        clusters = pairs.of(self._best_number(rows, pairs, sampled, problem, fit))
        if len(rows.pairs[0]) > _MOST_PAIRS:
            clusters = refined(sampled.some(*rows.pairs), matrix, clusters, n_jobs)
        return clusters.centroids

    def _best_number(self, rows: Rows, pairs: PairClusters, sampled: SampledPairs, problem: Problem, fit: Fit) -> int:
        """Return the number of clusters with which held-out votes are predicted best; many votes are sampled."""
        votes, posterior = cast(Comparisons, self.votes), problem.posterior(fit.point)
        if not isinstance(rows.pair, slice):
            of_row, posterior = posterior, np.full(votes.n_pairs, 0.5)
            posterior[rows.pair] = of_row
        weak = self.prior.flip_votes if self.prior else (0.5, 0.5)
        share = _MOST_VOTES / max(votes.n_folded, 1)
        if share < 1:
            kept = sampled.chosen(votes.pair_first, votes.pair_second, share)
            votes, posterior = votes.only_pairs(kept), posterior[kept]
        held_out = HeldOutVotes(votes, posterior, fit.point.rates[: votes.n_annotators], weak)

        def clusters(number: int) -> tuple[Int32Array, int]:
            centroids = pairs.of(number, _ROUNDS).centroids
            return self._nearest(votes, centroids), len(centroids)

        return choose_number(self.max_clusters, clusters, held_out)

    def _nearest(self, votes: Comparisons, centroids: FloatArray) -> Int32Array:
        """Return the cluster of each pair."""
        return nearest_centroid(votes.pair_first, votes.pair_second, self.matrix, centroids, self.settings.n_jobs)

    def _fit_clusters(
        self, engine: MemoryEngine, state: ScorerState, jam: Fit, posterior: FloatArray
    ) -> tuple[Problem, Fit, NoiseState]:
        """Continue from the JAM fit with a flip for each cluster, with shrinkage estimated from the votes."""
        n_clusters, overall = len(self.centroids), jam.point.rates
        plain = Flip(engine.rows.vote_counts)
        votes = plain.votes.reshape(-1, n_clusters)
        scorer = state.build(engine.n_items)

        def noise() -> NoiseState:
            return replace(self.noise_state, overall=overall, strength=self.strength)

        def problem() -> Problem:
            return Problem(engine, scorer, noise().build(engine), self.settings.loss)

        expected_counts = engine.rows.over_votes(posterior)
        point = problem().evaluate(jam.point.theta, np.repeat(jam.point.params, n_clusters))
        for _ in range(_STRENGTH_ROUNDS if self.prior else 0):
            self.strength = choose_strength(plain.errors(expected_counts).reshape(-1, n_clusters), votes, overall)
            now = problem()
            point = run(now, now.with_prior(point), max_iter=10, tol=1e-3).point
            expected_counts = point.expectation.expected_counts
        final = problem()
        return final, self.best_run(final, point), noise()

    def flips(self, noise: Noise, point: Point) -> FloatArray:
        """Return the flips by annotator and cluster."""
        return point.rates.reshape(len(self.votes.annotators), -1)

    def finish(self, outcome: Outcome) -> LatentFit:
        """Return the fit, including the clusters."""
        extras = {
            "centroids": self.centroids,
            "cluster": self.cluster,
            "strength": self.strength,
            "cluster_votes": self.cluster_votes,
            "matrix": self.matrix,
        }
        return replace(super().finish(outcome), overall=self.overall, extras=extras)
