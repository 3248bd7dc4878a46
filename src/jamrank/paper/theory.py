"""What theory says of annotators who flip independently: majority vote, and the best rule that knows the flips."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jamrank.typing import FloatArray

__all__ = ["best_rule_accuracy", "majority_accuracy"]


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
    """Return how often the best rule is right that knows every flip, and of a pair nothing but its own votes.

    For each pattern of votes it says what is the likelier truth; no rule that looks at one pair at a time, without
    features, can do better. (Votes on other pairs of the same items tell more.)

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
