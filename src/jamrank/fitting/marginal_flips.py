"""Flips with the scores integrated out, by expectation propagation over independent normal scores.

Where items have few votes, scores that are fitted together with flips explain every flip away. Here each vote is
predicted from the others: its own part is removed from its margin (the *cavity*), the rest is a normal that is summed
over. With the variances of the scores held fixed there is one objective of scores and flips, which the EM loop climbs;
the variances follow from its curvature, the prior variance of the scores from their size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jamrank.engines import Engine
from jamrank.engines.marginal import HasMarginal, MarginalEngine, MarginalExpectation
from jamrank.fitting.em import Fit, Optimizer, Point, Problem, largest, run
from jamrank.noise import Noise
from jamrank.scorers import ObjectScorer
from jamrank.typing import FloatArray

__all__ = ["MarginalFit", "can_integrate", "fit_marginal"]

_ROUNDS, _STEPS = 60, 2
# Good enough: a prior variance within 1 % of its limit, and scores and flips that move by less than this.
_CLOSE, _SETTLED = 0.01, 0.01
_SMALLEST, _LARGEST = 1e-3, 9.0
# Two imagined items of variance 1: with a handful of votes the estimate would collapse to nothing.
_IMAGINED_ITEMS = 2.0
# No extrapolation changes the prior variance by more than this factor, as a logarithm.
_LONGEST = 0.7


@dataclass(frozen=True)
class MarginalFit:
    """Where a fit ended.

    Attributes
    ----------
    fit : Fit
        Scores are means; objectives are the approximate log marginal likelihood plus the log prior of the flips.
    variance : float
        Prior variance of the scores.
    information : ndarray
        On the logit of each flip, that of the prior not included.
    log_likelihood : float
        The approximate log marginal likelihood.
    """

    fit: Fit
    variance: float
    information: FloatArray
    log_likelihood: float


@dataclass(frozen=True)
class _State:
    """The variances: of the scores a priori, and of each without what any one vote says."""

    prior: float
    cavity: FloatArray


def can_integrate(engine: Engine) -> bool:
    """Tell whether an engine has the passes for it."""
    return isinstance(engine, HasMarginal)


def fit_marginal(
    engine: Engine,
    noise: Noise,
    theta: FloatArray,
    params: FloatArray,
    variance: float,
    *,
    estimate: bool,
    max_iter: int,
    tol: float,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
) -> MarginalFit:
    """Fit flips and mean scores from a first guess.

    Parameters
    ----------
    engine : Engine
        One for which :func:`can_integrate` holds.
    noise : Noise
        How votes arise from the truth.
    theta, params : ndarray
        Scores and parameters of the noise to start from.
    variance : float
        Prior variance of the scores, or a first guess.
    estimate : bool
        Whether to estimate it.
    max_iter, tol, progress
        As in :func:`jamrank.fitting.em.run`.
    """
    votes = 4.0 * engine.initial_step(np.zeros(engine.n_items))[0].degree
    at = engine.expectation(theta, noise.log_emission(params))
    state = _State(variance, _cavity(at.degree, votes, variance))
    problem = _problem(engine, noise, state)
    optimizer = Optimizer(problem, problem.evaluate(theta, params))
    rate = _Rate()
    for _ in range(_ROUNDS):
        began = optimizer.point
        for _ in range(_STEPS):
            optimizer.aim()
            if not optimizer.move():
                break
        point = optimizer.point
        heard = _observed(point)
        updated = _prior_variance(heard, point.theta, state.prior) if estimate else state.prior
        updated = rate.extrapolated(state.prior, updated)
        cavity = _cavity(heard, votes, updated)
        moved = optimizer.problem.distance(began, point.theta, point.params)
        unsettled = max(rate.remaining, largest(np.log(cavity / state.cavity)))
        state = _State(updated, cavity)
        problem = _problem(engine, noise, state)
        if moved <= _SETTLED * np.sqrt(updated) and unsettled <= _CLOSE:
            break
        optimizer = Optimizer(problem, problem.evaluate(point.theta, point.params))
    fit = run(problem, problem.evaluate(point.theta, point.params), max_iter=max_iter, tol=tol, progress=progress)
    return _finished(engine, fit, state, votes)


def _problem(engine: Engine, noise: Noise, state: _State) -> Problem:
    return Problem(MarginalEngine(engine, state.cavity), ObjectScorer(engine.n_items, state.prior), noise)


def _observed(point: Point) -> FloatArray:
    assert isinstance(point.expectation, MarginalExpectation)
    return np.maximum(point.expectation.observed, 0.0)


def _cavity(observed: FloatArray, votes: FloatArray, variance: float) -> FloatArray:
    """Return the variance of each score without one of its votes."""
    return np.asarray(1.0 / (1.0 / variance + np.maximum(observed, 0.0) * (1.0 - 1.0 / np.maximum(votes, 1.0))))


def _prior_variance(heard: FloatArray, theta: FloatArray, variance: float) -> float:
    """Return MacKay's fixed point: the sum of squares of the means over the number of scores that votes determine."""
    determined = float((heard / (heard + 1.0 / variance)).sum())
    fixed_point = (float((theta**2).sum()) + _IMAGINED_ITEMS) / (determined + _IMAGINED_ITEMS)
    return float(np.clip(fixed_point, _SMALLEST, _LARGEST))


class _Rate:
    """How quickly the logarithm of a variance approaches its limit, and how far that still is."""

    def __init__(self) -> None:
        self.remaining = np.inf
        self._last: float | None = None

    def extrapolated(self, old: float, new: float) -> float:
        """Return where the steps lead that began with the one from old to new."""
        step = float(np.log(new / old))
        ratio = 0.0 if self._last is None or self._last == 0.0 else min(step / self._last, 0.9)
        self._last = step
        self.remaining = abs(step) / (1.0 - max(ratio, 0.0))
        further = step / (1.0 - ratio) if ratio > 0.0 else step
        return float(np.clip(old * np.exp(np.clip(further, -_LONGEST, _LONGEST)), _SMALLEST, _LARGEST))


def _finished(engine: Engine, fit: Fit, state: _State, votes: FloatArray) -> MarginalFit:
    held = _observed(fit.point) + 1.0 / state.prior
    # What normal scores add to the log-likelihood of the votes: one factor an item and vote, one an item.
    constant = 0.5 * float((votes * np.log(held * state.cavity) - np.log(held * state.prior)).sum())
    at, rate = fit.point.expectation, fit.point.rates[: len(engine.vote_counts)]
    information = engine.vote_counts.sum(axis=1) * rate * (1.0 - rate) - at.truth_variance
    objectives = [value + constant for value in fit.objectives]
    log_likelihood = at.value - 0.5 * float((fit.point.theta**2).sum()) / state.prior + constant
    ended = Fit(fit.point, objectives, fit.converged)
    return MarginalFit(ended, state.prior, np.maximum(information, 0.0), log_likelihood)
