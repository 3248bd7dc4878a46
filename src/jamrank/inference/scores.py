"""The scores of a result, and how items without votes are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.ids import as_column, as_objects, encode, locate
from jamrank.errors import FeatureError, UnknownItemError
from jamrank.scorers import Features, KernelMap, align_features
from jamrank.typing import FloatArray

# Scores closer than this differ only by rounding.
SAME_SCORE = 1e-9


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores by item, and their parts.

    items: The ids.
    scores: One an item.
    model: Name of the model, for messages.
    slope: Log-odds for one unit of score; 1 where scores are log-odds.
    feature_scores, coef: The part that features explain, and the weight of each in the user's units.
    features: How features are standardised.
    kernel, kernel_weights: The kernel map of the features and its weights.
    score_variance, weight_variance: Prior variances, given or estimated.
    scorer: Name of the scorer that was used.
    """

    items: NDArray[Any]
    scores: FloatArray
    model: str
    slope: float = 1.0
    feature_scores: FloatArray | None = None
    coef: FloatArray | None = None
    features: Features | None = None
    kernel: KernelMap | None = None
    kernel_weights: FloatArray | None = None
    score_variance: float | None = None
    weight_variance: float | None = None
    scorer: str | None = None

    def log_odds(self, wanted: NDArray[Any], features: Any = None) -> FloatArray:
        """Return the score of some items in log-odds; those without votes are scored through their features."""
        at = locate(self.items, wanted)
        scores = np.where(at >= 0, self.scores[at], np.nan)
        unseen = at < 0
        if unseen.any():
            scores[unseen] = self.of_unseen(wanted[unseen], features)
        return np.asarray(self.slope * scores)

    def of_unseen(self, items: NDArray[Any], features: Any) -> FloatArray:
        """Return the scores of items without votes from their features."""
        if self.features is None:
            raise UnknownItemError(
                f"item {items[0]!s} has no votes, and {self.model} was fitted without features to score it by"
            )
        if features is None:
            raise UnknownItemError(f"item {items[0]!s} has no votes; give its features")
        if not isinstance(features, dict) and not hasattr(features, "columns"):
            raise FeatureError("features of unseen items as a bare array", "give a frame or a mapping by item")
        distinct, (codes,) = encode(as_column(items.tolist()))
        matrix, _ = align_features(features, distinct, self.features.names)
        return self._explained(matrix)[codes]

    def _explained(self, matrix: FloatArray) -> FloatArray:
        assert self.features is not None
        if self.kernel is not None:
            assert self.kernel_weights is not None
            mapped = self.kernel(self.features.standardise(matrix))
            return np.asarray(np.einsum("if,f->i", mapped, self.kernel_weights))
        assert self.coef is not None
        filled = np.where(np.isnan(matrix), self.features.mean, matrix)
        scores: FloatArray = ((filled - self.features.mean) * self.coef).sum(axis=1)
        return scores


def as_ids(values: Any) -> NDArray[Any]:
    """Return ids, one or several, as an array."""
    scalar = isinstance(values, (str, bytes)) or not hasattr(values, "__len__")
    return as_objects(as_column([values] if scalar else values))
