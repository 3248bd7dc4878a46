"""Top-two Thompson sampling: two items that could each be the best."""

from __future__ import annotations

import numpy as np

from jamrank.acquisition.view import Proposals, View

_DRAWS = 64


def top_two(view: View) -> Proposals:
    """Value the pairs of items that are the best of draws from the posterior (one of the top k where k is given)."""
    scores, rng = view.belief.scores, view.rng
    noise = rng.standard_normal((_DRAWS, len(scores.mean)))
    if scores.dense:
        values, vectors = np.linalg.eigh(scores.covariance)
        noise = noise @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    else:
        noise = noise * np.sqrt(scores.variance)
    k = min(view.goal.k, len(scores.mean) - 1)
    # The last of the top in each draw: where k is 1, the best.
    best = np.argsort(-(scores.mean + noise), axis=1)[:, rng.integers(0, k, _DRAWS) if k > 1 else 0]
    best = np.diagonal(best) if best.ndim == 2 else best
    first = best[0]
    others = best[best != first]
    second = others[0] if len(others) else _runner_up(scores.mean, int(first))
    low, high = min(first, second), max(first, second)
    value = ((view.first == low) & (view.second == high)).astype(np.float64)
    sharp = 1 - 2 * np.minimum(view.belief.reliability.flip[view.annotators], 0.499)
    return Proposals(
        np.arange(len(value)), value * (sharp / view.cost)[:, None], "both were best in draws from the posterior"
    )


def _runner_up(mean: np.ndarray, first: int) -> int:
    rest = mean.copy()
    rest[first] = -np.inf
    return int(rest.argmax())
