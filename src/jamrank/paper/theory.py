"""Theoretical accuracy with independent flips: majority vote, and the best rule given the flips."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jamrank.typing import FloatArray


def majority_accuracy(flips: ArrayLike) -> float:
    """Return how often the majority is right, ties broken at random.

    Parameters
    ----------
    flips : array-like
        Chance of each annotator to report the opposite of the truth.

    Returns
    -------
    float
    """
    right = np.ones(1)  # distribution of the number of right votes
    for flip in np.asarray(flips, dtype=np.float64):
        right = np.convolve(right, [flip, 1 - flip])
    number = np.arange(len(right))
    return float(right[2 * number >= len(right)].sum() + 0.5 * right[2 * number == len(right) - 1].sum())


def best_rule_accuracy(flips: ArrayLike) -> float:
    """Return the accuracy of the best rule that knows every flip and uses only the votes on a pair.

    It takes the more probable truth for each pattern of votes; no rule that uses one pair at a time, without
    features, is better. (Votes on other pairs of the same items add information.)

    Parameters
    ----------
    flips : array-like
        Chance of each annotator to report the opposite of the truth.

    Returns
    -------
    float
    """
    first: FloatArray = np.ones(1)
    second: FloatArray = np.ones(1)
    for flip in np.asarray(flips, dtype=np.float64):
        first = np.concatenate([first * (1 - flip), first * flip])
        second = np.concatenate([second * flip, second * (1 - flip)])
    return float(0.5 * np.maximum(first, second).sum())
