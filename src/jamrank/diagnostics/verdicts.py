"""What to think of an annotator, from the flip and how surely it is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["flip_intervals", "verdicts"]

Doubles = NDArray[np.float64]

# A flip up to here still makes a vote worth most of a perfect one.
_RELIABLE = 0.25
# An interval wider than this says nothing about whom to trust.
_TOO_WIDE = 0.4
_NORMAL_95 = 1.959963984540054


def flip_intervals(flip: Doubles, information: Doubles) -> tuple[Doubles, Doubles]:
    """Return 95 % intervals of the flips, normal on the logit scale.

    Parameters
    ----------
    flip : ndarray
        Estimates.
    information : ndarray
        Information on each flip's logit; where it is not positive nothing is known.
    """
    centre = logit(np.clip(flip, 1e-9, 1 - 1e-9))
    reach = _NORMAL_95 / np.sqrt(np.maximum(information, 1e-6))
    return np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))


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
