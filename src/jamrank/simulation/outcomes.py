"""What votes say beside who won: grades, and probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from jamrank.errors import ParameterError
from jamrank.typing import BoolArray, FloatArray, IntArray


def draw_grades(
    thresholds: ArrayLike, margin: FloatArray, says_left: BoolArray, who: IntArray, n: int, rng: np.random.Generator
) -> IntArray:
    """Draw how clearly each vote is for its winner: it goes on with log-odds of the winner's margin - threshold.

    ``thresholds`` are those of all annotators, or a row for each.
    """
    given = np.asarray(thresholds, dtype=np.float64)
    if given.ndim == 0 or given.ndim > 2 or not given.size or (given.ndim == 2 and len(given) != n):
        raise ParameterError(f"grades has shape {given.shape}; expected thresholds, or one row per annotator")
    each = np.broadcast_to(given, (n, given.shape[-1]))
    seen = np.where(says_left, margin, -margin)
    on = rng.random((len(margin), each.shape[1])) < expit(seen[:, None] - each[who])
    return np.asarray(1 + np.cumprod(on, axis=1).sum(axis=1))


def draw_probabilities(
    margin: FloatArray, wrong: BoolArray, deviation: float, rng: np.random.Generator
) -> FloatArray:
    """Draw the probability that left is better, as a classifier gives it: log-odds with a normal error."""
    odds = np.where(wrong, -1.0, 1.0) * (margin + deviation * rng.standard_normal(len(margin)))
    p = np.round(expit(odds), 6)
    return np.asarray(np.where(p == 0.5, 0.500001, p))
