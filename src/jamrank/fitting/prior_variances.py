"""Prior variances that are estimated from the votes, and free item scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from jamrank.engines import Engine
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Fit, Optimizer, Point, Problem, run, typical
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.leave_one_out import leave_one_out
from jamrank.noise import Noise
from jamrank.noise.none import FixedNoise
from jamrank.scorers import ObjectScorer, Scorer

# The prior variance of each block of a scorer's parameters; None where it has no prior.
Variances = tuple[float | None, ...]

_FIRST_GUESS = 3.0
_ROUNDS = 30
_STEPS = 2
# Relative tolerance of variances, and of scores in units of their spread.
_CLOSE, _SETTLED = 0.02, 0.02
# Beyond a standard deviation of 3 log-odds a larger variance hardly changes the order.
_SMALLEST, _LARGEST = 1e-3, 9.0
# Features may explain a clear order completely, so their variance may be larger.
_LARGEST_EXPLAINED = 1e3
# Two pseudo-items of variance 1 keep the estimate from collapsing to 0 when votes are few.
_PSEUDO_ITEMS = 2.0
# Updates whose logarithms are shorter are carried ahead, by at most so many times their length.
_NEAR, _MOST_RATIO = 0.2, 0.8
# Tolerance of scores: average distance from the limit, in units of the smallest standard error.
_SCORE_TOL = 0.05
# Candidate variances of effects for leave-one-out, and the precision of the fits compared.
_GRID = np.logspace(-2, 1.5, 22)
_LOOK_STEPS, _LOOK_TOL = 100, 1e-3


def estimate_variances(
    problem: Callable[[Variances], Problem], point: Point, variances: Variances, free: Sequence[bool] | None = None
) -> tuple[Variances, Point]:
    """Estimate the prior variance of each block of parameters by MacKay's fixed point.

    A variance is the sum of squares of its parameters over their effective degrees of freedom. Two pseudo-parameters
    of variance 1 keep it from collapsing when votes are few. It is updated every few steps of the fit.

    problem: Returns the problem to fit at given variances.
    point: Where to start.
    variances: First guesses; None where there is no prior.
    free: Which to estimate; all of them unless given.
    Returns variances, point (near the fit at these variances).
    """
    free = [True] * len(variances) if free is None else free
    optimizer = Optimizer(problem(variances), point)
    # Newton steps reach the limit so fast that after the first ones each is worth an update.
    newton, secant = optimizer.problem.is_newton and len(variances) == 1, VarianceSecant()
    for rounds in range(_ROUNDS):
        began = optimizer.point
        for _ in range(1 if newton and rounds else _STEPS):
            optimizer.aim()
            if not optimizer.move():
                break
        point = optimizer.point
        updated = mackay(optimizer.problem, point, variances, free)
        if newton:
            updated = secant.ahead(variances, updated)
        largest = max(variance for variance, chosen in zip(variances, free, strict=True) if chosen and variance)
        settled = optimizer.problem.distance(began, (point.scores, point.rates)) <= _SETTLED * math.sqrt(largest)
        moving = [(old, new) for old, new in zip(variances, updated, strict=True) if old and new]
        close = all(abs(math.log(new / old)) < _CLOSE for old, new in moving)
        variances = updated
        if close and (settled or variances[-1] == _LARGEST):
            break
        optimizer.set_problem(problem(variances))
    return variances, point


class VarianceSecant:
    """Carries updates of a variance, which approach their limit about geometrically, ahead to it."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None

    def ahead(self, old: Variances, new: Variances) -> Variances:
        """Return the limit of updates of a single variance, of which the last was from ``old`` to ``new``."""
        if old[0] is None or new[0] is None:
            return new
        at, step = math.log(old[0]), math.log(new[0] / old[0])
        ratio = 0.0
        if self._before is not None and abs(step) < _NEAR:
            moved, turned = at - self._before[0], step - self._before[1]
            ratio = min(max(1.0 + turned / moved, 0.0), _MOST_RATIO) if moved else 0.0
        self._before = at, step
        return (old[0] * math.exp(step / (1.0 - ratio)),)


def mackay(problem: Problem, point: Point, variances: Variances, free: Sequence[bool]) -> Variances:
    """Return the variances after one update of :func:`estimate_variances`."""
    counts = effective_dof(problem.engine, problem.scorer, point.expectation).counts
    updated = list(variances)
    for block, (own, count) in enumerate(zip(problem.scorer.blocks(), counts, strict=True)):
        if not free[block]:
            continue
        squares = float((point.theta[own] ** 2).sum())
        fixed_point = (squares + _PSEUDO_ITEMS) / (max(count, 0.0) + _PSEUDO_ITEMS)
        updated[block] = min(max(fixed_point, _SMALLEST), _largest(problem.scorer, block))
    return tuple(updated)


def _largest(scorer: Scorer, block: int) -> float:
    """Return the upper bound of a variance: fixed for effects; for weights, the one that bounds the scores."""
    matrix = scorer.design()
    if block == 1 or matrix is None:
        return _LARGEST
    return _LARGEST_EXPLAINED / max(float((matrix**2).sum()) / len(matrix), 1e-12)


def refine_variance(
    problem: Callable[[Variances], Problem],
    point: Point,
    variances: Variances,
    free: Sequence[bool],
    farthest: float = np.inf,
) -> tuple[Variances, Point]:
    """Choose the variance of the effects of a sum by leave-one-out prediction of each row.

    The fixed point of :func:`estimate_variances`, where this starts, takes the mode for the mean of the posterior.
    With few votes per item they are far apart, and the variance is several times too small.

    problem, point, variances, free: As in :func:`estimate_variances`, and its result; the effects are the last block.
        The other variances follow by the fixed point.
    farthest: Largest factor by which the variance of the effects is multiplied.
    """
    found: dict[int, tuple[float, Variances, Point]] = {}

    def look(rank: int) -> float:
        nonlocal point, variances
        if rank not in found:
            others = [*free[:-1], False]
            variances = (*variances[:-1], float(_GRID[rank]))
            start = problem(variances).with_prior(replace(point, secants=Secants()))
            if any(others):
                variances, start = estimate_variances(problem, start, variances, others)
                variances = (*[rounded(variance) for variance in variances[:-1]], variances[-1])
            here = problem(variances)
            point = run(here, here.with_prior(start), max_iter=_LOOK_STEPS, tol=_LOOK_TOL).point
            found[rank] = leave_one_out(here, point).by_chance, variances, point
        return found[rank][0]

    assert variances[-1] is not None
    rank = int(np.abs(np.log(_GRID / variances[-1])).argmin())
    end = max(int(np.searchsorted(_GRID, farthest * variances[-1])), rank + 1)
    for step in (1, -1):
        while 0 <= rank + step < end and look(rank + step) > look(rank):
            rank += step
    return found[rank][1:]


def rounded(variance: float | None) -> float | None:
    """Return a value to three digits, so that rounding errors decide nothing."""
    return None if variance is None else float(f"{variance:.2e}")


def free_scores(engine: Engine, noise: Noise, near: Point, variance: float | None) -> tuple[float, Fit]:
    """Fit a free score for each item, shrunk towards the scores of a fit, with the noise of that fit.

    near: Where that fit ended.
    variance: Of the scores around those of the fit; estimated unless given.
    Returns variance, fit (its ``point.scores`` are the scores).
    """
    centre, fixed = near.scores, FixedNoise.of(noise, near.params)

    def problem(variances: Variances) -> Problem:
        return Problem(engine, ObjectScorer(len(centre), variances[0], centre), fixed, size=typical)

    point = replace(near, theta=np.zeros(len(centre)), params=np.empty(0), secants=Secants())
    if variance is None:
        (variance,), point = estimate_variances(problem, point, (_FIRST_GUESS,))
        assert variance is not None
    standard_errors = 1.0 / np.sqrt(point.expectation.degree + 1.0 / variance)
    tol = _SCORE_TOL * float(standard_errors.min())
    final = problem((variance,))
    fit = run(final, final.with_prior(point), max_iter=200, tol=tol)
    return variance, replace(fit, point=replace(fit.point, params=near.params))
