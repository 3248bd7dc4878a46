"""Priors of annotators' parameters that are estimated from all annotators: mean and variance of a normal."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from jamrank.typing import FloatArray

# Pseudo-annotators keep the estimates from collapsing where there are few annotators.
_PSEUDO_ANNOTATORS = 2.0
# Lower bound on a variance.
_SMALLEST = 1e-3
# Longest step of a mean.
_LONGEST = 1.0


def pool(
    values: FloatArray,
    information: FloatArray,
    precision: FloatArray | float,
    present: float,
    expected: tuple[float, float],
) -> tuple[float, float]:
    """Return mean and variance of the annotators' parameters, given estimates that are shrunk by the present prior.

    The variance is MacKay's fixed point: the sum of squares over the effective degrees of freedom. The step of the
    mean is the one towards the plain mean, lengthened by what shrinking took off it.

    values: Of each annotator.
    information: Of the votes on each.
    precision, present: Precision and mean of the present prior.
    expected: Mean and variance of the pseudo-annotators.
    """
    n = _determined(information, precision) + _PSEUDO_ANNOTATORS
    pull = float((values - present).sum()) + _PSEUDO_ANNOTATORS * (expected[0] - present)
    mean = present + float(np.clip(pull / n, -_LONGEST, _LONGEST))
    return mean, pool_about(mean, values, information, precision, expected)


def pool_about(
    mean: float,
    values: FloatArray,
    information: FloatArray,
    precision: FloatArray | float,
    expected: tuple[float, float],
) -> float:
    """Return the variance about a given mean; see :func:`pool`."""
    of_pseudo = _PSEUDO_ANNOTATORS * (expected[1] + (expected[0] - mean) ** 2)
    squares = float(((values - mean) ** 2).sum()) + of_pseudo
    return max(squares / (_determined(information, precision) + _PSEUDO_ANNOTATORS), _SMALLEST)


def _determined(information: FloatArray, precision: FloatArray | float) -> float:
    """Return the effective degrees of freedom: how much of the values the votes determine, and not the prior."""
    return float((information / np.maximum(information + precision, 1e-300)).sum())


def pseudo_votes(mean: float, variance: float) -> tuple[float, float]:
    """Return the pseudo-votes, wrong and right, of a prior with this mean and variance of the flips' logits."""
    rate = float(expit(mean))
    votes = 1.0 / (variance * rate * (1.0 - rate))
    return votes * rate, votes * (1.0 - rate)
