"""Gradient contributions of each annotator's votes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from jamrank.engines import MemoryEngine
from jamrank.rows import Patterns
from jamrank.typing import FloatArray


def pulls(engine: MemoryEngine, scores: FloatArray, log_emission: FloatArray, flip: FloatArray) -> FloatArray:
    """Return the contribution of each confusion group's votes to the gradient of the log-likelihood.

    engine: Its rows have the annotator of each vote.
    scores: One an item.
    tables, of shape (coins, 2, 2): Log-likelihood of a vote by confusion group, side and truth.
    flip: Of each confusion group; empty if flips are not fitted.
    Returns, of shape (coins, items + flips): Derivative in the scores and in the logits of the flips.
    """
    rows, n_confusion_groups = engine.rows, engine.n_confusion_groups
    votes = _by_row(engine)
    lean = (votes[:, 0::2] - votes[:, 1::2]).tocsr()
    q, margin = engine.posterior(scores, log_emission), scores[rows.first] - scores[rows.second]
    own = rows.weight if len(rows.weight) else np.ones(len(rows))
    # Log-likelihood ratio for the first item, by row and confusion group.
    there = abs(votes[:, 0::2]) + abs(votes[:, 1::2])
    row, confusion_group = there.tocoo().row, there.tocoo().col
    if rows.single_votes:
        without = expit(margin)[row]
    else:
        says = np.asarray(
            (votes @ _spread_out(log_emission[..., 1] - log_emission[..., 0])).tocsr()[row, confusion_group]
        ).ravel()
        with np.errstate(divide="ignore"):
            without = expit(np.log(q[row]) - np.log1p(-q[row]) - says)
    change = csr_array((own[row] * (q[row] - without), (confusion_group, row)), shape=(n_confusion_groups, len(rows)))
    at = np.arange(len(rows))
    sides = csr_array((np.ones(len(rows)), (at, rows.first)), shape=(len(rows), rows.n_items))
    sides = sides - csr_array((np.ones(len(rows)), (at, rows.second)), shape=(len(rows), rows.n_items))
    by_score = (change @ sides).toarray()
    if not len(flip):
        return np.asarray(by_score)
    by_flip = (change @ lean).toarray()
    wrong = votes[:, 0::2].T @ (own * q) + votes[:, 1::2].T @ (own * (1 - q))
    by_flip[np.diag_indices(n_confusion_groups)] = wrong - flip * (there.T @ own)
    return np.concatenate([by_score, by_flip], axis=1)


def _by_row(engine: MemoryEngine) -> csr_array:
    """Return the weight of the votes by row and kind."""
    ballots = engine.rows.ballots
    votes = ballots.matrix(slice(0, len(engine.rows)))
    return (votes[ballots.of_row.astype(np.int64)] if isinstance(ballots, Patterns) else votes).tocsr()


def _spread_out(by_coin: FloatArray) -> csr_array:
    """Return values by confusion group and side as a matrix of kinds by groups."""
    n_confusion_groups = len(by_coin)
    return csr_array(
        (by_coin.ravel(), (np.arange(2 * n_confusion_groups), np.repeat(np.arange(n_confusion_groups), 2)))
    )
