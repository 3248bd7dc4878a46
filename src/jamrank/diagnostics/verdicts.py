"""What to think of an annotator, from the flip and how surely it is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["flip_intervals", "inner_flip", "verdicts"]

Doubles = NDArray[np.float64]

# A flip up to here still makes a vote worth most of a perfect one.
_RELIABLE = 0.25
# An interval wider than this says nothing about whom to trust.
_TOO_WIDE = 0.4
_NORMAL_95 = 1.959963984540054


def flip_intervals(flip: Doubles, information: Doubles, votes: Doubles) -> tuple[Doubles, Doubles]:
    """Return 95 % intervals of the flips, normal on the logit scale.

    Parameters
    ----------
    flip : ndarray
        Estimates.
    information : ndarray
        Information on each flip's logit; where it is not positive nothing is known.
    votes : ndarray
        Decided votes of each annotator: from none wrong in n follows a flip of about half a vote in n, not of 0.
    """
    centre = logit(inner_flip(flip, votes))
    reach = _NORMAL_95 / np.sqrt(np.maximum(information, 1e-6))
    low, high = np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))
    return np.minimum(low, flip), np.maximum(high, flip)


def inner_flip(flip: Doubles, votes: Doubles) -> Doubles:
    """Return the flips, those nearer to 0 or 1 than half a vote moved to there."""
    least = 0.5 / (votes + 1)
    return np.clip(flip, least, 1 - least)


def verdicts(flip: Doubles, low: Doubles, high: Doubles) -> list[str]:
    """Return one of reliable, noisy, random, adversarial and too few votes for each annotator."""
    return [_verdict(*values) for values in zip(flip.tolist(), low.tolist(), high.tolist(), strict=True)]


def _verdict(flip: float, low: float, high: float) -> str:
    if low > 0.5:
        return "adversarial"
    if not high - low <= _TOO_WIDE:
        return "too few votes"
    if high >= 0.5:
        return "random"
    return "reliable" if flip <= _RELIABLE else "noisy"
