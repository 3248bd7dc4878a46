"""The one EM loop. It knows scorer, noise and engine only by what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from jamrank.engines import Engine, Expectation, Maximisation, MemoryEngine
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.newton import gradient, maximise_hinge, newton_step
from jamrank.noise import Noise
from jamrank.scorers import Scorer
from jamrank.typing import FloatArray

__all__ = ["Fit", "Optimizer", "Point", "Problem", "StoppingRule", "backtrack", "largest", "run", "typical"]


# Two equal objectives may differ by this much, relatively, for rounding alone.
_ROUNDING = 1e-14
# Steps shorter than this change the objective by less than rounding does: they are taken without asking it.
_RESOLUTION = 1e-6
# A step this long that gains this little (relatively) leads nowhere.
_FAR, _NOTHING = 1e-2, 1e-12
# However little is known of an annotator, a step is stretched no further than by the inverse of this.
_LEAST_KNOWN = 0.1
# After so many shorter steps of the scores those of the noise are shortened too.
_SEVERAL = 4
# Scores are log-odds: an extrapolation that moves one further has left the ground.
_LONGEST_LEAP = 20.0


def largest(change: FloatArray) -> float:
    """Return the largest change."""
    return float(np.abs(change).max(initial=0.0))


def typical(change: FloatArray) -> float:
    """Return the root of the mean squared change."""
    return float(np.sqrt((change**2).mean()))


@dataclass(frozen=True)
class Problem:
    """What is fitted: a scorer and a noise over the rows of an engine, with a loss for the scores."""

    engine: Engine
    scorer: Scorer
    noise: Noise
    loss: str = "logistic"
    size: Callable[[FloatArray], float] = largest
    """How long a change of all scores is: convergence is judged by it."""

    def evaluate(self, theta: FloatArray, params: FloatArray) -> Point:
        """Run the E-step's pass at some parameters."""
        scores = self.scorer.scores(theta)
        at = self.engine.expectation(scores, self.noise.log_emission(params))
        objective = at.value + self._log_prior(theta, params)
        return Point(theta, params, scores, self.noise.rates(params), at, objective)

    def with_prior(self, point: Point) -> Point:
        """Return a point that was evaluated under another prior, with its objective under this one."""
        return replace(point, objective=point.expectation.value + self._log_prior(point.theta, point.params))

    def _log_prior(self, theta: FloatArray, params: FloatArray) -> float:
        return self.noise.log_prior(params) - 0.5 * float((self.scorer.precision * theta**2).sum())

    def posterior(self, point: Point) -> FloatArray:
        """Return the posterior of every row's truth: the E-step's answer in full."""
        return self.in_memory.posterior(point.scores, self.noise.log_emission(point.params))

    @property
    def in_memory(self) -> MemoryEngine:
        """The engine, where rows are wanted one by one: models see to it that they are at hand."""
        assert self.engine.in_memory
        return cast(MemoryEngine, self.engine)

    def step(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Return the parameters after one M-step (for the logistic loss: one Newton step of it)."""
        params = self.noise.update(point.expectation.expected_counts, point.params)
        if self.loss == "hinge":
            return maximise_hinge(self.in_memory, self.scorer, self.posterior(point), point.theta), params
        return point.theta + newton_step(self.engine, self.scorer, point.expectation, point.theta), params

    def slope(self, point: Point) -> FloatArray:
        """Return the gradient of the objective in all parameters."""
        by_theta = gradient(self.scorer, point.expectation, point.theta)
        return np.concatenate([by_theta, self.noise.slope(point.params, point.expectation.expected_counts)])

    def stretched(self, point: Point, theta: FloatArray, params: FloatArray) -> FloatArray:
        """Return a plain step as a change of all parameters, that of the noise as long as Newton's would be.

        EM goes too short a way by the share of the information that is missing because truths are not known.
        """
        known = np.maximum(
            1.0 - self.noise.missing_information(params, point.expectation.truth_variance), _LEAST_KNOWN
        )
        return np.concatenate([theta - point.theta, (params - point.params) / known])

    def distance(self, a: Point, theta: FloatArray, params: FloatArray) -> float:
        """Return how far the scores, or if further the rates, are from those of ``a``."""
        scores = self.size(self.scorer.scores(theta) - a.scores)
        return max(scores, largest(self.noise.rates(params) - a.rates))

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Return a first answer: to the shares of the votes, as if they were the posterior."""
        if self.loss == "hinge":
            return self.start_from(self.in_memory.rows.share)
        at, expected_counts = self.engine.initial_step(self.scorer.scores(self._zero()))
        return self._first_step(at), self.noise.update(expected_counts)

    def start_from(self, posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a first answer to a posterior that was guessed."""
        engine = self.in_memory
        if self.loss == "hinge":
            theta = maximise_hinge(engine, self.scorer, posterior, self._zero())
        else:
            theta = self._first_step(engine.maximisation(self.scorer.scores(self._zero()), posterior))
        return theta, self.noise.update(engine.rows.over_votes(posterior))

    def _zero(self) -> FloatArray:
        return np.zeros(self.scorer.n_params)

    def _first_step(self, at: Maximisation) -> FloatArray:
        """Return one Newton step from zero: there the curvature is largest, so that it cannot go too far."""
        return newton_step(self.engine, self.scorer, at, self._zero())


@dataclass(frozen=True)
class Point:
    """Parameters, and the E-step's pass there."""

    theta: FloatArray
    params: FloatArray
    scores: FloatArray
    rates: FloatArray
    expectation: Expectation
    objective: float
    secants: Secants = field(default_factory=Secants)
    """What the way here has taught: a fit that goes on from here goes on with it."""


@dataclass
class StoppingRule:
    """Stop once what is left to go is at most ``tol``.

    Steps shrink geometrically or faster: from the lengths of the last ones follows how far the limit still is.
    """

    tol: float
    remaining: float = field(default=np.inf, init=False)
    ratio: float = field(default=1.0, init=False)

    def reached(self, previous: float | None, last: float, scale: float) -> bool:
        """Tell whether the limit is within ``tol``.

        Parameters
        ----------
        previous : float or None
            Length of the step before the last; None where there was none.
        last : float
            Length of the last step.
        scale : float
            Size of what moves, for rounding.
        """
        if previous is not None:
            # One step may be short by chance: two in a row are not.
            ratio = min(last / previous, 1.0) if previous > 0 else 1.0
            self.ratio = max(ratio, float(np.sqrt(ratio * self.ratio)) if self.ratio < 1.0 else ratio)
        if last <= 1e-14 * (1.0 + scale):
            self.remaining = 0.0
        else:
            self.remaining = last * self.ratio / (1.0 - self.ratio) if self.ratio < 1.0 else np.inf
        return self.remaining <= self.tol


@dataclass(frozen=True)
class Fit:
    """Where the loop ended."""

    point: Point
    objectives: list[float]
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of EM iterations."""
        return len(self.objectives) - 1


class Optimizer:
    """Steps upward from a point, each the best guess that the last ones allow.

    With the logistic loss no step lowers the objective: one that would gives way to a plain step of EM, which is
    halved until it does not.

    Parameters
    ----------
    problem : Problem
        What is fitted. It may change on the way, see :meth:`turn_to`.
    point : Point
        Where to begin.
    """

    def __init__(self, problem: Problem, point: Point) -> None:
        self.problem, self.point = problem, point
        self.length = np.inf
        self._before: tuple[Point, FloatArray] | None = None

    def turn_to(self, problem: Problem) -> None:
        """Go on with a problem of the same parameters under another prior."""
        self.problem, self.point = problem, problem.with_prior(self.point)

    def aim(self) -> float:
        """Work out the next step; return how long it is."""
        self._plain = self.problem.step(self.point)
        if self.problem.loss == "hinge" or not len(self.point.params):
            # Without a noise to fit the plain step is Newton's own.
            self._aim, self.length = self._plain, self.problem.distance(self.point, *self._plain)
            return self.length
        slope, plain = self.problem.slope(self.point), self.problem.stretched(self.point, *self._plain)
        if self._before is not None:
            older, its_plain = self._before
            step = np.concatenate([self.point.theta - older.theta, self.point.params - older.params])
            fall = self.problem.slope(older) - slope
            self.point = replace(self.point, secants=older.secants.with_step(step, fall, its_plain - plain))
        step = self.point.secants.lbfgs_direction(slope, plain)
        split = len(self.point.theta)
        self._aim = self.point.theta + step[:split], self.point.params + step[split:]
        self._before = self.point, plain
        self.length = self.problem.distance(self.point, *self._aim)
        return self.length

    @property
    def below_resolution(self) -> bool:
        """Whether the objective cannot tell if the step is any good."""
        return self.problem.loss == "hinge" or self.length < _RESOLUTION

    def move(self) -> bool:
        """Take the step, or the next best; tell whether any rises."""
        moved = self._trial_step()
        if moved is None:
            self.point = replace(self.point, secants=Secants())
            self._before = None
            moved = backtrack(self.problem, self.point, *self._plain, self.below_resolution)
        if moved is None:
            return False
        self.point = moved
        return True

    def _trial_step(self) -> Point | None:
        """Go where the step leads; None where that is too far, or lower."""
        theta, params = self._aim
        if not largest(self.problem.scorer.forward(theta - self.point.theta)) <= _LONGEST_LEAP:
            return None
        moved = self.problem.evaluate(theta, params)
        return moved if self.below_resolution or moved.objective >= self.point.objective else None


def run(
    problem: Problem,
    point: Point,
    *,
    max_iter: int,
    tol: float,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
) -> Fit:
    """Climb from a point until the stopping rule is met; with the logistic loss every step is upward."""
    optimizer, rule = Optimizer(problem, point), StoppingRule(tol)
    objectives, converged = [point.objective], False
    previous: float | None = None
    while not converged and len(objectives) <= max_iter:
        last = optimizer.aim()
        converged = rule.reached(previous, last, largest(optimizer.point.scores))
        if not optimizer.move():
            converged = True
            break
        gain, previous = optimizer.point.objective - objectives[-1], last
        if not optimizer.below_resolution and last > _FAR and gain <= _NOTHING * (1.0 + abs(objectives[-1])):
            # Scores run away and nothing is gained: without a prior, separated items have no optimum.
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
    """Go where a plain step leads, with a shorter step of the scores where that would lower the objective.

    If several shorter ones do, the noise's step is to blame, and shortened too: where truths are hidden it never is.

    Parameters
    ----------
    point : Point
        Where the step began.
    theta, params : ndarray
        Where it leads.
    blind : bool
        Take the step whatever the objective says.

    Returns
    -------
    Point or None
        None where no step rises.
    """
    least = point.objective - _ROUNDING * abs(point.objective)
    for tried in range(30):
        moved = problem.evaluate(theta, params)
        if below_resolution or moved.objective >= least:
            return moved
        theta = (theta + point.theta) / 2
        if tried >= _SEVERAL:
            params = (params + point.params) / 2
    return None
