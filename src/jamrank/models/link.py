"""From differences of scores to probabilities, for models that have no probabilities of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["fit_link"]

Doubles = NDArray[np.float64]

# Two imagined votes on the typical margin, one for either side: the slope stays finite where every vote agrees.
_IMAGINED = 1.0
_STEPS = 100
_CLOSE = 1e-12


def fit_link(margins: Doubles, wins: Doubles, votes: Doubles) -> float:
    """Fit the slope ``a`` of P(first beats second) = sigmoid(a · margin) by maximum likelihood.

    Parameters
    ----------
    margins : ndarray
        Score of the first item less that of the second, for each pair.
    wins : ndarray
        Votes for the first item, by weight.
    votes : ndarray
        All decided votes on the pair, by weight.

    Returns
    -------
    float
        The slope; 0 where no margin differs from 0. One vote for each side is imagined on the typical margin, so
        that the slope is finite where all votes agree with the scores.
    """
    total = float(votes.sum())
    scale = float(np.sqrt((votes * margins**2).sum() / total)) if total > 0 else 0.0
    if not scale > 0:
        return 0.0
    x = np.append(margins / scale, 1.0)
    won, cast = np.append(wins, _IMAGINED), np.append(votes, 2 * _IMAGINED)
    slope = 0.0
    for _ in range(_STEPS):
        p = expit(slope * x)
        step = float((x * (won - cast * p)).sum() / (cast * x**2 * np.maximum(p * (1 - p), 1e-12)).sum())
        # The likelihood is concave; a step that is held back cannot overshoot for ever.
        step = float(np.clip(step, -1.0, 1.0))
        slope += step
        if abs(step) <= _CLOSE * (1.0 + abs(slope)):
            break
    return slope / scale
