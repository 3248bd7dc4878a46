"""Further starts of a fit of few votes, whose objective may have several maxima.

Starts are functions of the votes and the first fit alone: never of order, names or chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from jamrank.fitting.em import Fit, Point, Problem
from jamrank.typing import FloatArray, IntArray

Start = tuple[FloatArray, FloatArray]

# Only small data have a second maximum; on large data further runs would only take time.
_FEW_ROWS, _FEW_VOTES = 2000, 200
_FURTHER = 4.0
# At most so many annotators are inverted in turn, those with the most votes.
_MOST_INVERTED = 4
# Maxima whose objectives differ by less are equally high.
EQUAL, _DISTINCT = 1e-6, 0.01


def best_maximum(problem: Problem, fit: Fit, votes: FloatArray, climb: Callable[[Start], Fit]) -> Fit:
    """Return the fit, or a higher maximum that is reached from further starts.

    Of equally high maxima, the one with which more votes agree is taken.

    votes: Decided votes of each annotator.
    climb: Runs the loop from a start, and settles the sign.
    """
    for start in further_starts(problem, fit.point, votes):
        other = climb(start)
        if other.converged and _is_better(problem, other, fit):
            fit = other
    return fit


def _is_better(problem: Problem, a: Fit, b: Fit) -> bool:
    gain = a.objectives[-1] - b.objectives[-1]
    if abs(gain) > EQUAL:
        return gain > 0
    one, other = (problem.noise.orientation(fit.point.params) for fit in (a, b))
    # The same maximum, reached by another path, has the same orientation but for the tolerance of the loop.
    return one > other + _DISTINCT * (1.0 + abs(other))


def further_starts(problem: Problem, point: Point, votes: FloatArray) -> Iterator[Start]:
    """Return starts with larger scores, with opposite ones, and with annotators inverted in turn."""
    if problem.engine.n_rows > _FEW_ROWS or not len(point.params):
        return
    yield _FURTHER * point.theta, point.params
    has_annotators = problem.noise.with_trust(np.ones(len(votes))) is not None
    if not has_annotators or float(votes.sum()) > _FEW_VOTES or problem.loss != "logistic":
        return
    yield -point.theta, problem.start()[1]
    for annotator in _heaviest(problem, point, votes):
        trust = np.ones(len(votes))
        trust[annotator] = -1.0
        params = problem.noise.with_trust(trust)
        assert params is not None
        at = problem.evaluate(np.zeros_like(point.theta), params)
        yield problem.step(at)[0], params


def _heaviest(problem: Problem, point: Point, votes: FloatArray) -> IntArray:
    """Return the annotators with the most votes; of as many votes, those with the smallest flips first."""
    rates = np.round(problem.noise.annotator_flips(point.params, len(votes)), 6)
    order = np.lexsort((rates, -votes))
    if len(votes) <= _MOST_INVERTED:
        return order if len(votes) > 1 else order[:0]
    # Annotators who are alike in both are all taken, or none of them: names must not decide.
    last, next_ = order[_MOST_INVERTED - 1], order[_MOST_INVERTED]
    if votes[last] != votes[next_] or rates[last] != rates[next_]:
        return order[:_MOST_INVERTED]
    alike = (votes == votes[last]) & (rates == rates[last])
    return np.asarray([k for k in order[:_MOST_INVERTED] if not alike[k]], dtype=np.intp)
