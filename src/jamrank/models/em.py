"""The one EM loop. It knows scorer, noise and engine only by what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from jamrank.engines import Engine, Expectation, Maximisation, MemoryEngine
from jamrank.models.newton import maximise_hinge, newton_step
from jamrank.noise import Noise
from jamrank.scorers import Scorer

__all__ = ["Fit", "Point", "Problem", "StoppingRule", "climb", "largest", "run", "typical"]

Doubles = NDArray[np.float64]

# Two equal objectives may differ by this much, relatively, for rounding alone.
_ROUNDING = 1e-14
# Steps shorter than this change the objective by less than rounding does: they are taken without asking it.
_RESOLUTION = 1e-6
# A step this long that gains this little (relatively) leads nowhere.
_FAR, _NOTHING = 1e-2, 1e-12
# Scores are log-odds: an extrapolation that moves one further has left the ground.
_LONGEST_LEAP = 20.0


def largest(change: Doubles) -> float:
    """Return the largest change."""
    return float(np.abs(change).max(initial=0.0))


def typical(change: Doubles) -> float:
    """Return the root of the mean squared change."""
    return float(np.sqrt((change**2).mean()))


@dataclass(frozen=True)
class Problem:
    """What is fitted: a scorer and a noise over the rows of an engine, with a loss for the scores."""

    engine: Engine
    scorer: Scorer
    noise: Noise
    loss: str = "logistic"
    size: Callable[[Doubles], float] = largest
    """How long a change of all scores is: convergence is judged by it."""

    def evaluate(self, theta: Doubles, params: Doubles, reuse: Point | None = None) -> Point:
        """Run the E-step's pass at some parameters."""
        scores = self.scorer.scores(theta)
        at = self.engine.expectation(scores, self.noise.tables(params), reuse.at if reuse else None)
        objective = at.value + self._log_prior(theta, params)
        return Point(theta, params, scores, self.noise.rates(params), at, objective)

    def reassess(self, point: Point) -> Point:
        """Return a point that was evaluated under another prior, with its objective under this one."""
        return replace(point, objective=point.at.value + self._log_prior(point.theta, point.params))

    def _log_prior(self, theta: Doubles, params: Doubles) -> float:
        return self.noise.log_prior(params) - 0.5 * float((self.scorer.precision * theta**2).sum())

    def posterior(self, point: Point) -> Doubles:
        """Return the posterior of every row's truth: the E-step's answer in full."""
        return self._in_memory.posterior(point.scores, self.noise.tables(point.params))

    @property
    def _in_memory(self) -> MemoryEngine:
        """The engine, where rows are wanted one by one: models see to it that they are at hand."""
        assert isinstance(self.engine, MemoryEngine)
        return self.engine

    def step(self, point: Point) -> tuple[Doubles, Doubles]:
        """Return the parameters after one M-step (for the logistic loss: one Newton step of it)."""
        params = self.noise.update(point.at.truly_first)
        if self.loss == "hinge":
            return maximise_hinge(self._in_memory, self.scorer, self.posterior(point), point.theta), params
        return point.theta + newton_step(self.engine, self.scorer, point.at, point.theta), params

    def distance(self, a: Point, theta: Doubles, params: Doubles) -> float:
        """Return how far the scores, or if further the rates, are from those of ``a``."""
        scores = self.size(self.scorer.scores(theta) - a.scores)
        return max(scores, largest(self.noise.rates(params) - a.rates))

    def start(self) -> tuple[Doubles, Doubles]:
        """Return a first answer: to the shares of the votes, as if they were the posterior."""
        if self.loss == "hinge":
            return self.start_from(self._in_memory.rows.share)
        at, truly_first = self.engine.beginning(self.scorer.scores(self._zero()))
        return self._first_step(at), self.noise.update(truly_first)

    def start_from(self, posterior: Doubles) -> tuple[Doubles, Doubles]:
        """Return a first answer to a posterior that was guessed."""
        engine = self._in_memory
        if self.loss == "hinge":
            theta = maximise_hinge(engine, self.scorer, posterior, self._zero())
        else:
            theta = self._first_step(engine.maximisation(self.scorer.scores(self._zero()), posterior))
        return theta, self.noise.update(engine.rows.over_votes(posterior))

    def _zero(self) -> Doubles:
        return np.zeros(self.scorer.n_params)

    def _first_step(self, at: Maximisation) -> Doubles:
        """Return one Newton step from zero: there the curvature is largest, so that it cannot go too far."""
        return newton_step(self.engine, self.scorer, at, self._zero())


@dataclass(frozen=True)
class Point:
    """Parameters, and the E-step's pass there."""

    theta: Doubles
    params: Doubles
    scores: Doubles
    rates: Doubles
    at: Expectation
    objective: float


@dataclass
class StoppingRule:
    """Stop once what is left to go is at most ``tol``.

    EM converges geometrically: from the lengths of two steps in a row follows how far the limit still is.
    """

    tol: float
    remaining: float = field(default=np.inf, init=False)
    ratio: float = field(default=1.0, init=False)

    def reached(self, previous: float | None, last: float, scale: float) -> bool:
        """Tell whether the limit is within ``tol``.

        Parameters
        ----------
        previous : float or None
            Length of the step before the last; None after a leap, when the ratio known so far is kept: a leap
            leaves the steps that shrink faster.
        last : float
            Length of the last step.
        scale : float
            Size of what moves, for rounding.
        """
        if previous is not None:
            self.ratio = last / previous if last < previous else 1.0
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


def run(
    problem: Problem,
    point: Point,
    *,
    max_iter: int,
    tol: float,
    progress: Callable[[int, float], None] = lambda iteration, objective: None,
) -> Fit:
    """Climb from a point until the stopping rule is met.

    With the logistic loss every step of the objective is upward: a plain step that would lower it is halved, and
    an extrapolated one (SQUAREM) that does not rise is dropped for the plain one.
    """
    rule = StoppingRule(tol)
    objectives, converged = [point.objective], False
    older: Point | None = None
    spare: Point | None = None
    while not converged and len(objectives) <= max_iter:
        theta, params = problem.step(point)
        last = problem.distance(point, theta, params)
        blind = problem.loss == "hinge" or last < _RESOLUTION
        previous = None if older is None else problem.distance(older, point.theta, point.params)
        converged = rule.reached(previous, last, largest(point.scores))
        leapt = None
        if older is not None and not converged and not blind and problem.loss == "logistic":
            leapt, spare = _leap(problem, older, point, theta, params, spare)
        moved = leapt or climb(problem, point, theta, params, spare, blind)
        if moved is None:
            converged = True
            break
        if not blind and last > _FAR and moved.objective - point.objective <= _NOTHING * (1.0 + abs(point.objective)):
            # Scores run away and nothing is gained: without a prior, separated items have no optimum.
            break
        # A leap breaks the chain of plain steps from which the next one would be extrapolated.
        older, spare, point = (None, point, moved) if leapt else (point, older, moved)
        objectives.append(point.objective)
        progress(len(objectives) - 1, rule.remaining)
    return Fit(point, objectives, converged)


def climb(
    problem: Problem,
    point: Point,
    theta: Doubles,
    params: Doubles,
    spare: Point | None = None,
    blind: bool = False,
) -> Point | None:
    """Go where a plain step leads, with a shorter step of the scores where that would lower the objective.

    Parameters
    ----------
    point : Point
        Where the step began.
    theta, params : ndarray
        Where it leads.
    spare : Point, optional
        A point whose arrays may be overwritten.
    blind : bool
        Take the step whatever the objective says.

    Returns
    -------
    Point or None
        None where no step rises.
    """
    least = point.objective - _ROUNDING * abs(point.objective)
    for _ in range(30):
        moved = problem.evaluate(theta, params, reuse=spare)
        if blind or moved.objective >= least:
            return moved
        theta, spare = (theta + point.theta) / 2, moved
    return None


def _leap(
    problem: Problem, older: Point, point: Point, theta: Doubles, params: Doubles, spare: Point | None
) -> tuple[Point | None, Point | None]:
    """Extrapolate two plain steps by SQUAREM; None where that would not rise.

    Also returns a point that is no longer needed, whose arrays may be overwritten.
    """
    here = np.concatenate([point.theta, point.params])
    first = here - np.concatenate([older.theta, older.params])
    second = np.concatenate([theta, params]) - here
    turn = second - first
    bend = float((turn**2).sum())
    alpha = np.sqrt(float((first**2).sum()) / bend) if bend > 0 else 0.0
    far = here - first + 2 * alpha * first + alpha**2 * turn
    ahead, rates = far[: len(theta)], far[len(theta) :]
    if alpha <= 1.0 or largest(problem.scorer.spread(ahead - point.theta)) > _LONGEST_LEAP:
        return None, spare
    leapt = problem.evaluate(ahead, rates, reuse=spare)
    return (leapt, None) if leapt.objective >= point.objective else (None, leapt)
