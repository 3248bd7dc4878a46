"""The result of a fit: everything that report, command line, exports and files use.

A fitted model has it as ``model.result_``. Its public surface:

- ``result.model``, ``result.spec``: name and :class:`~jamrank.fitting.spec.ModelSpec` of the model, with the scorer
  and the noise that were used; ``result.can`` are its capabilities (``features``, ``gold``, ``ties``, …).
- ``result.votes``: ids and counts of the votes (``items``, ``annotators``, ``questions``, ``n_votes``, ``n_ties``,
  ``annotator_votes``, ``decided_votes``, ``pairs.first/second/question/votes``), ``source`` (the votes, or None) and
  ``gold``.
- ``result.scores``: ``scores``, ``feature_scores``, ``coef``, ``features``, ``score_variance``, ``weight_variance``,
  ``scorer``.
- ``result.annotators``: ``flip`` (by cluster for VRJAM), ``overall`` (one flip each), ``traits`` (``bias``,
  ``side_flip``, ``tie``, ``discrimination``), ``flip_range`` (95 %), ``flip_bounds(level)``, ``flip_information``,
  ``verdicts``, ``response_bias``, ``effective_judges``, ``bias_interval``, ``tie_interval``,
  ``discrimination_interval``, ``cluster_interval``.
- ``result.uncertainty``: ``estimate`` (:class:`~jamrank.inference.Uncertainty`: ``score_se``, ``score_low``,
  ``score_high``, ``rank_low``, ``rank_high``, ``kind``), ``bounds(level)``, ``score_draws``, ``rank_draws``,
  ``draw(n, random_state)``, ``rank_distribution()``, ``top(k)``, ``information()``, ``rank``,
  ``diagnostics``.
- ``result.predictor``: ``posterior`` (of each pair), ``truth(left, right, features)``, ``vote(votes, features)``.
- ``result.convergence``: ``n_iter``, ``n_passes``, ``converged``, ``log_likelihoods``, ``log_likelihood``, ``engine``
  (the one that really ran), ``engine_reason``.
- ``result.judging``: the result that assesses the annotators: this one, or that of a model of annotators that is
  fitted beside a model without; ``judged_by`` says so in a sentence.
- Frames: ``ranking()``, ``annotators_frame()``, ``pairs()``, ``features_frame()``, ``groups()``, ``correlated()``,
  ``clusters()``, ``effects_frame()``.
- ``result.extras``: what only one model has, by name.

Arrays follow ``votes.items``, ``votes.annotators`` and ``votes.pairs``. Expensive parts are computed once, on first
access.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import locate
from jamrank.engines import Choice, Engine
from jamrank.errors import FeatureError, InputError, ParameterError, UnknownItemError
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.leave_one_out import leave_one_out
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.inference.annotators import AnnotatorFit
from jamrank.inference.bootstrap import bootstrap
from jamrank.inference.clusters import describe_cluster
from jamrank.inference.covariates import effects_frame
from jamrank.inference.information import interval, weight_variances, whole_covariance
from jamrank.inference.latent import LatentInference
from jamrank.inference.order_probability import OrderProbability, find_items
from jamrank.inference.prediction import LinkPredictor
from jamrank.inference.ranks import order_accuracy
from jamrank.inference.scale import rescaled
from jamrank.inference.score_uncertainty import ScoreUncertainty, as_level, at_least_one
from jamrank.inference.scores import Scores
from jamrank.inference.uncertainty import Uncertainty
from jamrank.inference.vote_summary import VoteSummary, whole_numbers
from jamrank.scorers import SCORERS, align_features
from jamrank.typing import FloatArray, IntArray

# Beyond this many rows times passes, intervals of weights hold the flips fixed.
_MOST_VISITS = 200_000_000


@dataclass(frozen=True, eq=False)
class Convergence:
    """How a fit converged, and on which engine.

    n_iter, n_passes: Iterations, and passes over the votes.
    log_likelihoods: Log-likelihood plus log prior at each iteration; empty for models without a likelihood.
    log_likelihood: The last log-likelihood, without prior.
    engine: The engine that ran the passes.
    engine_reason: Why this engine was used.
    """

    n_iter: int = 0
    n_passes: int = 0
    converged: bool = True
    log_likelihoods: FloatArray = field(default_factory=lambda: np.empty(0))
    log_likelihood: float | None = None
    engine: str = "memory"
    engine_reason: str = ""

    @classmethod
    def of(cls, fit: LatentFit, engine: Engine, choice: Choice) -> Convergence:
        """Return the convergence of a fit of scorer and noise."""
        used = engine.decided.choice or choice
        return cls(
            fit.n_iter, fit.n_passes, fit.converged, fit.log_likelihoods, fit.log_likelihood, used.name, used.why
        )


@dataclass(frozen=True, eq=False)
class RankingResult:
    """The result of a fit; the module lists its members."""

    model: str
    spec: ModelSpec
    votes: VoteSummary
    scores: Scores
    annotators: AnnotatorFit
    convergence: Convergence
    predictor: LinkPredictor
    uncertainty: ScoreUncertainty
    inference: LatentInference | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    refit: Callable[[Comparisons], FloatArray] | None = None
    """Returns the scores of the same model for other votes, for the bootstrap."""
    fit_judging: Callable[[], RankingResult] | None = None
    """Fits a model of annotators to the same votes, where this one does not estimate flips."""

    @cached_property
    def judging(self) -> RankingResult:
        """The result that assesses the annotators: this one, or that of a model fitted beside it."""
        return self if self.fit_judging is None else self.fit_judging()

    @property
    def judged_by(self) -> str:
        """Where flips and verdicts come from, as a sentence; empty if from this model."""
        if self.judging is not self:
            allowed = np.any(self.extras.get("noise_flip", 0.0))
            why = "allows for flips, but does not estimate their level" if allowed else "does not estimate flips"
            return f"Flips and verdicts come from {self.judging.model}, fitted to the same votes: {self.model} {why}."
        if self.annotators.counted and np.count_nonzero(self.votes.decided_votes) > 1:
            return f"Flips are shares of votes against the scores: {self.model} does not estimate flips."
        return ""

    @property
    def items(self) -> NDArray[Any]:
        """The ids of the items."""
        return self.votes.items

    @property
    def can(self) -> Capabilities:
        """What the model can do."""
        return self.spec.capabilities

    @property
    def fit(self) -> LatentFit | None:
        """The fit of scorer and noise; None for models without a likelihood."""
        return None if self.inference is None else self.inference.fit

    # -- frames -----------------------------------------------------------------------------------------------

    def ranking(self) -> Any:
        """Return the items as a frame, best first.

        Columns item, rank, score, score_se, score_low, score_high, rank_low, rank_high. Intervals are 95 %: quantiles
        of the posterior where there are draws.
        """
        found, votes = self.uncertainty.estimate, self.votes
        known = found.rank_low > 0
        rank = self.uncertainty.rank
        order = np.lexsort((np.arange(len(rank)), rank))
        columns = {
            "item": votes.items,
            "rank": rank,
            "score": self.scores.scores,
            "score_se": votes.with_gaps(found.score_se, np.isfinite(found.score_se)),
            "score_low": votes.with_gaps(found.score_low, np.isfinite(found.score_low)),
            "score_high": votes.with_gaps(found.score_high, np.isfinite(found.score_high)),
            "rank_low": votes.with_gaps(found.rank_low, known),
            "rank_high": votes.with_gaps(found.rank_high, known),
        }
        return votes.frame({name: column[order] for name, column in columns.items()})

    def ranking_on(self, scale: str = "elo", anchor: Any = None) -> Any:
        """Return the ranking with scores on another scale; see :meth:`jamrank.RankingModel.ranking_on`."""
        scores = self.scores.scores
        at = place_anchor(self.model, self.can, scale, anchor, self.items)
        return rescaled(self.ranking(), scale, float(scores.mean() if at is None else scores[at]))

    def pairs(self) -> Any:
        """Return the pairs as a frame: left, right, votes, p_left; and question, where there are several."""
        pairs, votes = self.votes.pairs, self.votes
        columns = {
            "left": votes.items[pairs.first],
            "right": votes.items[pairs.second],
            "votes": whole_numbers(pairs.votes),
            "p_left": self.predictor.posterior,
        }
        if len(votes.questions) > 1:
            columns["question"] = votes.questions[pairs.question]
        return votes.frame(columns)

    def features_frame(self) -> Any:
        """Return the features as a frame: feature, coef (for one unit), effect (for one standard deviation)."""
        features, coef = self.scores.features, self.scores.coef
        if features is None or coef is None:
            return None
        names = np.array(features.names, dtype=object)
        return self.votes.frame({"feature": names, "coef": coef, "effect": coef * features.scale})

    def effects_frame(self) -> Any:
        """Return the effects of covariates as a frame; None without covariates.

        Columns covariate, annotator (or ``all``), coef, coef_se, coef_low, coef_high, sentence.
        """
        return effects_frame(self.votes, self.extras) if self.can.covariates else None

    def clusters(self) -> Any:
        """Return the clusters of pairs as a frame, described in the user's features; None without clusters."""
        features, centroids = self.scores.features, self.extras.get("centroids")
        if features is None or centroids is None:
            return None
        described = [describe_cluster(centroid, features.names, features.scale) for centroid in centroids]
        return self.votes.frame(
            {
                "cluster": np.arange(len(centroids)),
                "pairs": np.bincount(self.extras["cluster"], minlength=len(centroids)),
                "votes": self.extras["cluster_votes"].sum(axis=0),
                "description": np.array(described, dtype=object),
            }
        )

    def annotators_frame(self) -> Any:
        """Return the annotators as a frame: counts, flip, interval, verdict, evidence, action, traits."""
        own = self.annotators.trait_columns() if self.judging is not self else {}
        return self.judging.annotators.frame(own)

    def correlated(self) -> Any:
        """Return annotators with correlated errors as a frame, highest correlation first.

        Columns first, second, pairs, agreed, expected, correlation: ``pairs`` is the number of common pairs,
        ``agreed`` on how many they agreed, ``expected`` that number for independent errors.
        """
        return self.judging.annotators.correlated_frame()

    def groups(self) -> Any:
        """Return the items, best first, as a frame in groups: item, rank, group, apart_from.

        Two items differ significantly if one is above the other in at least 97.5 % of the draws: the 95 % interval of
        the difference of their scores excludes 0. A new group begins where an item differs significantly from the one
        before it, so neighbours within a group do not (items further apart may). ``apart_from`` is the rank from
        which on all lower items differ significantly from this one; empty if there is none.
        """
        return self.uncertainty.groups_frame()

    def flip_intervals(self, level: float = 0.95) -> Any:
        """Return an interval for the flip of each annotator as a frame: annotator, flip, flip_low, flip_high.

        Parameters
        ----------
        level : float
            Probability that it is to cover.
        """
        return self.judging.annotators.intervals_frame(as_level(level))

    def order(self, group: IntArray | None = None) -> OrderProbability:
        """Return the probabilities that one item is above another.

        Parameters
        ----------
        group : ndarray of int, optional
            Group of each item, where items of different groups cannot be compared.
        """
        uncertainty = self.uncertainty
        drawn = uncertainty.estimate.kind in ("posterior", "information") and self.votes.source is not None
        draws = (lambda: uncertainty.score_draws) if drawn else None
        return OrderProbability(self.scores.scores, uncertainty.estimate.score_se, draws, group)

    def order_probability(self, above: Any, below: Any) -> FloatArray:
        """Return P(the score of above is higher); see :meth:`jamrank.RankingModel.order_probability`."""
        upper, lower = np.broadcast_arrays(find_items(self.items, above), find_items(self.items, below))
        order = self.order()
        if not order.known:
            raise ParameterError(
                f"{self.model} gives no uncertainty of its scores, and so no probability of an order"
            )
        return np.where(upper == lower, 0.5, order.above(upper, lower))

    # -- more -------------------------------------------------------------------------------------------------

    def of_kind(self, kind: str, n_resamples: int = 100, random_state: Any = 0, by: str = "annotator") -> Uncertainty:
        """Return the uncertainty of scores and ranks of a given kind; see :meth:`RankingModel.uncertainty`."""
        if kind == "posterior":
            return self.uncertainty.estimate
        if kind == "information":
            return self.uncertainty.information()
        if kind == "bootstrap":
            return bootstrap(self, at_least_one("n_resamples", n_resamples), random_state, by)
        raise ParameterError(f"kind is {kind!r}; expected 'posterior', 'information' or 'bootstrap'")

    def coef_interval(self) -> FloatArray | None:
        """Return the 95 % interval of each weight, from low to high; None without weights, and for the hinge loss."""
        fit, features, coef = self.fit, self.scores.features, self.scores.coef
        if "coef_interval" in self.extras:
            stored: FloatArray | None = self.extras["coef_interval"]
            return stored
        if fit is None or coef is None or features is None or fit.settings.loss == "hinge":
            return None
        problem, point = fit.fitted.problem, fit.fitted.point
        covariance = whole_covariance(problem, point, _MOST_VISITS)
        if covariance is None:
            variance = effective_dof(problem.engine, problem.scorer, point.expectation).weights
        else:
            variance = weight_variances(problem.scorer, covariance)
        if not SCORERS[fit.scorer].effects and self.inference is not None:
            variance = variance + self.inference.rest_of_weights()
        error = features.in_user_units(np.sqrt(variance))
        found = np.where(error[:, None] > 0, interval(coef, error**2), coef[:, None])
        self.extras["coef_interval"] = found
        return found

    def accuracy(self, truth: Any, by: str = "posterior") -> float:
        """Return the accuracy against known values of the items; see :meth:`jamrank.RankingModel.score`."""
        try:
            value = align_features(_by_item(truth), self.items)[0][:, 0]
        except FeatureError:
            raise InputError(
                "truth does not match the items", "give one number for each item, by id or in order"
            ) from None
        if by == "scores":
            return order_accuracy(self.scores.scores, value)
        if by not in ("posterior", "recommended"):
            raise ParameterError(f"by is {by!r}; expected 'posterior', 'scores' or 'recommended'")
        gap = self.votes.margins(value)
        by_scores = by == "recommended" and self.recommended() == "scores"
        side = np.sign(self.votes.margins(self.scores.scores) if by_scores else self.predictor.posterior - 0.5)
        return float(((side * np.sign(gap) + 1) / 2)[gap != 0].mean())

    def recommended(self) -> str:
        """Return what decides voted pairs better: ``"posterior"``, or the order of the ``"scores"``.

        It is ``"scores"`` if votes are predicted better under the assumption that the item with the higher score is
        always better.
        """
        fit = self.fit
        if fit is None or fit.settings.unit != "pair" or fit.refined is not fit.fitted:
            return "posterior"
        problem = fit.fitted.problem
        if not problem.engine.in_memory or not problem.scorer.precision[-1:].any():
            return "posterior"
        return leave_one_out(problem, fit.fitted.point).recommended

    def predict_votes(self, left: Any, right: Any, annotator: Any) -> FloatArray:
        """Return the probabilities that an annotator votes for left, for right, or a tie, from the scores.

        Parameters
        ----------
        left, right : id or array-like of ids
            Items of the fit, on the sides on which they are shown.
        annotator : id or array-like of ids
            Annotators of the fit.

        Returns
        -------
        ndarray of shape (votes, 3)
            Where the model leaves ties out, the last column is 0.
        """
        return self.predictor.outcomes(left, right, annotator, self.annotators.overall, self.annotators.traits)

    def predict_grades(self, left: Any, right: Any, annotator: Any) -> FloatArray:
        """Return how likely an annotator gives each grade: from the clearest win of left to that of right.

        Parameters
        ----------
        left, right, annotator
            As in :meth:`predict_votes`.

        Returns
        -------
        ndarray of shape (votes, 2 grades + 1)
            The tie is in the middle. Without grades there are three columns: left, tie, right.
        """
        return self.predictor.grades(left, right, annotator, self.annotators.overall, self.annotators.traits)


def place_anchor(model: str, can: Capabilities, scale: str, anchor: Any, items: NDArray[Any]) -> int | None:
    """Return the code of an anchor; raise if there is no such scale."""
    if scale != "logit" and not can.log_odds:
        raise ParameterError(f"{model} scores are not log-odds; Elo is undefined for them.")
    if anchor is None:
        return None
    at = int(locate(items, np.array([anchor], dtype=object))[0])
    if at < 0:
        raise UnknownItemError(f"anchor {anchor!s}: no vote is about such an item")
    return at


def _by_item(truth: Any) -> Any:
    """Return truth in a form accepted for features; a pandas series becomes a mapping."""
    if hasattr(truth, "index") and hasattr(truth, "to_dict") and not hasattr(truth, "columns"):
        return truth.to_dict()
    return truth.to_numpy() if hasattr(truth, "to_numpy") and not hasattr(truth, "columns") else truth
