"""A sum of two scorers: a score from features, and a free effect of each item."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from jamrank.scorers.linear import LinearScorer
from jamrank.scorers.objects import ObjectScorer
from jamrank.typing import FloatArray


class SumScorer:
    """Scores are ``X w + u``: the parameters are those of both parts, one after the other.

    Parameters
    ----------
    features : LinearScorer
        The score from features, directly or through a kernel.
    objects : ObjectScorer
        The effects of the items, which need a prior; without one they would explain everything.
    """

    free: ClassVar[bool] = False
    level_matters: ClassVar[bool] = False

    def __init__(self, features: LinearScorer, objects: ObjectScorer) -> None:
        self.features, self.objects = features, objects
        self.n_params = features.n_params + objects.n_params
        self.precision = np.concatenate([features.precision, objects.precision])

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of each part."""
        return theta[: self.features.n_params], theta[self.features.n_params :]

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the sum of the scores of both parts."""
        weights, effects = self.split(theta)
        return self.features.scores(weights) + self.objects.scores(effects)

    def forward(self, direction: FloatArray) -> FloatArray:
        """Return the change of every item's score, through both parts."""
        weights, effects = self.split(direction)
        return self.features.forward(weights) + self.objects.forward(effects)

    def clip_step(self, step: FloatArray, longest: float) -> FloatArray:
        """Return a step of which each part changes no score by more than half of ``longest``."""
        weights, effects = self.split(step)
        return np.concatenate(
            [self.features.clip_step(weights, longest / 2), self.objects.clip_step(effects, longest / 2)]
        )

    def adjoint(self, per_item: FloatArray) -> FloatArray:
        """Return the transpose of :meth:`forward` times a vector over items."""
        return np.concatenate([self.features.adjoint(per_item), self.objects.adjoint(per_item)])

    def blocks(self) -> list[slice]:
        """Return the weights, and the effects."""
        split = self.features.n_params
        return [slice(0, split), slice(split, self.n_params)]

    def design(self) -> FloatArray:
        """Return the features."""
        return self.features.matrix

    def effects(self) -> tuple[FloatArray, slice]:
        """Return the precision of the effects, and their indices after the weights."""
        return self.objects.precision, slice(self.features.n_params, self.n_params)

    def warm_start(
        self, theta: FloatArray, scores: FloatArray, feature_scores: FloatArray | None, weights: FloatArray | None
    ) -> FloatArray:
        """Return the earlier weights, and the part of the earlier scores that features did not explain."""
        own, effects = self.split(theta)
        if feature_scores is not None:
            effects = np.where(np.isfinite(scores), scores - feature_scores, effects)
        return np.concatenate([self.features.warm_start(own, scores, feature_scores, weights), effects])

    def preconditioner(self, degree: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the inverse curvature of comparisons that spread evenly over the items, by eliminating the effects.

        What remains for the weights is again the curvature of evenly spread comparisons, with the degree ``d t / (d +
        t)`` for degree ``d`` and prior precision ``t`` of an item.
        """
        held = self.objects.precision
        both = degree + held
        series = np.divide(degree * held, both, out=np.zeros_like(both), where=both > 0)
        of_weights, of_effects = self.features.preconditioner(series), self.objects.preconditioner(degree)

        def solve(vector: FloatArray) -> FloatArray:
            weights, effects = self.split(vector)
            alone = of_effects(effects)
            weights = of_weights(weights - self.features.adjoint(effects - held * alone))
            pushed = self.features.forward(weights)
            return np.concatenate([weights, alone - (pushed - of_effects(held * pushed))])

        return solve
