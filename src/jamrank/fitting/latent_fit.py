"""The fit of a scorer and a noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jamrank.fitting.settings import FitSettings
from jamrank.fitting.solution import Solution
from jamrank.scorers import Features, KernelMap
from jamrank.typing import FloatArray

__all__ = ["LatentFit"]


@dataclass(frozen=True, eq=False)
class LatentFit:
    """Scores, weights and flips, and the solutions that they come from.

    Attributes
    ----------
    settings : FitSettings
    scorer : str
        Name of the scorer that was used.
    fitted : Solution
        Scorer and noise where the EM loop ended.
    refined : Solution
        Free scores and the noise: votes and features together. The same as ``fitted`` without features.
    overall : Solution or None
        With flips by cluster, the fit with one flip for each annotator.
    scores : ndarray
        One per item.
    flip : ndarray
        Of each annotator; by annotator and cluster where flips differ between clusters.
    traits : dict
        Other estimates for each annotator.
    features : Features or None
        How features are standardised.
    coef, feature_scores : ndarray or None
        Weights in the user's units, and the part of the scores that features explain.
    kernel, kernel_weights : optional
        The kernel map of the features and its weights.
    score_variance, weight_variance : float or None
        Prior variances, given or estimated.
    flip_information : ndarray or None
        Information on the logit of each flip, if the scores were integrated out.
    log_likelihoods : ndarray
        Objective at each iteration.
    log_likelihood : float
    n_iter, n_passes : int
    converged : bool
    extras : dict
        Values that only one model has.
    """

    settings: FitSettings
    scorer: str
    fitted: Solution
    refined: Solution
    scores: FloatArray
    flip: FloatArray
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
