"""The EM loop. It uses scorer, noise and engine only through their protocols."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from jamrank.engines import Engine, Expectation, Maximisation, MemoryEngine
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.newton import (
    CLOSE_STEP_TOLERANCE,
    STEP_TOLERANCE,
    gradient,
    maximise_hinge,
    newton_step,
    start_newton_step,
)
from jamrank.noise import Noise
from jamrank.scorers import Scorer
from jamrank.typing import FloatArray

# Relative rounding error of an objective.
_ROUNDING = 1e-14
# Shorter steps change the objective by less than rounding, so they are accepted without a check.
_RESOLUTION = 1e-6
# A step at least this long with a relative gain at most this small means that the scores diverge.
_LONG_STEP, _NO_GAIN = 1e-2, 1e-12
# A noise step is lengthened at most by the inverse of this.
_LEAST_INFORMATION_SHARE = 0.1
# After this many halvings of the score step, the noise step is halved too.
_SCORE_HALVINGS = 4
# Scores and logits of flips are log-odds: an extrapolation that moves one by more than this is rejected.
_LONGEST_EXTRAPOLATION = 20.0


def largest(change: FloatArray) -> float:
    """Return the largest absolute value."""
    return float(np.abs(change).max(initial=0.0))


def typical(change: FloatArray) -> float:
    """Return the root mean square."""
    return float(np.sqrt((change**2).mean()))


Image = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Problem:
    """What is fitted: a scorer and a noise over the rows of an engine, with a loss for the scores."""

    engine: Engine
    scorer: Scorer
    noise: Noise
    loss: str = "logistic"
    size: Callable[[FloatArray], float] = largest
    """The norm of a change of all scores, by which convergence is judged."""

    def evaluate(self, theta: FloatArray, params: FloatArray, image: Image | None = None) -> Point:
        """Run the E-step at the given parameters; ``image``, if known, has their scores and rates."""
        scores, rates = image or self.image(theta, params)
        finish = self.engine.start_expectation(scores, self.noise.log_emission(params))
        log_prior = self._log_prior(theta, params)
        at = finish()
        return Point(theta, params, scores, rates, at, at.value + log_prior)

    def image(self, theta: FloatArray, params: FloatArray) -> Image:
        """Return scores and rates, by which distances are measured."""
        return self.scorer.scores(theta), self.noise.rates(params)

    def with_prior(self, point: Point) -> Point:
        """Return a point evaluated under another prior with its objective under this one."""
        return point.with_(objective=point.expectation.value + self._log_prior(point.theta, point.params))

    def _log_prior(self, theta: FloatArray, params: FloatArray) -> float:
        return self.noise.log_prior(params) - 0.5 * float((self.scorer.precision * theta**2).sum())

    def posterior(self, point: Point) -> FloatArray:
        """Return the posterior of every row's truth."""
        return self.in_memory.posterior(point.scores, self.noise.log_emission(point.params))

    @property
    def in_memory(self) -> MemoryEngine:
        """The engine as one in memory, where individual rows are needed."""
        assert self.engine.in_memory
        return cast(MemoryEngine, self.engine)

    @property
    def is_newton(self) -> bool:
        """Whether an M-step is a Newton step of the objective: there is neither a latent truth nor a noise to fit."""
        return self.noise.certain and self.loss == "logistic"

    def step(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Return the parameters after one M-step (for the logistic loss: one Newton step of it)."""
        if self.loss == "hinge":
            params = self.noise.update(point.expectation.expected_counts, point.params)
            return maximise_hinge(self.in_memory, self.scorer, self.posterior(point), point.theta), params
        tolerance = CLOSE_STEP_TOLERANCE if self.is_newton else STEP_TOLERANCE
        finish = start_newton_step(self.engine, self.scorer, point.expectation, point.theta, tolerance)
        params = self.noise.update(point.expectation.expected_counts, point.params)
        return point.theta + finish(), params

    def slope(self, point: Point) -> FloatArray:
        """Return the gradient of the objective in all parameters."""
        by_theta = gradient(self.scorer, point.expectation, point.theta)
        return np.concatenate([by_theta, self.noise.slope(point.params, point.expectation.expected_counts)])

    def newton_scaled(self, point: Point, theta: FloatArray, params: FloatArray) -> FloatArray:
        """Return an EM step as a change of all parameters, with the noise part lengthened to a Newton step.

        EM steps are too short by the share of the information that is missing because truths are latent.
        """
        known = np.maximum(
            1.0 - self.noise.missing_information(params, point.expectation.truth_variance), _LEAST_INFORMATION_SHARE
        )
        return np.concatenate([theta - point.theta, (params - point.params) / known])

    def distance(self, a: Point, image: Image) -> float:
        """Return the larger of the distances of scores and of rates from those of ``a``."""
        scores, rates = image
        return max(self.size(scores - a.scores), largest(rates - a.rates))

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Return initial parameters from the vote shares, taken as the posterior."""
        if self.loss == "hinge":
            return self.start_from(self.in_memory.rows.share)
        at, expected_counts = self.engine.initial_step(self.scorer.scores(self._zero()))
        return self._first_step(at), self.noise.update(expected_counts)

    def start_from(self, posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return initial parameters from a given posterior."""
        engine = self.in_memory
        if self.loss == "hinge":
            theta = maximise_hinge(engine, self.scorer, posterior, self._zero())
        else:
            theta = self._first_step(engine.maximisation(self.scorer.scores(self._zero()), posterior))
        return theta, self.noise.update(engine.rows.over_votes(posterior))

    def _zero(self) -> FloatArray:
        return np.zeros(self.scorer.n_params)

    def _first_step(self, at: Maximisation) -> FloatArray:
        """Return one Newton step from zero, where the curvature is largest, so that it cannot overshoot."""
        return newton_step(self.engine, self.scorer, at, self._zero())


@dataclass(frozen=True)
class Point:
    """Parameters and the result of the E-step there."""

    theta: FloatArray
    params: FloatArray
    scores: FloatArray
    rates: FloatArray
    expectation: Expectation
    objective: float
    secants: Secants = field(default_factory=Secants)
    """Curvature information of the steps so far, with which a continued fit starts."""

    def with_(self, *, objective: float | None = None, secants: Secants | None = None) -> Point:
        """Return the same parameters with another objective or other secants; ``replace`` is several times slower."""
        return Point(
            self.theta,
            self.params,
            self.scores,
            self.rates,
            self.expectation,
            self.objective if objective is None else objective,
            self.secants if secants is None else secants,
        )


@dataclass
class StoppingRule:
    """Stop when the estimated distance to the limit is at most ``tol``.

    Steps shrink geometrically or faster, so the lengths of the last steps give the distance to the limit.
    """

    tol: float
    remaining: float = field(default=np.inf, init=False)
    ratio: float = field(default=1.0, init=False)

    def reached(self, previous: float | None, last: float, scale: float) -> bool:
        """Return whether the limit is within ``tol``.

        previous: Length of the step before the last, or None.
        last: Length of the last step.
        scale: Size of the parameters, for rounding.
        """
        if previous is not None:
            # A single step may be short by chance, two in a row are not.
            ratio = min(last / previous, 1.0) if previous > 0 else 1.0
            self.ratio = max(ratio, math.sqrt(ratio * self.ratio) if self.ratio < 1.0 else ratio)
        if last <= 1e-14 * (1.0 + scale):
            self.remaining = 0.0
        else:
            self.remaining = last * self.ratio / (1.0 - self.ratio) if self.ratio < 1.0 else np.inf
        return self.remaining <= self.tol


@dataclass(frozen=True)
class Fit:
    """The end of the loop."""

    point: Point
    objectives: list[float]
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of EM iterations."""
        return len(self.objectives) - 1


class Optimizer:
    """Maximises the objective from a point by L-BFGS steps over EM.

    With the logistic loss no step lowers the objective: a step that would is replaced by an EM step, which is halved
    until it does not.

    problem: What is fitted. :meth:`set_problem` may change it.
    point: The initial point.
    """

    def __init__(self, problem: Problem, point: Point) -> None:
        self.problem, self.point = problem, point
        self.length = np.inf
        # Point, slope and plain step at the start of the last step.
        self._before: tuple[Point, FloatArray, FloatArray] | None = None

    def set_problem(self, problem: Problem) -> None:
        """Continue with a problem that has the same parameters and another prior."""
        self.problem, self.point = problem, problem.with_prior(self.point)
        if self._before is not None:
            older, _, plain = self._before
            self._before = older, problem.slope(older), plain

    def aim(self) -> float:
        """Compute the next step and return its length."""
        self._plain = self.problem.step(self.point)
        if self.problem.loss == "hinge" or not len(self.point.params):
            # Without noise parameters the EM step is a Newton step.
            return self._aim_at(*self._plain)
        slope, plain = self.problem.slope(self.point), self.problem.newton_scaled(self.point, *self._plain)
        if self._before is not None:
            older, its_slope, its_plain = self._before
            step = np.concatenate([self.point.theta - older.theta, self.point.params - older.params])
            fall = its_slope - slope
            self.point = self.point.with_(secants=older.secants.with_step(step, fall, its_plain - plain))
        step = self.point.secants.lbfgs_direction(slope, plain)
        split = len(self.point.theta)
        self._before = self.point, slope, plain
        return self._aim_at(self.point.theta + step[:split], self.point.params + step[split:])

    def _aim_at(self, theta: FloatArray, params: FloatArray) -> float:
        self._aim, self._image = (theta, params), self.problem.image(theta, params)
        self.length = self.problem.distance(self.point, self._image)
        return self.length

    def forget(self) -> None:
        """Drop what the steps so far have shown of the curvature."""
        self.point = self.point.with_(secants=Secants())
        self._before = None

    @property
    def below_resolution(self) -> bool:
        """Whether rounding of the objective hides the effect of the step."""
        return self.problem.loss == "hinge" or self.length < _RESOLUTION

    def move(self) -> bool:
        """Take the step, or else an EM step; return whether the objective rose."""
        moved = self._trial_step()
        if moved is None:
            self.forget()
            moved = backtrack(self.problem, self.point, *self._plain, self.below_resolution)
        if moved is None:
            return False
        self.point = moved
        return True

    def _trial_step(self) -> Point | None:
        """Return the point after the step; None if it is too far away or lower."""
        theta, params = self._aim
        if not largest(self._image[0] - self.point.scores) <= _LONGEST_EXTRAPOLATION:
            return None
        # Where the objective here is not known, it does not tell a step that is too long.
        if not np.isfinite(self.point.objective) and largest(params - self.point.params) > _LONGEST_EXTRAPOLATION:
            return None
        moved = self.problem.evaluate(theta, params, self._image)
        return moved if self.below_resolution or moved.objective >= self.point.objective else None


def run(
    problem: Problem,
    point: Point,
    *,
    max_iter: int,
    tol: float,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
    optimizer: Optimizer | None = None,
) -> Fit:
    """Maximise the objective from a point until the stopping rule is met; with the logistic loss it never falls.

    ``optimizer``, if given, is at that point, and knows the curvature from earlier steps.
    """
    previous = None if optimizer is None else optimizer.length
    optimizer, rule = optimizer or Optimizer(problem, point), StoppingRule(tol)
    objectives, converged = [point.objective], False
    while not converged and len(objectives) <= max_iter:
        last = optimizer.aim()
        converged = rule.reached(previous, last, largest(optimizer.point.scores))
        if not optimizer.move():
            converged = True
            break
        gain, previous = optimizer.point.objective - objectives[-1], last
        if not optimizer.below_resolution and last > _LONG_STEP and gain <= _NO_GAIN * (1.0 + abs(objectives[-1])):
            # Scores diverge without gain: without a prior, separated data have no finite maximum.
            break
        objectives.append(optimizer.point.objective)
        progress(len(objectives) - 1, rule.remaining)
    return Fit(optimizer.point, objectives, converged)


def backtrack(
    problem: Problem,
    point: Point,
    theta: FloatArray,
    params: FloatArray,
    below_resolution: bool = False,
) -> Point | None:
    """Return the point after an EM step, with the score step halved while it would lower the objective.

    After several halvings the noise step is halved too; with latent truths this is never needed.

    point: Start of the step.
    theta, params: End of the step.
    below_resolution: Accept the step without comparing objectives.
    Returns: None if no step raises the objective.
    """
    least = point.objective - _ROUNDING * abs(point.objective)
    for tried in range(30):
        moved = problem.evaluate(theta, params)
        if below_resolution or moved.objective >= least:
            return moved
        theta = (theta + point.theta) / 2
        if tried >= _SCORE_HALVINGS:
            params = (params + point.params) / 2
    return None
