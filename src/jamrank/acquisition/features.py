"""Features of the items in a collection, for the prior of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from jamrank.data.ids import as_array
from jamrank.errors import FeatureError
from jamrank.scorers import align_features
from jamrank.typing import FloatArray


class ItemFeatures:
    """A row of features for each item, by id.

    features: As in ``fit``; an array is in the order of ``items``.
    items: Ids of the current items; a frame or mapping may have further ones.
    """

    def __init__(self, features: Any, items: list[Any]) -> None:
        self._rows: dict[Any, FloatArray] = {}
        self.add(features, items)

    def add(self, features: Any, items: list[Any]) -> None:
        """Add features of further items."""
        matrix, _ = align_features(features, as_array(items))
        known = next(iter(self._rows.values()), matrix[0])
        if len(known) != matrix.shape[1]:
            raise FeatureError(f"{matrix.shape[1]} features for an item", f"expected {len(known)}, as for the others")
        self._rows.update(zip(items, matrix, strict=True))

    def of(self, items: list[Any]) -> dict[Any, FloatArray]:
        """Return the features of some items, as a model takes them."""
        missing = [name for name in items if name not in self._rows]
        if missing:
            raise FeatureError(f"no features for item {missing[0]!s}", "give them with add(items, features=…)")
        return {name: self._rows[name] for name in items}

    def standardised(self, items: list[Any]) -> FloatArray:
        """Return the features of some items with mean 0 and standard deviation 1; gaps and constants become 0."""
        matrix = np.stack(list(self.of(items).values()))
        centred = matrix - np.nanmean(matrix, axis=0)
        deviation = np.sqrt(np.nanmean(centred**2, axis=0))
        return np.asarray(np.nan_to_num(centred / np.where(deviation > 0, deviation, 1.0)))
