"""Scorers from features: which there are, and how what must be chosen about them is chosen from the votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jamrank.engines import Engine
from jamrank.errors import ParameterError
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Point, Problem, run
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.leave_one_out import hidden_share, leave_one_out
from jamrank.fitting.prior import Prior
from jamrank.fitting.prior_variances import Variances, estimate_variances, refine_variance
from jamrank.noise import Noise
from jamrank.scorers import SCORERS, KernelMap, LinearScorer, ObjectScorer, SumScorer, typical_distance
from jamrank.typing import FloatArray

__all__ = ["Featured", "choose_kernel", "resolve_scorer"]


# Bandwidths that are tried, in typical distances between items.
_BANDWIDTHS = (0.25, 0.5, 1.0, 2.0)
_FIRST_GUESS = 3.0
# Near enough to the summit to compare bandwidths.
_STEPS, _TOL = 30, 1e-2
# Where votes leave more than this part of the truths open, leaving rows out is trusted only so far.
_MOST_HIDDEN, _FARTHEST = 1 / 3, 4.0


def resolve_scorer(scorer: str, has_features: bool, model: str) -> str:
    """Return the scorer that a model's argument stands for."""
    if scorer == "auto":
        return "linear" if has_features else "objects"
    selectable = [name for name, spec in SCORERS.items() if spec.selectable]
    if scorer not in selectable:
        raise ParameterError(f"scorer is {scorer!r}; expected 'auto' or one of {', '.join(selectable)}")
    if SCORERS[scorer].features and not has_features:
        raise ParameterError(f"scorer is {scorer!r}, which needs features; give {model} some, or scorer='objects'")
    return scorer


class Featured:
    """Problems with scores that features explain, alone or together with an effect of each item.

    Parameters
    ----------
    engine : Engine
    noise : Noise
    matrix : ndarray of shape (items, columns)
        Standardised features, or what a kernel makes of them.
    with_objects : bool
        Whether every item has an effect of its own.
    loss : str
    begin : callable
        Gives the point where a fit of a problem begins.
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
        """Return the problem at given variances: of the weights and, with objects, of the effects."""
        weights = self.weights.with_variance(variances[0])
        if not self.with_objects:
            return Problem(self.engine, weights, self.noise, self.loss)
        effects = ObjectScorer(len(self.matrix), variances[1])
        return Problem(self.engine, SumScorer(weights, effects), self.noise, self.loss)

    def estimate(self, prior: Prior | None) -> tuple[Variances, Point]:
        """Return the variances, estimated unless the prior gives them; and a point near the fit.

        Without a prior the weights have none, but the effects keep theirs: free, they would explain everything.
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
            vague = hidden_share(near, near.with_prior(point)) > _MOST_HIDDEN
            farthest = _FARTHEST if vague else np.inf
            variances, point = refine_variance(self.problem, point, variances, free, farthest)
        return _rounded(variances, free), point


def _rounded(variances: Variances, free: list[bool]) -> Variances:
    """Return three digits of what was estimated: more are not known, and then rounding decides nothing."""
    return tuple(
        float(f"{variance:.2e}") if chosen and variance else variance
        for variance, chosen in zip(variances, free, strict=True)
    )


def choose_kernel(
    matrix: FloatArray, kind: str, most: int, problems: Callable[[FloatArray], Featured], prior: Prior | None
) -> KernelMap:
    """Return the map of a kernel, its bandwidth chosen by how well each row's votes are predicted by the others.

    Parameters
    ----------
    matrix : ndarray of shape (items, features)
        Standardised features.
    kind : {"rbf", "linear"}
    most : int
        Largest number of landmarks.
    problems : callable
        Gives the problems of a mapped matrix.
    prior : Prior or None
        What is assumed of the weights.
    """
    if kind == "linear":
        return KernelMap.of(matrix, 1.0, kind, most)
    maps = [KernelMap.of(matrix, width * typical_distance(matrix), kind, most) for width in _BANDWIDTHS]
    fits = [_foretold(problems(mapping(matrix)), prior) for mapping in maps]
    return maps[int(np.argmax(fits))]


def _foretold(featured: Featured, prior: Prior | None) -> float:
    variances, point = featured.estimate(prior)
    problem = featured.problem(variances)
    start = problem.with_prior(replace(point, secants=Secants()))
    point = run(problem, start, max_iter=_STEPS, tol=_TOL).point
    if not featured.engine.in_memory:
        # Akaike's criterion: rows on disk are not left out one by one.
        return point.expectation.value - effective_dof(featured.engine, problem.scorer, point.expectation).counts[0]
    return leave_one_out(problem, point).by_chance
