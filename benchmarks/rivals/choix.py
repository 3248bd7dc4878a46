"""choix: Bradley–Terry by iterative Luce spectral ranking, on a list of (winner, loser) and on counts of wins."""

from __future__ import annotations

import numpy as np

from benchmarks.rivals.contender import Contender, Scores
from benchmarks.votes import Votes

ALPHA = 0.01


def prepare_list(votes: Votes) -> tuple[int, list[tuple[int, int]]]:
    import choix  # noqa: F401

    winners, losers = _sides(votes)
    return votes.n_items, list(zip(winners.tolist(), losers.tolist(), strict=True))


def fit_list(prepared: tuple[int, list[tuple[int, int]]]) -> Scores:
    import choix

    n_items, pairs = prepared
    return np.asarray(choix.ilsr_pairwise(n_items, pairs, alpha=ALPHA))


def prepare_counts(votes: Votes) -> np.ndarray:
    import choix  # noqa: F401

    winners, losers = _sides(votes)
    counts = np.bincount(winners * votes.n_items + losers, minlength=votes.n_items**2)
    return counts.reshape(votes.n_items, votes.n_items).astype(np.float64)


def fit_counts(prepared: np.ndarray) -> Scores:
    import choix

    return np.asarray(choix.ilsr_pairwise_dense(prepared, alpha=ALPHA))


def _sides(votes: Votes) -> tuple[np.ndarray, np.ndarray]:
    return np.where(votes.left_won, votes.left, votes.right), np.where(votes.left_won, votes.right, votes.left)


CONTENDERS = (
    Contender("choix ILSR", "choix", "choix", "no", prepare_list, fit_list),
    Contender("choix ILSR, dense", "choix", "choix", "no", prepare_counts, fit_counts),
)
