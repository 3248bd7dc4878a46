"""Scorers from features, and the choice of their settings from the votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jamrank.engines import Engine
from jamrank.errors import ParameterError
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Point, Problem, run
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.leave_one_out import leave_one_out, remaining_truth_variance
from jamrank.fitting.prior import Prior
from jamrank.fitting.prior_variances import Variances, estimate_variances, refine_variance, rounded
from jamrank.noise import Noise
from jamrank.scorers import SCORERS, KernelMap, LinearScorer, ObjectScorer, SumScorer, typical_distance
from jamrank.typing import FloatArray

# Candidate bandwidths, in typical distances between items.
_BANDWIDTHS = (0.25, 0.5, 1.0, 2.0)
_FIRST_GUESS = 3.0
# Precision of the fits that compare bandwidths.
_STEPS, _TOL = 30, 1e-2
# If more than this share of the variance of the truths remains, leave-one-out may change a variance only by this
# factor.
_MOST_REMAINING, _LARGEST_FACTOR = 1 / 3, 4.0


def resolve_scorer(scorer: str, has_features: bool, model: str) -> str:
    """Return the name of the scorer for a model's argument."""
    if scorer == "auto":
        return "linear" if has_features else "objects"
    selectable = [name for name, spec in SCORERS.items() if spec.selectable]
    if scorer not in selectable:
        raise ParameterError(f"scorer is {scorer!r}; expected 'auto' or one of {', '.join(selectable)}")
    if SCORERS[scorer].features and not has_features:
        raise ParameterError(f"scorer is {scorer!r}, which needs features; give {model} some, or scorer='objects'")
    return scorer


class Featured:
    """Problems whose scores come from features, with or without an effect of each item.

    matrix, of shape (items, columns): Standardised features, or their kernel map.
    with_objects: Whether every item has its own effect.
    begin: Returns the initial point of a problem.
    """

    def __init__(
        self,
        engine: Engine,
        noise: Noise,
        matrix: FloatArray,
        with_objects: bool,
        loss: str,
        begin: Callable[[Problem], Point],
    ) -> None:
        self.engine, self.noise, self.matrix, self.loss = engine, noise, matrix, loss
        self.with_objects, self.begin = with_objects, begin
        self.weights = LinearScorer(matrix, None)

    def problem(self, variances: Variances) -> Problem:
        """Return the problem at given variances of the weights and, with objects, of the effects."""
        weights = self.weights.with_variance(variances[0])
        if not self.with_objects:
            return Problem(self.engine, weights, self.noise, self.loss)
        effects = ObjectScorer(len(self.matrix), variances[1])
        return Problem(self.engine, SumScorer(weights, effects), self.noise, self.loss)

    def estimate(self, prior: Prior | None) -> tuple[Variances, Point]:
        """Return the variances, estimated unless the prior gives them, and a point near the fit.

        Without a prior the weights have none, but the effects keep theirs, since free effects would explain
        everything.
        """
        given: Variances = ((prior.weight_variance if prior else None), (prior.score_variance if prior else None))
        free = [prior is not None and given[0] is None, given[1] is None]
        first: Variances = (1.0 if free[0] else given[0], given[1] or _FIRST_GUESS)
        if not self.with_objects:
            first, free = first[:1], free[:1]
        point = self.begin(self.problem(first))
        if not any(free):
            return first, point
        variances, point = estimate_variances(self.problem, point, first, free)
        if self.with_objects and free[-1] and self.engine.in_memory:
            near = self.problem(variances)
            vague = remaining_truth_variance(near, near.with_prior(point)) > _MOST_REMAINING
            farthest = _LARGEST_FACTOR if vague else np.inf
            variances, point = refine_variance(self.problem, point, variances, free, farthest)
        chosen = zip(variances, free, strict=True)
        return tuple(rounded(variance) if estimated else variance for variance, estimated in chosen), point


def choose_kernel(
    matrix: FloatArray, kind: str, most: int, problems: Callable[[FloatArray], Featured], prior: Prior | None
) -> KernelMap:
    """Return the map of a kernel with the bandwidth that minimises the leave-one-out loss.

    matrix, of shape (items, features): Standardised features.
    kind ({"rbf", "linear"}).
    most: Largest number of landmarks.
    problems: Returns the problems of a mapped matrix.
    prior: Prior of the weights.
    """
    if kind == "linear":
        return KernelMap.of(matrix, 1.0, kind, most)
    maps = [KernelMap.of(matrix, width * typical_distance(matrix), kind, most) for width in _BANDWIDTHS]
    fits = [_loo_likelihood(problems(mapping(matrix)), prior) for mapping in maps]
    return maps[int(np.argmax(fits))]


def _loo_likelihood(featured: Featured, prior: Prior | None) -> float:
    variances, point = featured.estimate(prior)
    problem = featured.problem(variances)
    start = problem.with_prior(replace(point, secants=Secants()))
    point = run(problem, start, max_iter=_STEPS, tol=_TOL).point
    if not featured.engine.in_memory:
        # Akaike's criterion, since there is no leave-one-out for rows on disk.
        return point.expectation.value - effective_dof(featured.engine, problem.scorer, point.expectation).counts[0]
    return leave_one_out(problem, point).by_chance
