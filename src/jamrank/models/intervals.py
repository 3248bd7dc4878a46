"""How sure a model of scorer and noise is: draws from its posterior, or the information around the fit."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.engines import MemoryEngine
from jamrank.errors import ParameterError, UncertaintyWarning, warn
from jamrank.fitting.em import Point, Problem
from jamrank.fitting.marginal_flips import MarginalFit
from jamrank.fitting.prior import Prior, resolve_prior
from jamrank.inference import (
    Uncertainty,
    from_information,
    laplace,
    needs_links,
    normal_draws,
    pooled_quantiles,
    sandwich,
)
from jamrank.inference.exchangeability import codes, find_exchangeable
from jamrank.inference.information import Observed, information_on_flips, observed_information
from jamrank.inference.posterior_draws import Posterior, can_draw
from jamrank.inference.sandwich import pulls
from jamrank.models.annotators import AnnotatorResults
from jamrank.models.uncertain import N_DRAWS
from jamrank.noise import Discrimination, Flip, NoNoise
from jamrank.rows.rows import ROWS_BY
from jamrank.scorers import ObjectScorer, SumScorer
from jamrank.typing import FloatArray, IntArray

__all__ = ["LatentIntervals"]


class LatentIntervals(AnnotatorResults):
    """Intervals of models with a likelihood; all worked out only when they are asked for."""

    _likelihood_unit: ClassVar[str]
    prior: Prior | str | None
    n_jobs: int | None
    _marginal: MarginalFit | None = None
    # Free scores and the noise, where the fit ended.
    _refined: tuple[Problem, Point]

    @cached_property
    def _drawable(self) -> Posterior | None:
        """What draws come from; None where the normal approximation has to do."""
        if "_fitted" not in vars(self):
            return None
        problem, point = self._fitted
        prior = resolve_prior(self.prior)
        free = isinstance(problem.scorer, ObjectScorer) and problem.loss == "logistic"
        # Discriminations have no scale of their own: a chain would drift along it.
        scaled = isinstance(problem.noise, Discrimination)
        if prior is None or not free or scaled or not can_draw(problem.engine, len(point.params)):
            return None
        like = find_exchangeable(self._votes, self.scores_)
        return Posterior(problem.engine, problem.noise, point.theta, point.params, prior.score_variance, like)

    @property
    def _exchangeable_groups(self) -> IntArray:
        like = None if self._drawable is None else self._drawable.like
        return super()._exchangeable_groups if like is None else like.group

    @cached_property
    def _draws(self) -> tuple[FloatArray, FloatArray]:
        assert self._drawable is not None
        return self._drawable.draw(N_DRAWS)

    def _draw_scores(self, n: int, random_state: Any) -> FloatArray:
        self._require_votes()
        if not self._has_likelihood:
            return super()._draw_scores(n, random_state)
        if self._drawable is not None:
            usual = n <= N_DRAWS and isinstance(random_state, int) and random_state == 0
            drawn = self._draws[0][:n] if usual else self._drawable.draw(n, random_state)[0]
            return np.asarray(self.scores_.mean() + drawn)
        if self._observed is None:
            return super()._draw_scores(n, random_state)
        return normal_draws(self.scores_, self._observed.matrix, n, random_state)[1]

    @property
    def _has_likelihood(self) -> bool:
        """Whether the scores are those of the likelihood."""
        return True

    def _estimate_uncertainty(self) -> Uncertainty:
        """Draw from the posterior or, where votes are too many for that, take it for a normal around the fit."""
        return self._information_uncertainty() if self._drawable is None else self._posterior_uncertainty

    @cached_property
    def _posterior_uncertainty(self) -> Uncertainty:
        if self._drawable is None:
            return self._uncertainty
        return Uncertainty.of_draws(
            self.scores_, self.scores_.mean() + self._draws[0], "posterior", self._exchangeable_groups
        )

    def _information_uncertainty(self) -> Uncertainty:
        self._require_votes()
        if not self._has_likelihood:
            return super()._information_uncertainty()
        if self._observed is not None:
            found = from_information(self.scores_, self._observed.matrix, self._loose())
        else:
            problem, point = self._refined
            engine = problem.engine
            links = needs_links(engine.n_links, engine.n_items)
            information = engine.observed(point.scores, problem.noise.log_emission(point.params), links)
            precision = 0.0 if self.score_variance_ is None else 1.0 / self.score_variance_
            found = laplace(self.scores_, *information, precision, self._loose())
        _tell_raised(found.raised)
        return found

    @cached_property
    def _observed(self) -> Observed | None:
        """The observed information on scores and noise together; None where there are too many."""
        return observed_information(*self._free)

    @property
    def _free(self) -> tuple[Problem, Point]:
        """Free scores and the noise, where the fit ended; what features say is taken as it is."""
        problem, point = self._refined
        if not isinstance(problem.scorer, SumScorer):
            return problem, point
        _, effects = problem.scorer.split(point.theta)
        scorer = ObjectScorer(len(effects), self.score_variance_, self.feature_scores_)
        return Problem(problem.engine, scorer, problem.noise), replace(point, theta=effects)

    def _loose(self) -> FloatArray | None:
        """Return how scores move with what is not known of the weights of features."""
        return None

    def _estimate_flip_information(self) -> FloatArray:
        """Return the information on each annotator's flip: of the known truths, less what scores and truths hide."""
        if self.noise == "two-coin":
            return information_on_flips(self._fitted[1].params, self._noise_covariance)
        return self._information_of_flips(*self._fitted)

    def _information_of_flips(self, problem: Problem, point: Point) -> FloatArray:
        n_flips = problem.engine.n_confusion_groups
        fitted = problem is self._refined[0]
        observed = self._observed if fitted else observed_information(problem, point)
        if fitted and self._marginal is not None:
            # Neither knows of all that is uncertain: the one of no score but their scale, the other of no variance.
            own = self._marginal.information[:n_flips]
            return own if observed is None else np.minimum(own, observed.marginal()[:n_flips])
        if observed is not None:
            return observed.marginal()[:n_flips]
        truth_variance = problem.engine.truth_variance(point.scores, problem.noise.log_emission(point.params)).sum(
            axis=1
        )
        rate = point.rates[:n_flips]
        return np.asarray(
            np.maximum(problem.engine.vote_counts.sum(axis=1) * rate * (1 - rate) - truth_variance, 0.0)
        )

    def _flip_bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        # Bradley–Terry counts flips, it does not estimate them. Of two coins the joint information is at hand, and
        # holds the mean of both sides better than a few hundred draws do.
        if self._drawable is None or self._likelihood_unit == "side" or self.noise == "two-coin":
            return super()._flip_bounds(level)
        flip, noise = self._overall_flip(), self._drawable.noise
        rates = np.stack([noise.rates(params)[: len(flip)] for params in self._draws[1]])
        like = self._drawable.like
        twins = None if like is None else codes(np.round(flip, 9), like.annotator)
        low, high = pooled_quantiles(rates, [(1 - level) / 2, (1 + level) / 2], twins, "weibull")
        return np.minimum(low, flip), np.maximum(high, flip)

    def _sandwich_uncertainty(self) -> Uncertainty:
        """Take the spread between annotators for that of the gradient."""
        self._require_votes()
        if not self._has_likelihood:
            return super()._sandwich_uncertainty()
        observed, votes = self._observed, self._votes
        noise, point = self._fitted[0].noise, self._fitted[1]
        if not isinstance(noise, (Flip, NoNoise)):
            raise ParameterError("a sandwich is there for one flip an annotator or none; try kind='bootstrap'")
        unused = self._features is None and not self._settled_by_gold
        if observed is None or not isinstance(votes, Comparisons) or not unused:
            raise ParameterError("a sandwich needs votes in memory, no features or gold, and not too many items")
        flips = len(point.params) > 0
        rows = ROWS_BY["vote" if not flips else self._likelihood_unit](votes, self.n_jobs)
        log_emission = (
            noise.log_emission(point.params) if flips else NoNoise(rows.n_confusion_groups).log_emission(point.params)
        )
        pull = pulls(
            MemoryEngine(rows, self.n_jobs), point.scores, log_emission, point.rates if flips else np.empty(0)
        )
        kept = np.concatenate([np.ones(len(point.theta), np.bool_), observed.inside])
        return sandwich(self.scores_, observed.matrix, pull[:, kept])


def _tell_raised(raised: float) -> None:
    if raised:
        warn(
            "the information on the scores is not positive definite, as where votes are very few: "
            f"{raised:.2g} was added to its diagonal, and intervals are only a rough guide",
            UncertaintyWarning,
        )
