"""Small tournaments written as matrices of wins."""

from __future__ import annotations

import numpy as np

import jamrank as jr


def votes_of(wins: np.ndarray, items: list | None = None) -> jr.Comparisons:
    """Return votes of which item i won ``wins[i, j]`` against item j."""
    i, j = np.nonzero(wins)
    names = np.array(range(len(wins)) if items is None else items)
    return jr.Comparisons.from_arrays(names[i], names[j], np.full(len(i), "k"), np.ones(len(i)), weight=wins[i, j])


def random_wins(seed: int, n: int, most: int = 6, share: float = 0.6) -> np.ndarray:
    """Draw wins between some of the pairs, on a ring at least; halves are ties."""
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, most, (n, n)) / 2
    kept = np.triu(rng.random((n, n)) < share, 1)
    wins *= kept | kept.T
    wins[np.arange(n), (np.arange(n) + 1) % n] += 0.5
    np.fill_diagonal(wins, 0)
    return wins


def bradley_terry(seed: int, n: int, votes: int, spread: float = 1.0) -> tuple[np.ndarray, jr.Comparisons]:
    """Draw scores, and votes on every pair from them."""
    rng = np.random.default_rng(seed)
    scores = spread * rng.standard_normal(n)
    p = 1 / (1 + np.exp(scores[None] - scores[:, None]))
    wins = np.triu(rng.binomial(votes, p), 1)
    return scores - scores.mean(), votes_of(wins + np.tril((votes - wins).T * np.tri(n, n, -1)).astype(float))
