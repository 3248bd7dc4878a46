"""Features of the user, aligned with the items and standardised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.frames import open_frame
from jamrank.data.ids import as_array, encode, first_missing, is_missing, locate
from jamrank.errors import FeatureError, FeatureWarning, warn
from jamrank.typing import BoolArray, FloatArray, IntArray

# The squares of larger numbers, summed over items, are infinite.
_LARGEST = 1e140


@dataclass(frozen=True)
class Features:
    """The transformation of the user's features to standardised ones, and of weights back to the user's units.

    names: Names of the features.
    mean, scale: Over the items of the fit; ``scale`` is 0 for a feature that is constant there.
    """

    names: tuple[str, ...]
    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, names: Sequence[str]) -> Features:
        """Compute mean and scale of the features; warn of those that are constant or have gaps."""
        # Sorted columns: the last bit of a mean must not depend on the order of the items.
        ordered = np.sort(np.ascontiguousarray(matrix.T), axis=1)
        counts = (~np.isnan(ordered)).sum(axis=1)
        mean = np.array([_mean(own[:n]) for own, n in zip(ordered, counts, strict=True)])
        spread = zip(ordered, counts, mean, strict=True)
        scale = np.array([np.sqrt(_mean((own[:n] - centre) ** 2)) for own, n, centre in spread])
        scale[scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)] = 0.0
        _tell("constant over the items and left out", names, scale == 0)
        _tell("missing for some items, which get its mean", names, (counts < len(matrix)) & (scale > 0))
        if len(names) and not scale.any():
            raise FeatureError("every feature is constant over the items", "give features that differ between items")
        return cls(tuple(names), mean, scale)

    def standardise(self, matrix: FloatArray) -> FloatArray:
        """Return the features with mean 0 and standard deviation 1; gaps and constants become 0."""
        standardised = matrix - self.mean
        standardised /= np.where(self.scale > 0, self.scale, np.inf)
        standardised[np.isnan(standardised)] = 0.0
        return standardised

    def in_user_units(self, weights: FloatArray) -> FloatArray:
        """Return weights for one unit of each feature instead of one standard deviation."""
        return np.divide(weights, self.scale, out=np.zeros_like(weights), where=self.scale > 0)


def _mean(values: FloatArray) -> float:
    return float(values.sum() / len(values)) if len(values) else 0.0


def _tell(what: str, names: Sequence[str], which: BoolArray) -> None:
    if which.any():
        listed = ", ".join(name for name, chosen in zip(names, which, strict=True) if chosen)
        warn(f"feature {listed}: {what}", FeatureWarning)


def align_features(
    features: Any, items: NDArray[Any], expected: tuple[str, ...] | None = None
) -> tuple[FloatArray, list[str]]:
    """Return the features as a matrix with one row for each of ``items``, and their names.

    features: A frame with a column ``item`` (pandas: or item ids as index; otherwise the first column holds them), a
        mapping from item to values, or an array in the order of ``items``.
    items: The items wanted.
    expected: Names of the features of an earlier fit: a frame's columns are put in that order.
    """
    if isinstance(features, dict):
        ids, matrix, names = *_from_mapping(features), None
    elif hasattr(features, "columns"):
        ids, matrix, names = _from_frame(features)
    else:
        return _from_array(features, items, expected)
    if names is None and expected is not None and matrix.shape[1] != len(expected):
        raise FeatureError(
            f"{matrix.shape[1]} features for an item",
            f"the model was fitted with {len(expected)}: {', '.join(expected)}",
        )
    names = names or list(expected or (f"x{f}" for f in range(matrix.shape[1])))
    if expected is not None:
        matrix = _reorder(matrix, names, expected)
        names = list(expected)
    return _checked(matrix[_rows_of(items, ids)], names, items), names


def _from_mapping(features: dict[Any, Any]) -> tuple[NDArray[Any], FloatArray]:
    try:
        values = [np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in features.values()]
    except (TypeError, ValueError):
        raise FeatureError("features that are not numbers", "give each item a list of numbers") from None
    if len({value.shape for value in values}) != 1:
        raise FeatureError("items with different numbers of features, or none", "give each item the same features")
    return as_array(list(features)), np.stack(values)


def _from_array(features: Any, items: NDArray[Any], expected: tuple[str, ...] | None) -> tuple[FloatArray, list[str]]:
    try:
        matrix = np.array(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise FeatureError(
            "features that are not numbers", "give a frame or an array of numbers, one row per item"
        ) from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or len(matrix) != len(items):
        raise FeatureError(
            f"an array of features of shape {matrix.shape} for {len(items)} items",
            "expected one row per item, in the order of votes.items, or a frame indexed by item",
        )
    names = list(expected or (f"x{f}" for f in range(matrix.shape[1])))
    return _checked(matrix, names, items), names


def _from_frame(features: Any) -> tuple[NDArray[Any], FloatArray, list[str]]:
    if hasattr(features, "index") and not features.columns.is_unique:
        twice = features.columns[features.columns.duplicated()][0]
        raise FeatureError(f"two columns are called {twice!r}", "give each feature a different name")
    table = open_frame(features, FeatureError)
    if "item" in table.columns:
        key = "item"
    elif table.implementation.is_pandas():
        key = None
    else:
        key = table.columns[0]
    ids = as_array(features.index if key is None else table.get_column(key).to_native())
    names = [name for name in table.columns if name != key]
    if not names:
        raise FeatureError("no feature columns", "expected at least one beside the item ids")
    columns = [_numbers(name, table.get_column(name).to_native()) for name in names]
    return ids, np.stack(columns, axis=1), [str(name) for name in names]


def _numbers(name: str, column: Any) -> FloatArray:
    values = as_array(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    present = [np.nan if is_missing(value) else value for value in values.tolist()]
    if values.dtype.kind != "O" or not all(isinstance(value, (int, float, np.number, Decimal)) for value in present):
        raise FeatureError(
            f"feature {name!r} is not numeric", "encode it as numbers (one column per category) or leave it out"
        )
    return np.array(present, dtype=np.float64)


def _rows_of(items: NDArray[Any], ids: NDArray[Any]) -> IntArray:
    missing = first_missing(ids)
    if missing is not None:
        raise FeatureError("an item id is missing", "every row of the features needs one", row=missing + 1)
    labels, (codes,) = encode(ids)
    if len(labels) < len(ids):
        twice = labels[np.bincount(codes).argmax()]
        raise FeatureError(f"item {twice!s} has more than one row of features", "give each item one row")
    at = locate(ids, items)
    if (at < 0).any():
        unknown = items[at < 0]
        raise FeatureError(
            f"no features for {len(unknown)} of {len(items)} items, among them {unknown[0]!s}",
            "give features for every item in the votes",
        )
    return at


def _reorder(matrix: FloatArray, names: list[str], expected: tuple[str, ...]) -> FloatArray:
    missing = [name for name in expected if name not in names]
    if missing:
        raise FeatureError(f"no feature {missing[0]!r}", f"the model was fitted with {', '.join(expected)}")
    return matrix[:, [names.index(name) for name in expected]]


def _checked(matrix: FloatArray, names: list[str], items: NDArray[Any]) -> FloatArray:
    if len(names) != matrix.shape[1]:
        raise FeatureError(f"{matrix.shape[1]} features instead of {len(names)}", "give those of the fit")
    if (np.abs(matrix) > _LARGEST).any():
        row, column = np.argwhere(np.abs(matrix) > _LARGEST)[0]
        found = "infinite" if np.isinf(matrix[row, column]) else f"{matrix[row, column]:g}"
        raise FeatureError(
            f"feature {names[column]!r} of item {items[row]!s} is {found}",
            f"give a number of at most {_LARGEST:g}, in a larger unit if need be, or leave it empty",
        )
    return matrix
