"""The fit of a scorer and a noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.fitting.disagreement import disagreement
from jamrank.fitting.settings import FitSettings
from jamrank.fitting.solution import Solution
from jamrank.scorers import Features, KernelMap
from jamrank.typing import FloatArray


@dataclass(frozen=True, eq=False)
class LatentFit:
    """Scores, weights and flips, and the solutions that they come from.

    scorer: Name of the scorer that was used.
    fitted: Scorer and noise where the EM loop ended.
    refined: Free scores and the noise: votes and features together. The same as ``fitted`` without features.
    overall: With flips by cluster, the fit with one flip for each annotator.
    scores: One per item.
    estimated_flip: Of each annotator; by annotator and cluster where flips differ between clusters; None where they
        are counted when they are asked for.
    traits: Other estimates for each annotator.
    features: How features are standardised.
    coef, feature_scores: Weights in the user's units, and the part of the scores that features explain.
    kernel, kernel_weights: The kernel map of the features and its weights.
    score_variance, weight_variance: Prior variances, given or estimated.
    flip_information: Information on the logit of each flip, if the scores were integrated out.
    score_information: Information of the votes on each score, if the scores were integrated out.
    log_likelihoods: Objective at each iteration.
    counted_against: The scores against which votes are counted.
    extras: Values that only one model has.
    """

    settings: FitSettings
    scorer: str
    fitted: Solution
    refined: Solution
    scores: FloatArray
    estimated_flip: FloatArray | None
    traits: dict[str, FloatArray]
    log_likelihoods: FloatArray
    log_likelihood: float
    n_iter: int
    n_passes: int
    converged: bool
    overall: Solution | None = None
    features: Features | None = None
    coef: FloatArray | None = None
    feature_scores: FloatArray | None = None
    kernel: KernelMap | None = None
    kernel_weights: FloatArray | None = None
    score_variance: float | None = None
    weight_variance: float | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    flip_information: FloatArray | None = None
    score_information: FloatArray | None = None
    counted_against: FloatArray | None = None

    @cached_property
    def flip(self) -> FloatArray:
        """Flip of each annotator; if the noise has none, the share of votes against the scores."""
        if self.estimated_flip is not None:
            return self.estimated_flip
        scores, votes = self.counted_against, self.fitted.source.votes
        assert scores is not None and votes is not None

        def opinion(part: Comparisons) -> FloatArray:
            return np.asarray(np.sign(scores[part.pair_first] - scores[part.pair_second]))

        return disagreement(votes, opinion)

    @cached_property
    def overall_flip(self) -> FloatArray:
        """One flip for each annotator: over clusters, the mean over votes."""
        if self.flip.ndim == 1:
            return self.flip
        votes = self.extras["cluster_votes"]
        total = votes.sum(axis=1)
        flipped = (self.flip * votes).sum(axis=1)
        return np.asarray(np.divide(flipped, total, out=self.flip.mean(axis=1), where=total > 0))

    @property
    def integrated_variances(self) -> FloatArray | None:
        """Variance of each score if they were integrated out; the curvature at the scores understates it."""
        if self.score_information is None or not self.score_variance:
            return None
        return np.asarray(1.0 / (self.score_information + 1.0 / self.score_variance))
