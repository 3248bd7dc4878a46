"""Priors of annotators' parameters that are estimated from the votes: parameters shrink towards a common value."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jamrank.fitting.em import Fit, Point, Problem, run
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.prior import Prior
from jamrank.fitting.prior_variances import rounded
from jamrank.fitting.solution import NoiseState

_ROUNDS, _STEPS = 30, 4
# With more rows fewer rounds must do.
_MANY_ROWS, _FEW_ROUNDS = 300_000, 6
# With more votes in a confusion group, on average, the prior does not matter.
_VOTES_EACH = 1000
# Relative change of variances and pseudo-votes, and change of means, at which the prior has settled.
_CLOSE = 0.02


@dataclass(frozen=True)
class Shrunk:
    """A fit under the prior that its own annotators suggest."""

    noise: NoiseState
    problem: Problem
    fit: Fit


def shrink(state: NoiseState, problem: Problem, fit: Fit, max_iter: int, tol: float) -> Shrunk:
    """Alternate between a few steps of the fit and the prior that its annotators' parameters suggest.

    state: The noise with the user's prior, of which what is not given is estimated.
    problem, fit: The fit under that prior.
    max_iter, tol: As in :func:`jamrank.fitting.em.run`, of the last run.
    """
    given = state.prior
    assert given is not None
    point, found = fit.point, Shrunk(state, problem, fit)
    for _ in range(_rounds(problem)):
        prior = _suggested(given, problem, point)
        if prior == given or _moved(found.noise.prior or given, prior) <= _CLOSE:
            break
        own = replace(state, prior=prior)
        problem = replace(problem, noise=own.build(problem.engine))
        # Curvature learned from the last steps of a fit that has settled may be rounding errors.
        start = problem.with_prior(replace(point, secants=Secants()))
        found = Shrunk(own, problem, run(problem, start, max_iter=_STEPS, tol=tol))
        point = found.fit.point
    if found.noise is state:
        return found
    return replace(found, fit=run(problem, point, max_iter=max_iter, tol=tol))


def _rounds(problem: Problem) -> int:
    """Return the largest number of rounds: none where the prior does not matter."""
    votes = problem.engine.vote_counts
    if float(votes.sum()) > _VOTES_EACH * len(votes):
        return 0
    return _ROUNDS if problem.engine.n_rows <= _MANY_ROWS else _FEW_ROUNDS


def _suggested(given: Prior, problem: Problem, point: Point) -> Prior:
    at = point.expectation
    estimates = problem.noise.estimated_prior(point.params, at.expected_counts, at.truth_variance)
    return given.with_estimates({name: rounded(value) for name, value in estimates.items()})


def _moved(a: Prior, b: Prior) -> float:
    """Return how far a prior has moved: the largest relative change, or change of the mean bias."""
    pairs = [
        *zip(a.flip_votes, b.flip_votes, strict=True),
        (a.bias[0], b.bias[0]),
        (a.discrimination, b.discrimination),
    ]
    relative = max(abs(float(np.log(new / old))) for old, new in pairs if old > 0 and new > 0)
    return max(relative, abs(a.bias[1] - b.bias[1]))
