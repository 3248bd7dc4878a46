"""Where a fit begins that goes on from an earlier model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from jamrank.data.ids import locate
from jamrank.fitting.em import Problem
from jamrank.noise import Flip, TwoCoin
from jamrank.scorers import LinearScorer, ObjectScorer, SumScorer
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.models.base import RankingModel

__all__ = ["warm_start"]

# An earlier flip of 0 or 1 may prove wrong: a fit must be able to leave it.
_SURE = 1e-6


def warm_start(problem: Problem, model: RankingModel) -> tuple[FloatArray, FloatArray]:
    """Return scores and noise of the model from which a fit starts, where its ids and those of the votes match.

    What is new, or cannot be taken over, begins as it would without: new items at the mean of the old ones.

    Parameters
    ----------
    problem : Problem
        What is to be fitted.
    model : RankingModel
        The model that is being fitted; ``model._start`` is the one to start from.
    """
    theta, params = problem.start()
    old = model._start
    assert old is not None
    return _scores(problem, model, old, theta), _noise(problem, model, old, params)


def _scores(problem: Problem, model: RankingModel, old: RankingModel, theta: FloatArray) -> FloatArray:
    if isinstance(problem.scorer, ObjectScorer):
        at = locate(old.items_, model.items_)
        known = at >= 0
        scores = old.scores_[at]
        return np.where(known, scores - (scores[known].mean() if known.any() else 0.0), 0.0)
    if isinstance(problem.scorer, LinearScorer):
        return _weights(model, old, theta)
    if isinstance(problem.scorer, SumScorer):
        weights, effects = problem.scorer.split(theta)
        if old.feature_scores_ is not None:
            at = locate(old.items_, model.items_)
            effects = np.where(at >= 0, (old.scores_ - old.feature_scores_)[at], effects)
        return np.concatenate([_weights(model, old, weights), effects])
    return theta


def _weights(model: RankingModel, old: RankingModel, theta: FloatArray) -> FloatArray:
    new, known_features = model._features, old._features
    # Through a kernel there are other weights, of other landmarks.
    same = new is not None and known_features is not None and new.names == known_features.names
    if not same or old.coef_ is None or getattr(model, "scorer_", "linear").startswith("kernel"):
        return theta
    assert new is not None
    return old.coef_ * new.scale


def _noise(problem: Problem, model: RankingModel, old: RankingModel, params: FloatArray) -> FloatArray:
    at = locate(old._annotators, model._annotators)
    known = at >= 0
    flips = logit(np.clip(old._overall_flip()[at], _SURE, 1 - _SURE))
    if type(problem.noise) is Flip and len(params) == len(known):
        return np.where(known, flips, params)
    bias = getattr(old, "bias_", None)
    if isinstance(problem.noise, TwoCoin) and bias is not None:
        flip, lean = params.reshape(2, -1)
        wrong_left, wrong_right = (logit(np.clip(side, _SURE, 1 - _SURE)) for side in old.side_flip_[at].T)
        return np.concatenate(
            [np.where(known, (wrong_left + wrong_right) / 2, flip), np.where(known, bias[at], lean)]
        )
    return params
