"""The observed information on scores and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from jamrank.engines import MemoryEngine
from jamrank.fitting.em import Point, Problem
from jamrank.linalg.blas import blas_threads
from jamrank.linalg.joint_information import factored, is_small, joint_information
from jamrank.scorers import LinearScorer, Scorer, SumScorer
from jamrank.typing import BoolArray, FloatArray

_STEP = 1e-4
# Beyond this many parameters, or rows times passes, scores are held fixed.
_MOST_PARAMETERS, _MOST_VISITS = 1500, 2_000_000_000
# Scores have an approximation that is nearly as good, so their differences must be cheap.
_MOST_VISITS_FOR_SCORES = 200_000_000
_NOTHING = 1e-10
_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Observed:
    """The observed information on scores and noise together, prior included.

    matrix: Scores (or weights) first, then the parameters of the noise. Directions that are not identified are fixed.
    inside: Which parameters of the noise are included; those without information are held fixed.
    """

    matrix: FloatArray
    inside: BoolArray

    def marginal(self) -> FloatArray:
        """Return the marginal information on each parameter of the noise; 0 for those not included."""
        spread = factored(self.matrix).spread()[len(self.matrix) - int(self.inside.sum()) :]
        information = np.zeros(len(self.inside))
        information[self.inside] = 1.0 / (spread**2).sum(axis=1)
        return information


def observed_information(problem: Problem, point: Point) -> Observed | None:
    """Return the observed information at a point; None if that is too expensive.

    In closed form if the noise has one, otherwise by differences of the gradient.
    """
    with blas_threads(problem.engine.n_items):
        return _observed_information(problem, point)


def _observed_information(problem: Problem, point: Point) -> Observed | None:
    noise, params = problem.noise, point.params
    if problem.engine.has_information and (noise.closed_form or not len(params)):
        matrix, inside = _in_closed_form(problem, cast(MemoryEngine, problem.engine), point)
    else:
        matrix = _by_differences(problem, point, _MOST_VISITS_FOR_SCORES)
        inside = np.ones(len(params), np.bool_)
    if matrix is None:
        return None
    n_theta = len(point.theta)
    if not problem.scorer.level_matters:
        # Only differences of scores are identified.
        matrix[:n_theta, :n_theta] += 1.0 / n_theta
    unit = noise.unidentified_direction(params)
    if unit is not None:
        matrix[n_theta:, n_theta:] += np.abs(matrix).max() * np.outer(unit, unit)
    return Observed(matrix, inside)


def _in_closed_form(problem: Problem, engine: MemoryEngine, point: Point) -> tuple[FloatArray | None, BoolArray]:
    noise, params = problem.noise, point.params
    known = noise.complete_information(params) if noise.closed_form else np.zeros(len(params))
    inside = known > 1e-6 * max(float(known.max(initial=0.0)), 1e-300)
    if not is_small(engine.n_items + int(inside.sum()), engine.n_rows):
        return None, inside
    at = engine.information(point.scores, noise.log_emission(params))
    loglik_jacobian = (
        noise.loglik_jacobian(params) if noise.closed_form else csr_array((2 * engine.n_confusion_groups, 0))
    )
    features = problem.scorer.design() if problem.scorer.effects() is None else None
    of_noise = loglik_jacobian[:, np.flatnonzero(inside)]
    return joint_information(at, known[inside], of_noise, problem.scorer.precision, features), inside


def _by_differences(problem: Problem, point: Point, most_visits: int) -> FloatArray | None:
    """Return the observed information, each column a central difference of the gradient: two passes per parameter."""
    n_theta, n_params = len(point.theta), len(point.params)
    total = n_theta + n_params
    if total > _MOST_PARAMETERS or 2 * total * problem.engine.n_rows > most_visits:
        return None
    at = np.concatenate([point.theta, point.params])
    information = -np.stack([_bend(problem, at, direction, n_theta) for direction in np.eye(total)])
    return np.asarray((information + information.T) / 2)


def joint_covariance(problem: Problem, point: Point) -> FloatArray | None:
    """Return the covariance of the noise's parameters, with uncertain scores; None if that is too expensive."""
    covariance, n_theta = whole_covariance(problem, point), len(point.theta)
    return None if covariance is None else covariance[n_theta:, n_theta:]


def whole_covariance(problem: Problem, point: Point, most_visits: int = _MOST_VISITS) -> FloatArray | None:
    """Return the covariance of the scorer's, then the noise's parameters; None if that is too expensive.

    A normal approximation with the observed information, prior included. Each of its columns is a central difference
    of the gradient: two passes per parameter.
    """
    information = _by_differences(problem, point, most_visits)
    if information is None:
        return None
    # Directions without information, such as the common level of free scores without a prior, are left out.
    return np.asarray(np.linalg.pinv(information, rcond=_NOTHING, hermitian=True))


def weight_variances(scorer: Scorer, covariance: FloatArray) -> FloatArray:
    """Return the variance of each feature's weight, given the covariance of all parameters."""
    features = cast(LinearScorer, scorer) if scorer.effects() is None else cast(SumScorer, scorer).features
    own = covariance[: features.n_params, : features.n_params]
    if not features.wide:
        return np.diag(own)
    values, vectors = np.linalg.eigh(own)
    return features.weight_variances(vectors * np.sqrt(np.maximum(values, 0.0)))


def _bend(problem: Problem, at: FloatArray, direction: FloatArray, n_theta: int) -> FloatArray:
    """Return the derivative of the gradient along a direction."""
    ends = [at + step * direction for step in (_STEP, -_STEP)]
    ahead, behind = (problem.slope(problem.evaluate(end[:n_theta], end[n_theta:])) for end in ends)
    return np.asarray((ahead - behind) / (2 * _STEP))


def annotator_covariance(problem: Problem, point: Point, n_annotators: int) -> FloatArray:
    """Return the covariance of each annotator's own parameters.

    n_annotators: The noise has as many parameters of a first kind, then of a second, and so on, then those that all
        share.
    Returns an array, of shape (kinds, kinds, annotators).
    """
    own = len(point.params) - problem.noise.n_shared
    kinds = own // n_annotators
    joint = joint_covariance(problem, point)
    if joint is not None:
        joint = joint[:own, :own]
        blocks: FloatArray = np.einsum("ikjk->ijk", joint.reshape(kinds, n_annotators, kinds, n_annotators))
        return blocks
    # Given the scores, annotators are (nearly) independent, so all parameters of a kind are changed at once.
    n_theta, at = len(point.theta), np.concatenate([point.theta, point.params])
    information = np.empty((n_annotators, kinds, kinds))
    for kind in range(kinds):
        direction = np.zeros(len(at))
        direction[n_theta + kind * n_annotators : n_theta + (kind + 1) * n_annotators] = 1.0
        change = _bend(problem, at, direction, n_theta)[n_theta : n_theta + own]
        information[:, kind] = -change.reshape(kinds, n_annotators).T
    return np.moveaxis(np.asarray(np.linalg.pinv(information, rcond=_NOTHING)), 0, 2)


def shared_variance(problem: Problem, point: Point) -> FloatArray:
    """Return the variance of each parameter that all annotators share; scores are uncertain too where few."""
    n, joint = problem.noise.n_shared, joint_covariance(problem, point)
    if joint is not None:
        return np.diag(joint)[len(joint) - n :]
    n_theta, at = len(point.theta), np.concatenate([point.theta, point.params])
    last = len(at) - n + np.arange(n)
    bends = [_bend(problem, at, np.eye(1, len(at), k)[0], n_theta)[k] for k in last.tolist()]
    return np.asarray(1.0 / np.maximum(-np.array(bends), 1e-300))


def interval(estimate: FloatArray, variance: FloatArray) -> FloatArray:
    """Return normal 95 % intervals, from low to high; infinite where nothing is known."""
    reach = _NORMAL_95 * np.sqrt(np.where(variance > 0, variance, np.inf))
    return np.stack([estimate - reach, estimate + reach], axis=1)


def information_on_flips(params: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the information on the logit of each flip of a two-coin noise, which is the mean over both sides."""
    flip, bias = params[: covariance.shape[2]], params[covariance.shape[2] : 2 * covariance.shape[2]]
    on_left, on_right = expit(flip - bias), expit(flip + bias)
    mean = (on_left + on_right) / 2
    by_flip = (on_left * (1 - on_left) + on_right * (1 - on_right)) / 2
    by_bias = (on_right * (1 - on_right) - on_left * (1 - on_left)) / 2
    by = np.stack([by_flip, by_bias])
    variance = np.einsum("ik,ijk,jk->k", by, covariance[:2, :2], by)
    information: FloatArray = np.divide(
        (mean * (1 - mean)) ** 2, variance, out=np.zeros_like(mean), where=variance > 0
    )
    return information
