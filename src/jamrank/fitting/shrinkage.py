"""Priors of annotators' parameters that a crowd's own parameters suggest, where scores are not integrated out.

Those of flips and biases only for one truth per pair: with one per vote, scores and the level of the flips explain
each other, so that an estimated level, taken for known, would make intervals too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jamrank.engines import Engine
from jamrank.fitting.em import Fit, Point, Problem, run
from jamrank.fitting.lbfgs import Secants
from jamrank.fitting.marginal_flips import MANY_ROWS
from jamrank.fitting.prior import Prior
from jamrank.fitting.prior_variances import rounded
from jamrank.fitting.solution import NoiseState
from jamrank.typing import FloatArray

# Fewer annotators do not tell how widely annotators are spread; of more votes each, the prior does not matter.
_CROWD, _VOTES_EACH = 20, 200
_ROUNDS, _STEPS = 10, 4
_FIRST_VARIANCE = 0.1
# Relative change of the parameters of the prior at which it has settled.
_CLOSE = 0.05
_OF_FLIPS = ("flip_wrong", "flip_right")


@dataclass(frozen=True)
class Shrunk:
    """A fit under the prior that its own annotators suggest."""

    noise: NoiseState
    problem: Problem
    fit: Fit


def is_crowd(engine: Engine, loss: str, annotator_decided: FloatArray) -> bool:
    """Tell whether the prior is estimated: there are enough annotators for it, and with few enough votes each."""
    n = int(np.count_nonzero(annotator_decided))
    few = float(annotator_decided.sum()) <= _VOTES_EACH * n and engine.n_rows <= MANY_ROWS
    return n >= _CROWD and few and loss == "logistic"


def begun(state: NoiseState) -> NoiseState:
    """Return the noise with the prior from which that of a crowd is estimated.

    Of few votes each, discriminations under a wide prior explain everything, and its estimate stays wide.
    """
    assert state.prior is not None
    return replace(state, prior=state.prior.with_estimates({"discrimination_variance": _FIRST_VARIANCE}))


def shrink(
    given: Prior, state: NoiseState, problem: Problem, fit: Fit, max_iter: int, tol: float, *, flips: bool = True
) -> Shrunk:
    """Alternate between a few steps of the fit and the prior that its annotators' parameters suggest.

    given: The user's prior, of which what is not given is estimated.
    state: The noise with the prior of the fit.
    problem, fit: The fit.
    max_iter, tol: As in :func:`jamrank.fitting.em.run`, of the last run.
    flips: Whether the prior of the flips is estimated, too. With a truth for each vote, scores that are fitted
        jointly explain flips away, but not biases.
    """
    assert state.prior is not None
    point, used, first = fit.point, state.prior, state
    for _ in range(_ROUNDS):
        suggested = _suggested(given, problem, point, flips)
        if _moved(used, suggested) <= _CLOSE:
            break
        used, state = suggested, replace(state, prior=suggested)
        problem = replace(problem, noise=state.build(problem.engine))
        # Curvature learned from the last steps of a fit that has settled may be rounding errors.
        start = problem.with_prior(replace(point, secants=Secants()))
        point = run(problem, start, max_iter=_STEPS, tol=tol).point
    return Shrunk(state, problem, fit if state is first else run(problem, point, max_iter=max_iter, tol=tol))


def _suggested(given: Prior, problem: Problem, point: Point, flips: bool) -> Prior:
    at = point.expectation
    estimates = problem.noise.estimated_prior(point.params, at.expected_counts, at.truth_variance)
    found = {name: float(rounded(value) or value) for name, value in estimates.items()}
    return given.with_estimates({name: value for name, value in found.items() if flips or name not in _OF_FLIPS})


def _moved(a: Prior, b: Prior) -> float:
    """Return the largest relative change of a parameter."""
    own, other = ((*each.flip_votes, each.bias_spread, each.discrimination_spread) for each in (a, b))
    return max(abs(float(np.log(new / old))) for old, new in zip(own, other, strict=True) if old > 0)
