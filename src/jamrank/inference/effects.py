"""Effects on binary outcomes: logistic regression with clustered errors, and intervals of shares."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from jamrank.typing import FloatArray, IntArray

_Z = 1.959963984540054
# A weak normal prior keeps coefficients finite where the outcomes are separated.
_PRIOR_PRECISION = 0.01


def logistic_effects(design: FloatArray, outcome: FloatArray, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
    """Fit a logistic regression by Newton's method.

    design: Observations by columns.
    outcome: 0 or 1.
    cluster: Observations with the same number may be dependent.
    Returns: Coefficients, and their standard errors by the clustered sandwich; infinite where a column is confounded.
    """
    n_columns = design.shape[1]
    prior = _PRIOR_PRECISION * np.eye(n_columns)
    effect = np.zeros(n_columns)
    for _ in range(100):
        p = expit(design @ effect)
        slope = design.T @ (outcome - p) - prior @ effect
        bread = (design * (p * (1 - p))[:, None]).T @ design + prior
        step = np.linalg.solve(bread, slope)
        effect = effect + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if float(np.abs(step).max()) < 1e-10:
            break
    p = expit(design @ effect)
    bread = (design * (p * (1 - p))[:, None]).T @ design + prior
    if np.linalg.cond(bread) > 1e10:
        return effect, np.full(n_columns, np.inf)
    scores = np.zeros((int(cluster.max()) + 1, n_columns))
    np.add.at(scores, cluster, design * (outcome - p)[:, None])
    inverse = np.linalg.inv(bread)
    n_clusters = len(np.unique(cluster))
    small = n_clusters / max(n_clusters - 1, 1)
    covariance = small * inverse @ (scores.T @ scores) @ inverse
    return effect, np.sqrt(np.maximum(np.diag(covariance), 0.0))


def wilson(successes: float, trials: int) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a share by Wilson's score method; None without trials."""
    if not trials:
        return None, None
    share, z2 = successes / trials, _Z * _Z
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(centre - half, 0.0), min(centre + half, 1.0)
