"""Flips with the scores integrated out, by expectation propagation with independent normal scores.

Where items have few votes, a joint fit of scores and flips overfits and underestimates the flips. Here each vote is
predicted from the others: its own contribution is removed from its margin (the *cavity*), and the remaining normal is
integrated over. With fixed variances of the scores, the EM loop maximises one objective of scores and flips; the
variances follow from its curvature, the prior variance of the scores from the evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeGuard, cast

import numpy as np

from jamrank.engines import Engine
from jamrank.engines.base import MarginalExpectation
from jamrank.engines.marginal import MarginalEngine
from jamrank.fitting.em import Fit, Optimizer, Point, Problem, largest, run
from jamrank.fitting.lbfgs import Secants
from jamrank.noise import Flip, Noise
from jamrank.scorers import ObjectScorer
from jamrank.typing import FloatArray

# Votes an item up to which flips are integrated however many votes there are, and up to which if they are few.
_SPARSE, _RATHER_SPARSE = 100, 1000
# With more items than _FEW_ITEMS and this share of the root of votes times annotators, a joint fit shifts flips by
# about their standard errors or more, in simulations of 20 to 20,000 items; not with more than _ALONE votes a row.
_FEW_ITEMS, _SHARE, _ALONE = 50, 1 / 30, 1.5
_ROUNDS, _STEPS = 60, 2
# Tolerances: distance of the prior variance from its limit, and change of scores and flips.
_CLOSE, _SETTLED = 0.01, 0.01
# With more rows the tolerances are relaxed by this factor: the prior hardly matters there.
MANY_ROWS, _LESS = 300_000, 4.0
_SMALLEST, _LARGEST = 1e-3, 9.0
# Two pseudo-items of variance 1 keep the estimate from collapsing to 0 when votes are few.
_PSEUDO_ITEMS = 2.0
# Relative variance of the information of votes, since annotators, margins and outcomes differ: from simulations.
_UNEVEN = 0.8
# Largest change of the log prior variance by extrapolation, and largest convergence rate assumed.
_LARGEST_STEP, _LARGEST_RATE = 0.3, 0.8
# Change of the log prior variance in the probe, and its number of rounds.
_PROBE, _PROBE_ROUNDS = 0.3, 3
_MAX_STEPS = 6


@dataclass(frozen=True)
class MarginalFit:
    """A fit with the scores integrated out.

    fit: Scores are means; objectives are the approximate log marginal likelihood plus the log prior of the flips.
    variance: Prior variance of the scores.
    information: On the logit of each flip, prior included.
    score_information: Of the votes on each score.
    log_likelihood: The approximate log marginal likelihood.
    problem: Under the variances and the prior of the flips where the fit ended.
    """

    fit: Fit
    variance: float
    information: FloatArray
    score_information: FloatArray
    log_likelihood: float
    problem: Problem

    @property
    def noise(self) -> Flip:
        """The noise with the prior of the flips that was used."""
        return cast(Flip, self.problem.noise)

    @property
    def flip_votes(self) -> tuple[float, float] | None:
        """Pseudo-votes of each annotator, wrong and right; None if there are no annotators."""
        prior = self.noise.prior_errors, self.noise.prior_correct
        return (float(prior[0][0]), float(prior[1][0])) if len(prior[0]) else None


@dataclass(frozen=True)
class _State:
    """The prior variance of the scores, the cavity variance of each score, and the noise with its prior."""

    prior: float
    cavity: FloatArray
    noise: Flip

    def problem(self, engine: Engine) -> Problem:
        """Return the problem with these held fixed."""
        return Problem(MarginalEngine(engine, self.cavity), ObjectScorer(engine.n_items, self.prior), self.noise)


@dataclass(frozen=True)
class _Place:
    """State and point of an unfinished fit."""

    state: _State
    point: Point


def can_integrate(noise: Noise, engine: Engine, loss: str) -> TypeGuard[Flip]:
    """Return whether scores can be integrated out: only for one flip per annotator."""
    return noise.integrable and engine.has_marginal and loss == "logistic"


def integration_matters(engine: Engine, unit: str) -> bool:
    """Tell whether scores that are fitted jointly would explain errors away: where items have few rows.

    One annotator has no flip to compare. Of many votes the passes take longer, so more is to be gained.
    """
    votes = engine.vote_counts.sum(axis=1)
    n_votes, n_annotators = float(votes.sum()), np.count_nonzero(votes)
    if n_annotators < 2:
        return False
    rows = engine.n_rows if unit == "pair" else n_votes
    if 2 * rows <= (_RATHER_SPARSE if rows <= MANY_ROWS else _SPARSE) * engine.n_items:
        return True
    # Flips of annotators with many votes are known so well that a small shift matters.
    return n_votes < _ALONE * rows and engine.n_items - _FEW_ITEMS > _SHARE * np.sqrt(n_votes * n_annotators)


def fit_marginal(
    engine: Engine,
    noise: Flip,
    theta: FloatArray,
    params: FloatArray,
    variance: float,
    *,
    estimate: bool,
    pool: bool = False,
    max_iter: int,
    tol: float,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
) -> MarginalFit:
    """Fit flips and mean scores from initial values.

    engine: One for which :func:`can_integrate` holds.
    noise: With the prior of the flips, or with its initial value.
    theta, params: Scores and parameters of the noise to start from.
    variance: Prior variance of the scores, or its initial value.
    estimate: Whether to estimate it.
    pool: Whether to estimate mean and variance of the prior of the flips.
    max_iter, tol, progress: As in :func:`jamrank.fitting.em.run`.
    """
    votes = _effective_votes(engine)
    at = engine.expectation(theta, noise.log_emission(params))
    state = _State(variance, _cavity(at.degree, votes, variance), noise)
    rounds = _Rounds(engine, votes, estimate, False)
    place = rounds.settle(_Place(state, state.problem(engine).evaluate(theta, params)))
    probe = None
    if estimate:
        probe, rounds = rounds.probe(place), replace(rounds, estimate=False)
        place = rounds.maximise_evidence(place, probe, _MAX_STEPS if engine.n_rows <= MANY_ROWS else 1)
    if pool:
        place = replace(rounds, estimate=False, pool=True).settle(_with_pooled_prior(place))
    problem = place.state.problem(engine)
    fit = run(problem, place.point, max_iter=max_iter, tol=tol, progress=progress)
    return _finished(fit, place.state, problem, votes, probe)


@dataclass(frozen=True)
class _Probe:
    """How a fit changes with the prior variance.

    by_scale: Change of each parameter of the noise with the logarithm of the variance.
    information: Information on that logarithm.
    by_noise: Change of the log-likelihood with it from integrating out the noise.
    """

    by_scale: FloatArray
    information: float
    by_noise: float


@dataclass(frozen=True)
class _Rounds:
    """Alternates steps of scores and noise with updates of the variances."""

    engine: Engine
    votes: FloatArray
    estimate: bool
    pool: bool

    @property
    def _loose(self) -> float:
        return 1.0 if self.engine.n_rows <= MANY_ROWS else _LESS

    def settle(self, place: _Place) -> _Place:
        """Iterate until the changes are within the tolerances."""
        rate, state = _Rate(), place.state
        optimizer = Optimizer(state.problem(self.engine), place.point)
        for _ in range(_ROUNDS):
            began = optimizer.point
            point = _advance(optimizer, _STEPS)
            updated = self._update(state, point, rate)
            moved = optimizer.problem.distance(began, (point.scores, point.rates))
            unsettled = max(rate.remaining, largest(updated.cavity - state.cavity), _prior_moved(state, updated))
            if moved <= self._loose * _SETTLED * np.sqrt(state.prior) and unsettled <= self._loose * _CLOSE:
                break
            state = updated
            _turn(optimizer, state.problem(self.engine))
        return _Place(state, optimizer.point)

    def maximise_evidence(self, place: _Place, probe: _Probe, times: int) -> _Place:
        """Maximise the evidence, with the flips integrated out too, over the prior variance."""
        information, slope = probe.information, _slope(place.point, place.state.prior)
        for _ in range(times):
            step = float(np.clip((slope + probe.by_noise) / information, -_LARGEST_STEP, _LARGEST_STEP))
            prior = float(np.clip(place.state.prior * np.exp(step), _SMALLEST, _LARGEST))
            step = float(np.log(prior / place.state.prior))
            if abs(step) <= _CLOSE:
                break
            place = self.settle(self.with_prior(place, prior))
            before, slope = slope, _slope(place.point, prior)
            information = max((before - slope) / step, 0.5 * information)
        return place

    def with_prior(self, place: _Place, prior: float) -> _Place:
        """Return the same place under another prior variance, with the E-step of the old one."""
        cavity = _cavity(_observed(place.point), self.votes, prior)
        return _Place(replace(place.state, prior=prior, cavity=cavity), _unguarded(place.point))

    def _update(self, state: _State, point: Point, rate: _Rate) -> _State:
        observed, prior, noise = _observed(point), state.prior, state.noise
        if self.estimate:
            prior = rate.extrapolated(prior, _prior_variance(observed, point.theta, prior))
        else:
            rate.remaining = 0.0
        if self.pool:
            noise = _pooled(noise, point)
        return _State(prior, _cavity(observed, self.votes, prior), noise)

    def probe(self, place: _Place) -> _Probe:
        """Measure the effect of a larger prior variance."""
        here, there = place, self.with_prior(place, place.state.prior * np.exp(_PROBE))
        for _ in range(int(_PROBE_ROUNDS / self._loose) or 1):
            point = _advance(Optimizer(there.state.problem(self.engine), there.point), _STEPS)
            there = self.with_prior(_Place(there.state, point), there.state.prior)
        fall = _slope(here.point, here.state.prior) - _slope(there.point, there.state.prior)
        noise = place.state.noise
        known = _log_information(noise, there.point) - _log_information(noise, here.point)
        information = max(fall / _PROBE, 0.0) + 0.5 * _PSEUDO_ITEMS
        return _Probe((there.point.params - here.point.params) / _PROBE, information, -0.5 * known / _PROBE)


def _with_pooled_prior(place: _Place) -> _Place:
    """Return the same place under the prior that its flips suggest.

    Curvature learned from the last steps of a fit that has settled may be rounding errors: it is forgotten.
    """
    state = replace(place.state, noise=_pooled(place.state.noise, place.point))
    return _Place(state, replace(_unguarded(place.point), secants=Secants()))


def _prior_moved(a: _State, b: _State) -> float:
    """Return how far the prior of the flips has moved: its mean, and the logarithm of its weight."""
    one, other = a.noise, b.noise
    if one is other or not len(one.votes):
        return 0.0
    (wrong, right), (its_wrong, its_right) = ((n.prior_errors[0], n.prior_correct[0]) for n in (one, other))
    mean = wrong / (wrong + right) - its_wrong / (its_wrong + its_right)
    return float(max(abs(mean), abs(np.log((wrong + right) / (its_wrong + its_right)))))


def _turn(optimizer: Optimizer, problem: Problem) -> None:
    """Continue with other variances, under which objectives cannot be compared with earlier ones."""
    optimizer.set_problem(problem)
    optimizer.point = _unguarded(optimizer.point)


def _unguarded(point: Point) -> Point:
    return replace(point, objective=-np.inf)


def _slope(point: Point, variance: float) -> float:
    """Return how the log marginal likelihood changes with the logarithm of the prior variance."""
    observed = _observed(point)
    determined = float((observed / (observed + 1.0 / variance)).sum())
    excess = float((point.theta**2).sum()) + _PSEUDO_ITEMS
    return 0.5 * (excess / variance - determined - _PSEUDO_ITEMS)


def _advance(optimizer: Optimizer, steps: int) -> Point:
    for _ in range(steps):
        optimizer.aim()
        if not optimizer.move():
            break
    return optimizer.point


def _log_information(noise: Flip, point: Point) -> float:
    return float(np.log(np.maximum(_known(noise, point), 1e-300)).sum())


def _observed(point: Point) -> FloatArray:
    assert isinstance(point.expectation, MarginalExpectation)
    return np.maximum(point.expectation.observed, 0.0)


def _effective_votes(engine: Engine) -> FloatArray:
    """Return how many rows of equal information there are for each item.

    Of rows that differ, those with much information count more, and their own share of it is above the average.
    """
    rows = 4.0 * engine.initial_step(np.zeros(engine.n_items))[0].degree
    votes_of_row = 2.0 * float(engine.vote_counts.sum()) / max(float(rows.sum()), 1.0)
    return np.asarray(rows / (1.0 + _UNEVEN / max(votes_of_row, 1.0)))


def _cavity(observed: FloatArray, votes: FloatArray, variance: float) -> FloatArray:
    """Return the variance of each score without one of its votes."""
    return np.asarray(1.0 / (1.0 / variance + np.maximum(observed, 0.0) * (1.0 - 1.0 / np.maximum(votes, 1.0))))


def _prior_variance(observed: FloatArray, theta: FloatArray, variance: float) -> float:
    """Return MacKay's fixed point: the sum of squares of the means over the effective degrees of freedom."""
    determined = float((observed / (observed + 1.0 / variance)).sum())
    fixed_point = (float((theta**2).sum()) + _PSEUDO_ITEMS) / (determined + _PSEUDO_ITEMS)
    return float(np.clip(fixed_point, _SMALLEST, _LARGEST))


def _known(noise: Flip, point: Point) -> FloatArray:
    """Return the information of votes and prior on the logit of each flip."""
    of_votes = noise.vote_information(point.params, point.expectation.truth_variance)
    return of_votes + noise.prior_information(point.params)


def _pooled(noise: Flip, point: Point) -> Flip:
    """Return the noise with the mean and variance of the flips, on the logit scale, as its prior."""
    at = point.expectation
    found = noise.estimated_prior(point.params, at.expected_counts, at.truth_variance)
    return Flip(noise.vote_counts, found["flip_wrong"], found["flip_right"])


class _Rate:
    """Convergence rate of the logarithm of a variance, and its distance to the limit."""

    def __init__(self) -> None:
        self.remaining = np.inf
        self._last: float | None = None

    def extrapolated(self, old: float, new: float) -> float:
        """Return the extrapolated limit of the steps after the one from old to new."""
        step = float(np.log(new / old))
        ratio = step / self._last if self._last else 0.0
        self._last = step
        # Steps that grow or change direction cannot be extrapolated.
        ratio = ratio if 0.0 < ratio < _LARGEST_RATE else 0.0
        self.remaining = abs(step) / (1.0 - ratio)
        further = float(np.clip(step / (1.0 - ratio), -_LARGEST_STEP, _LARGEST_STEP))
        return float(np.clip(old * np.exp(further), _SMALLEST, _LARGEST))


def _finished(fit: Fit, state: _State, problem: Problem, votes: FloatArray, probe: _Probe | None) -> MarginalFit:
    observed = _observed(fit.point)
    # Contribution of the normal scores to the log-likelihood: one factor per item and vote, one per item.
    by_vote = votes * np.log1p(state.cavity * observed / np.maximum(votes, 1.0))
    constant = 0.5 * float((by_vote - np.log1p(observed * state.prior)).sum())
    noise, point = state.noise, fit.point
    information = _known(noise, point)
    if probe is not None:
        # The uncertain scale of the scores moves all flips together.
        information = 1.0 / (1.0 / np.maximum(information, 1e-300) + probe.by_scale**2 / probe.information)
    log_likelihood = point.expectation.value - 0.5 * float((point.theta**2).sum()) / state.prior + constant
    ended = Fit(point, [value + constant for value in fit.objectives], fit.converged)
    return MarginalFit(ended, state.prior, information, observed, log_likelihood, problem)
