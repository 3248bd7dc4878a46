"""Prior variances that are estimated from the votes, and free item scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from jamrank.engines import Engine
from jamrank.fitting.effective_dof import effective_dof
from jamrank.fitting.em import Fit, Optimizer, Point, Problem, run, typical
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.leave_one_out import leave_one_out
from jamrank.noise import Noise
from jamrank.scorers import ObjectScorer, Scorer
from jamrank.typing import FloatArray

__all__ = ["FixedNoise", "Variances", "estimate_variances", "free_scores", "refine_variance"]

# The prior variance of each block of a scorer's parameters; None where it has no prior.
Variances = tuple[float | None, ...]

_FIRST_GUESS = 3.0
_ROUNDS = 30
_STEPS = 2
# Good enough: a variance within 2 %, and scores that move by as much of their spread.
_CLOSE, _SETTLED = 0.02, 0.02
# Beyond a standard deviation of 3 log-odds a larger variance tells nothing about the order.
_SMALLEST, _LARGEST = 1e-3, 9.0
# Features may explain more: all of a clear order.
_LARGEST_EXPLAINED = 1e3
# Two imagined items of variance 1: with a handful of votes the estimate would collapse to nothing.
_IMAGINED_ITEMS = 2.0
# How far scores may be from their limit, on average and in units of the smallest standard error of any.
_SCORE_TOL = 0.05
# Variances of effects among which one is chosen by leaving rows out, and how near the summit that is judged.
_GRID = np.logspace(-2, 1.5, 22)
_LOOK_STEPS, _LOOK_TOL = 100, 1e-3


class FixedNoise(Noise):
    """A noise that is known: it has no parameters."""

    def __init__(self, noise: Noise, params: FloatArray) -> None:
        self._tables, self._rates = noise.log_emission(params), noise.rates(params)

    def log_emission(self, params: FloatArray) -> FloatArray:
        """Return the known likelihoods."""
        return self._tables

    def update(self, expected_counts: FloatArray, params: FloatArray | None = None) -> FloatArray:
        """Return no parameters."""
        return np.empty(0)

    def slope(self, params: FloatArray, expected_counts: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params

    def missing_information(self, params: FloatArray, truth_variance: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params

    def log_prior(self, params: FloatArray) -> float:
        """Return zero."""
        return 0.0

    def rates(self, params: FloatArray) -> FloatArray:
        """Return the known rates."""
        return self._rates

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Return no parameters."""
        return np.empty(0)

    def orientation(self, params: FloatArray) -> float:
        """Return good will: what is known is not in question."""
        return 1.0

    def sign_flipped(self, params: FloatArray) -> FloatArray:
        """Return no parameters."""
        return params


def estimate_variances(
    problem: Callable[[Variances], Problem], point: Point, variances: Variances, free: Sequence[bool] | None = None
) -> tuple[Variances, Point]:
    """Estimate the prior variance of each block of parameters by MacKay's fixed point.

    A variance is the sum of squares of its parameters over the number of them that the votes determine, with two
    imagined ones of variance 1, which keep it from collapsing where votes are very few. It is updated as the fit
    goes along, every few steps.

    Parameters
    ----------
    problem : callable
        Gives the problem to fit at given variances.
    point : Point
        Where to start.
    variances : tuple of float or None
        First guesses; None where there is no prior.
    free : sequence of bool, optional
        Which to estimate; all of them unless given.

    Returns
    -------
    variances : tuple of float or None
    point : Point
        Near the fit at these variances.
    """
    free = [True] * len(variances) if free is None else free
    optimizer = Optimizer(problem(variances), point)
    for _ in range(_ROUNDS):
        began = optimizer.point
        for _ in range(_STEPS):
            optimizer.aim()
            if not optimizer.move():
                break
        point = optimizer.point
        updated = _mackay(optimizer.problem, point, variances, free)
        largest = max(variance for variance, chosen in zip(variances, free, strict=True) if chosen and variance)
        settled = optimizer.problem.distance(began, point.theta, point.params) <= _SETTLED * np.sqrt(largest)
        moving = [(old, new) for old, new in zip(variances, updated, strict=True) if old and new]
        close = all(abs(np.log(new / old)) < _CLOSE for old, new in moving)
        variances = updated
        if close and (settled or variances[-1] == _LARGEST):
            break
        optimizer.turn_to(problem(variances))
    return variances, point


def _mackay(problem: Problem, point: Point, variances: Variances, free: Sequence[bool]) -> Variances:
    counts = effective_dof(problem.engine, problem.scorer, point.expectation).counts
    updated = list(variances)
    for block, (own, count) in enumerate(zip(problem.scorer.blocks(), counts, strict=True)):
        if not free[block]:
            continue
        squares = float((point.theta[own] ** 2).sum())
        fixed_point = (squares + _IMAGINED_ITEMS) / (max(count, 0.0) + _IMAGINED_ITEMS)
        updated[block] = float(np.clip(fixed_point, _SMALLEST, _largest(problem.scorer, block)))
    return tuple(updated)


def _largest(scorer: Scorer, block: int) -> float:
    """Return the largest variance worth having: one for effects, for weights what makes scores as large as ever."""
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
    """Choose the variance of the effects of a sum by how well each row's votes are predicted by the others.

    The fixed point of :func:`estimate_variances`, from which this goes on, takes the summit for the middle of the
    posterior. With few votes an item it is far from it, and the variance comes out several times too small.

    Parameters
    ----------
    problem, point, variances, free
        As in :func:`estimate_variances`, and what it found; the effects are the last block. The variances of the
        others follow by the fixed point.
    farthest : float
        The variance of the effects is multiplied by this at most.
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
                variances = (*[_rounded(variance) for variance in variances[:-1]], variances[-1])
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


def _rounded(variance: float | None) -> float | None:
    """Return three digits: more are not known, and rounding further down must not decide anything."""
    return None if variance is None else float(f"{variance:.2e}")


def free_scores(engine: Engine, noise: Noise, near: Point, variance: float | None) -> tuple[float, Fit]:
    """Fit a free score for each item, drawn towards the scores of a fit, with the noise as it found it.

    Parameters
    ----------
    near : Point
        Where that fit ended.
    variance : float, optional
        Of the scores around those of the fit; estimated unless given.

    Returns
    -------
    variance : float
    fit : Fit
        Its ``point.scores`` are the scores.
    """
    centre, fixed = near.scores, FixedNoise(noise, near.params)

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
