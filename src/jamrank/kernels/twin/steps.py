"""Numpy twin of what finds the direction of a step."""

from __future__ import annotations

import numpy as np

from jamrank.typing import FloatArray


def lbfgs_direction(
    steps: list[FloatArray],
    gradient_drops: list[FloatArray],
    em_drops: list[FloatArray],
    gradient: FloatArray,
    direction: FloatArray,
) -> None:
    """Turn the EM step, which ``direction`` is at first, into the L-BFGS step.

    steps, gradient_drops, em_drops: The latest steps, oldest first, and how far gradient and EM step fell in each.
    """
    shares, curvatures = [], [float(np.einsum("i,i->", *pair)) for pair in zip(steps, gradient_drops, strict=True)]
    for step, drop, em_drop, curvature in reversed(
        list(zip(steps, gradient_drops, em_drops, curvatures, strict=True))
    ):
        share = float(np.einsum("i,i->", step, gradient)) / curvature
        gradient = gradient - share * drop
        direction -= share * em_drop
        shares.append(share)
    for step, drop, share, curvature in zip(steps, gradient_drops, reversed(shares), curvatures, strict=True):
        direction += (share - float(np.einsum("i,i->", drop, direction)) / curvature) * step
