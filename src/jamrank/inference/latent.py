"""Information, draws and covariances of a fit of scorer and noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Point, Problem
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.solution import ScorerState, Solution
from jamrank.inference.canonical_sampler import CanonicalSampler, n_draws
from jamrank.inference.exchangeability import Exchangeability, find_exchangeable
from jamrank.inference.information import Observed, annotator_covariance, observed_information, shared_variance
from jamrank.inference.posterior_draws import Draws, can_draw
from jamrank.inference.vote_summary import VoteSummary
from jamrank.scorers import SCORERS
from jamrank.typing import FloatArray

N_DRAWS = 400


class LatentInference:
    """Information and draws of a fit, each computed once on first access."""

    def __init__(self, fit: LatentFit, votes: VoteSummary) -> None:
        self.fit, self.votes = fit, votes

    def __getstate__(self) -> dict[str, Any]:
        kept = ("fit", "votes", "draws")
        return {name: vars(self)[name] for name in kept if name in vars(self)}

    @cached_property
    def can_draw(self) -> bool:
        """Whether draws come from the posterior; otherwise from the normal approximation."""
        fitted = self.fit.fitted
        problem = fitted.problem
        scores = problem.scorer.free or SCORERS[self.fit.scorer].features
        # Flips by cluster have a prior around overall flips that are not drawn.
        if fitted.noise.prior is None or not scores or problem.loss != "logistic" or self.fit.overall is not None:
            return False
        return problem.noise.can_draw and can_draw(problem.engine, len(fitted.params))

    @cached_property
    def exchangeability(self) -> Exchangeability:
        """Which items and annotators are exchangeable, and an order that does not depend on names."""
        votes = self.votes.require()
        sided, features = self.fit.fitted.problem.noise.sided, self.fit.fitted.scorer.matrix
        return find_exchangeable(votes, self.fit.scores, sided, features)

    @cached_property
    def sampler(self) -> CanonicalSampler:
        """The sampler of the draws."""
        return CanonicalSampler(self.fit, self.exchangeability, self.votes.gold)

    @cached_property
    def draws(self) -> Draws:
        """Draws of the scores, each centred, and of the noise's parameters."""
        return self.sampler.draw(n_draws(self.fit.fitted.problem.engine))

    @property
    def free(self) -> tuple[Problem, Point]:
        """Free scores and the noise at the end of the fit, given the contribution of features."""
        refined = self.fit.refined
        problem, point = refined.problem, refined.point
        effects = problem.scorer.effects()
        if effects is None or problem.scorer.free:
            return problem, point
        theta = point.theta[effects[1]]
        state = ScorerState("objects", score_variance=self.fit.score_variance, centre=self.fit.feature_scores)
        return Problem(problem.engine, state.build(len(theta)), problem.noise), replace(point, theta=theta)

    @cached_property
    def observed(self) -> Observed | None:
        """The joint observed information on scores and noise; None if there are too many parameters."""
        return observed_information(*self.free)

    def observed_at(self, solution: Solution) -> Observed | None:
        """Return the observed information at another solution of the same votes."""
        if solution is self.fit.refined:
            return self.observed
        return observed_information(solution.problem, solution.point)

    @cached_property
    def noise_covariance(self) -> FloatArray:
        """Covariance of each annotator's parameters, by kind, kind and annotator."""
        fitted = self.fit.fitted
        return annotator_covariance(fitted.problem, fitted.point, len(self.votes.annotators))

    @cached_property
    def shared_variance(self) -> FloatArray:
        """Variance of each parameter that all annotators share; with scores taken as known where they are many."""
        fitted = self.fit.fitted
        return shared_variance(fitted.problem, fitted.point)

    @property
    def integrated_variances(self) -> FloatArray | None:
        """Variance of each score by a fit that integrated them out; None if there are draws."""
        return None if self.can_draw else self.fit.integrated_variances

    def loose(self) -> FloatArray | None:
        """Return the factor of the scores' covariance due to the weights of features; None without features."""
        if not SCORERS[self.fit.scorer].features:
            return None
        refined, state = self.fit.refined, self.fit.fitted.scorer
        both = ScorerState("linear+objects", state.weight_variance, self.fit.score_variance, state.matrix)
        engine = refined.problem.engine
        return effective_dof(engine, both.build(engine.n_items), refined.point.expectation).loose
