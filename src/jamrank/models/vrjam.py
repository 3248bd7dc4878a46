"""Variable Reliability Joint Annotator Modeling: the paper's VRJAM."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from jamrank.errors import ParameterError
from jamrank.fitting.clustered import ClusteredFitter
from jamrank.fitting.fit_input import FitInput
from jamrank.fitting.latent import LatentFitter
from jamrank.fitting.settings import FitSettings
from jamrank.fitting.spec import ModelSpec
from jamrank.inference.cluster_prediction import ClusterPredictor
from jamrank.inference.prediction import LatentPredictor
from jamrank.models.jam import JAM
from jamrank.typing import FloatArray, Int32Array


@dataclass(kw_only=True, repr=False, eq=False)
class VRJAM(JAM):
    """Variable Reliability JAM: a flip probability for each annotator and cluster of pairs.

    Pairs are clustered by K-means on the differences of their standardised features, where a difference and its
    negative are equivalent. Each annotator's flips are shrunk towards the annotator's overall flip, with a strength
    estimated from the votes. With one cluster it is JAM.

    Parameters
    ----------
    n_clusters : int, "auto" or "gap"
        Number of clusters; "auto" takes the number with which each vote is predicted best from the others (with many
        votes, those of a sample of the pairs); "gap" adds
        clusters until two centroids come closer than ``centroid_gap`` times the median distance between centroids,
        the paper's rule.
    centroid_gap : float
        That threshold.
    max_clusters : int
        Largest number of clusters for "auto" and "gap".
    loss, prior, init, n_init, max_iter, tol, random_state, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    flip_ : ndarray of shape (annotators, clusters)
        Flip probabilities.
    centroids_ : ndarray of shape (clusters, features)
        In units of standardised features; a centroid represents itself and its negative.
    cluster_ : ndarray
        Cluster of each pair of ``pairs_``.
    flip_interval_ : ndarray of shape (annotators, clusters, 2)
        95 % interval of each flip.
    strength_ : float
        How many pseudo-votes draw a flip towards the annotator's overall one.
    """

    # Clusters of pairs are found, and flips by cluster fitted, with all votes in memory.
    _spec: ClassVar[ModelSpec] = replace(
        JAM._spec, capabilities=replace(JAM._spec.capabilities, features="always", out_of_core=False)
    )
    _predictor: ClassVar[type[LatentPredictor]] = ClusterPredictor

    n_clusters: int | str = "auto"
    centroid_gap: float = 0.5
    max_clusters: int = 32
    scorer: str = field(default="auto", init=False)
    noise: str = field(default="flip", init=False)
    ties: str = field(default="auto", init=False)
    flips: str = field(default="auto", init=False)
    engine: str = field(default="auto", init=False)

    def _make_fitter(self, settings: FitSettings, given: FitInput) -> LatentFitter:
        for name in ("n_clusters", "max_clusters"):
            value = getattr(self, name)
            named = name == "n_clusters" and value in ("auto", "gap")
            if not (isinstance(value, (int, np.integer)) and value >= 1) and not named:
                raise ParameterError(f"{name} is {value!r}; expected a whole number of at least 1")
        fitter = ClusteredFitter(settings, given.choice, given.votes, given.gold, given.start)
        fitter.n_clusters, fitter.max_clusters = self.n_clusters, self.max_clusters
        fitter.centroid_gap = self.centroid_gap
        return fitter

    @property
    def flip_interval_(self) -> FloatArray | None:
        """95 % interval of each flip, by annotator and cluster, from low to high; None if that is too expensive."""
        return self.result_.annotators.cluster_interval

    @property
    def centroids_(self) -> FloatArray:
        """Centroids in units of standardised features; each represents itself and its negative."""
        centroids: FloatArray = self.result_.extras["centroids"]
        return centroids

    @property
    def cluster_(self) -> Int32Array:
        """Cluster of each pair of ``pairs_``."""
        cluster: Int32Array = self.result_.extras["cluster"]
        return cluster

    @property
    def strength_(self) -> float:
        """How many pseudo-votes draw a flip towards the annotator's overall one."""
        return float(self.result_.extras["strength"])

    @property
    def clusters_(self) -> Any:
        """Frame of the clusters: cluster, pairs, votes, description in the user's features."""
        return self.result_.clusters()

    @property
    def skills_(self) -> Any:
        """Frame of flips by annotator and cluster: annotator, cluster, votes, flip."""
        result = self.result_
        n_annotators, n_clusters = self.flip_.shape
        return result.votes.frame(
            {
                "annotator": np.repeat(result.votes.annotators, n_clusters),
                "cluster": np.tile(np.arange(n_clusters), n_annotators),
                "votes": result.extras["cluster_votes"].ravel(),
                "flip": self.flip_.ravel(),
            }
        )
