"""How much each annotator's votes pull at the fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from jamrank.engines import MemoryEngine
from jamrank.rows import Patterns

__all__ = ["pulls"]

Doubles = NDArray[np.float64]


def pulls(engine: MemoryEngine, scores: Doubles, tables: Doubles, flip: Doubles) -> Doubles:
    """Return how the gradient of the log-likelihood would change without each coin's votes, negated.

    Parameters
    ----------
    engine : MemoryEngine
        Its rows know who cast each vote.
    scores : ndarray
        One an item.
    tables : ndarray of shape (coins, 2, 2)
        Log-likelihood of a vote by coin, side and truth.
    flip : ndarray
        Of each coin; empty where flips are not fitted.

    Returns
    -------
    ndarray of shape (coins, items + flips)
        Derivative in the scores and in the logits of the flips.
    """
    rows, ballots = engine.rows, engine.rows.ballots
    votes = ballots.matrix(slice(0, len(rows)))
    by_row = (votes[ballots.of_row.astype(np.int64)] if isinstance(ballots, Patterns) else votes).tocoo()
    row, kind, weight = by_row.row, by_row.col, by_row.data
    coin, n_coins = kind // 2, rows.n_coins
    q = engine.posterior(scores, tables)
    own = rows.weight[row] if len(rows.weight) else np.ones(len(row))
    margin = scores[rows.first] - scores[rows.second]
    if rows.single_votes:
        without = expit(margin)[row]
    else:
        for_first, for_second = (tables[..., truth].ravel()[kind] * weight for truth in (1, 0))
        with np.errstate(divide="ignore"):
            without = expit(np.log(q[row]) - np.log1p(-q[row]) - (for_first - for_second))
    change = own * (q[row] - without)
    signed = (
        np.concatenate([change, -change]),
        (
            np.concatenate([coin, coin]),
            np.concatenate([rows.first[row], rows.second[row]]),
        ),
    )
    by_score = csr_array(signed, shape=(n_coins, rows.n_items)).toarray()
    if not len(flip):
        return np.asarray(by_score)
    lean = weight * np.where(kind % 2, -1.0, 1.0)
    of_row = csr_array((lean, (row, coin)), shape=(len(rows), n_coins))
    moved = csr_array((change, (coin, row)), shape=(n_coins, len(rows)))
    by_flip = (moved @ of_row).toarray()
    wrong = np.where(kind % 2, 1 - q[row], q[row])
    at = np.arange(n_coins)
    by_flip[at, at] += np.bincount(coin, own * weight * (wrong - flip[coin]) - change * lean, n_coins)
    return np.concatenate([by_score, by_flip], axis=1)
