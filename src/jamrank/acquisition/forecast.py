"""The expected error of simulated collections, with little noise.

The error of a belief is what it expects itself: ``Φ(-|m| / √v)`` for a question with mean ``m`` and variance ``v``.
It still varies from run to run with the means. Let ``w`` be the lowest variance that any run reaches. The error that
a belief expects of its own estimate once that variance is reached, ``2 T(m / √v, √(w / (v - w)))`` with Owen's
function ``T``, has the same mean over the runs whatever they asked: its present value. The mean error is that value
plus the mean difference of the two, which is small, and 0 where the variances do not depend on the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, owens_t

from jamrank.acquisition.belief import Belief
from jamrank.acquisition.goals import Goal
from jamrank.acquisition.groups import are_apart
from jamrank.acquisition.scores import GaussianScores
from jamrank.acquisition.stopping import Questions, questions_of, top_of, verdict_error
from jamrank.diagnostics.planning import some_pairs
from jamrank.typing import FloatArray, IntArray

# Of a top, about so many numbers are drawn, within these limits.
_MOST_NUMBERS, _COUNTS = 40_000, (100, 2_000)
# Pairs of a ranking, or of many items some of them.
_MOST_QUESTIONS = 1_000
# Limits of the factor between the variances of the model and of the belief.
_LEAST, _MOST = 1e-3, 1e6

# Means, variances, and the group of each item where only a top needs it.
State = tuple[FloatArray, FloatArray, IntArray | None]


class QuestionsForecast:
    """Errors of a ranking or a threshold: a state is the means and variances of its questions.

    now: The present error. Variances are multiplied so that the present ones give it.
    """

    def __init__(self, belief: Belief, goal: Goal, component: IntArray | None, now: float) -> None:
        self._goal, self._prior = goal, belief.prior_variance
        self._kept: IntArray | slice = slice(None)
        mean = self._questions(belief, component).mean
        if len(mean) > _MOST_QUESTIONS:
            self._kept = np.sort(np.random.default_rng(0).permutation(len(mean))[:_MOST_QUESTIONS])
        # Of two groups without a vote between them nothing is known: there the plain mean is taken.
        self._apart = np.zeros(1, np.bool_)
        if goal.name != "threshold" and component is not None:
            self._apart = are_apart(component, *some_pairs(len(belief.scores.mean), 4_000, goal.group))[self._kept]
        self.scale = 1.0
        self.scale = self._factor(self.state(belief, component), now)

    def state(self, belief: Belief, component: IntArray | None) -> State:
        """Return the means and variances of the questions."""
        asked = self._questions(belief, component)
        return asked.mean[self._kept], self.scale * asked.variance[self._kept], None

    def error(self, state: State) -> float:
        """Return the error that a belief expects."""
        mean, variance, _ = state
        return float(ndtr(-np.abs(mean) / np.sqrt(variance)).mean()) if len(mean) else 0.5

    def steady(self, state: State, least: FloatArray) -> float:
        """Return the error that a belief expects once the variances are the least ones."""
        mean, variance, _ = state
        if not len(mean):
            return 0.5
        with np.errstate(divide="ignore"):
            slope = np.sqrt(least / np.maximum(variance - least, 0.0))
        later = 2 * owens_t(np.abs(mean) / np.sqrt(variance), slope)
        return float(np.where(self._apart, 0.0, later).mean())

    def _questions(self, belief: Belief, component: IntArray | None) -> Questions:
        return questions_of(belief.scores, self._goal, self._prior, component)

    def _factor(self, state: State, now: float) -> float:
        """Return the factor for the variances that gives the present error."""
        if abs(self.error(state) - now) < 1e-9:  # also where no order is known at all
            return 1.0
        low, high = np.log(_LEAST), np.log(_MOST)
        for _ in range(50):
            middle = (low + high) / 2
            error = self.error((state[0], float(np.exp(middle)) * state[1], None))
            low, high = (middle, high) if error < now else (low, middle)
        return float(np.exp((low + high) / 2))


class TopForecast:
    """Errors of a top: a state is the scores and the variances of their distances from the mean.

    Estimates and truths are drawn with the same standard normal numbers for all runs.
    """

    def __init__(self, n_items: int, goal: Goal, component: IntArray | None) -> None:
        self._k, self._whole = goal.k, component is None
        rng, count = np.random.default_rng(0), int(np.clip(_MOST_NUMBERS // n_items, *_COUNTS))
        self._moved, self._rest = (self._standard(rng, count, n_items) for _ in range(2))

    @staticmethod
    def _standard(rng: np.random.Generator, count: int, n_items: int) -> FloatArray:
        noise = rng.standard_normal((count // 2, n_items))
        return np.concatenate([noise, -noise])

    def state(self, belief: Belief, component: IntArray | None) -> State:
        """Return the means and variances of the scores."""
        mean = belief.scores.mean
        return mean - mean.mean(), _independent_variance(belief.scores), component

    def error(self, state: State) -> float:
        """Return the error that a belief expects."""
        return self._later_error(state, state[1])

    def steady(self, state: State, least: FloatArray) -> float:
        """Return the error that a belief expects once the variances are the least ones."""
        return self._later_error(state, least) if self._whole else 0.0

    def _later_error(self, state: State, least: FloatArray) -> float:
        mean, variance, component = state
        later = mean + np.sqrt(np.maximum(variance - least, 0.0)) * self._moved
        truth = later + np.sqrt(np.minimum(least, variance)) * self._rest
        if component is not None:  # nothing is known of the level of such a group
            level = 1e3 * np.random.default_rng(1).standard_normal((len(later), int(component.max()) + 1))
            truth += np.where(component < 0, 0.0, level[:, component])
        k = self._k
        return 1.0 - float((top_of(later, k) & top_of(truth, k)).sum()) / (k * len(later))


def _independent_variance(scores: GaussianScores) -> FloatArray:
    """Return variances of independent scores whose differences are about as uncertain."""
    n = len(scores.mean)
    return scores.centred_variance * n / max(n - 1, 1)


class VerdictsForecast:
    """Errors of verdicts, which hardly vary from run to run."""

    def state(self, belief: Belief, component: IntArray | None) -> State:
        """Return the error as it is."""
        return np.array([verdict_error(belief)]), np.zeros(1), None

    def error(self, state: State) -> float:
        """Return the error that a belief expects."""
        return float(state[0][0])

    def steady(self, state: State, least: FloatArray) -> float:
        """Return nothing that could be subtracted."""
        return 0.0


Forecast = QuestionsForecast | TopForecast | VerdictsForecast


def forecast_for(belief: Belief, goal: Goal, component: IntArray | None, now: float) -> Forecast:
    """Return how the errors of a goal are computed."""
    if goal.name == "verdicts":
        return VerdictsForecast()
    if goal.name == "top-k":
        return TopForecast(len(belief.scores.mean), goal, component)
    return QuestionsForecast(belief, goal, component, now)


@dataclass(frozen=True)
class ErrorsOfRuns:
    """Errors after each round of each run.

    own: As the belief of the run expects it.
    even: With the same mean over all runs, and less noise.
    """

    own: FloatArray
    even: FloatArray


def errors_of_runs(forecast: Forecast, runs: list[list[State]], now: float) -> ErrorsOfRuns:
    """Return the errors of states by run and round, as multiples of which the first is the present error."""
    shape = len(runs), len(runs[0])
    own, even = np.empty(shape), np.empty(shape)
    least = runs[0][0][1]
    for at in range(shape[1]):
        least = np.minimum(least, np.min([states[at][1] for states in runs], axis=0))
        present = forecast.steady(runs[0][0], least)
        own[:, at] = [forecast.error(states[at]) for states in runs]
        even[:, at] = own[:, at] + [present - forecast.steady(states[at], least) for states in runs]
    factor = now / max(float(own[0, 0]), 1e-12)
    return ErrorsOfRuns(factor * own, factor * even)
