"""A slope, fitted to votes, that turns differences of scores into probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from jamrank.typing import FloatArray

_MOST_STEPS = 200
_CLOSE = 1e-14


def fit_link(margins: FloatArray, wins: FloatArray, votes: FloatArray) -> float:
    """Return the slope ``a`` with which ``P(first beats second) = sigmoid(a * margin)`` fits the votes best.

    It maximises the likelihood of the votes together with one pseudo-vote, a tie on a pair of typical margin (the
    root mean square over votes), which keeps it finite where the scores agree with every vote: N votes on one pair,
    all for the same item, have the probability (N + 1/2) / (N + 1). Margins in another unit give the same
    probabilities.

    margins: Score of the first item minus score of the second, for each pair.
    wins: Votes for the first item; a tie counts half.
    votes: All votes on the pair.
    Returns: At least 0: 0 if margins and votes are uncorrelated or contradict each other.
    """
    total = float(votes.sum())
    typical = float(np.sqrt(_sum(votes, margins, margins) / total)) if total > 0 else 0.0
    if not typical > 0:
        return 0.0
    margins = margins / typical
    slope = 0.0
    # With margins taken as positive, each term of the derivative is decreasing and convex for a >= 0. So Newton steps
    # from 0 rise to the maximum and never overshoot.
    for _ in range(_MOST_STEPS):
        p, tie = expit(slope * margins), float(expit(slope))
        gradient = _sum(margins, wins - votes * p) + 0.5 - tie
        curvature = _sum(votes * p * (1 - p), margins, margins) + tie * (1 - tie)
        step = gradient / curvature
        if step <= _CLOSE * max(slope, 1.0):
            break
        slope += step
    return slope / typical


def _sum(*factors: FloatArray) -> float:
    # Not BLAS, whose order of addition may change with its threads.
    return float(np.einsum(",".join("p" * len(factors)) + "->", *factors))
