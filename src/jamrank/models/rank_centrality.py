"""Rank Centrality: the stationary distribution of a walk from losers to winners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from jamrank.linalg.laplacian import potentials, solve_singular
from jamrank.models.closed_form import ClosedForm, require_smoothing
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray

_MOST_ROUNDS = 30
_SETTLED, _NEARLY = 1e-12, 1e-8
# Largest factor by which a probability changes in one round.
_SMALLEST = 1e-9


@dataclass(kw_only=True, repr=False, eq=False)
class RankCentrality(ClosedForm):
    """The log stationary probability of each item in a random walk from losers to winners.

    From an item the walk moves to each opponent with a probability proportional to the share of votes that the
    opponent won against it. If the shares follow a Bradley–Terry model, the scores are its scores. After Negahban, Oh
    and Shah, *Rank centrality: ranking from pairwise comparisons*, 2017.

    Parameters
    ----------
    smoothing : float
        Pseudo-votes for each side of every compared pair: (wins + smoothing) / (votes + 2 smoothing) is the share.
        With it, scores are finite even if items only win or only lose.

    Attributes
    ----------
    scores_ : ndarray
        Log of the stationary probability within each connected component, minus its mean there; 0 for an item without
        votes.
    slope_, posterior_, flip_
        As in :class:`HodgeRank`.
    """

    smoothing: float = 0.5

    def _score(self, counts: PairCounts) -> tuple[FloatArray, bool, dict[str, Any]]:
        require_smoothing(self.smoothing)
        votes = counts.votes + 2 * self.smoothing
        shares = (counts.wins + self.smoothing) / votes, (counts.losses + self.smoothing) / votes
        return *log_stationary(counts, *shares), {}


def log_stationary(counts: PairCounts, to_first: FloatArray, to_second: FloatArray) -> tuple[FloatArray, bool]:
    """Return the logarithm of the stationary distribution of a walk, with mean 0 in each component.

    Probabilities may differ by more orders of magnitude than a float64 has. So they are never formed: from
    approximate scores ``s`` (exact if the walk is reversible), the system for ``exp(-s)`` times the distribution is
    solved and its logarithm added to ``s``, until convergence.

    tally: The pairs.
    to_first, to_second: Transition rates from the second item of each pair to the first, and back; above 0.
    Returns scores, settled.
    """
    leaving = counts.by_item(to_second, to_first)
    scores, _ = potentials(counts, np.log(to_first / to_second), to_first * to_second)
    moved = np.inf
    for _ in range(_MOST_ROUNDS):
        arriving, surplus = _arriving(counts, scores, to_first, to_second, leaving)
        matrix = csr_array(diags_array((leaving > 0).astype(np.float64)) - arriving)
        ratio = 1 + solve_singular(matrix, surplus, counts.component, symmetric=False)[0]
        step = counts.centred(np.log(np.clip(np.nan_to_num(ratio, nan=1.0), _SMALLEST, 1 / _SMALLEST)))
        before, moved = moved, float(np.abs(step).max(initial=0.0))
        if before <= moved <= _NEARLY:
            break
        scores = counts.centred(scores + step)
        if moved <= _SETTLED:
            break
    return scores, bool(
        np.abs(_arriving(counts, scores, to_first, to_second, leaving)[1]).max(initial=0.0) <= _NEARLY
    )


def _arriving(
    counts: PairCounts, scores: FloatArray, to_first: FloatArray, to_second: FloatArray, leaving: FloatArray
) -> tuple[csr_array, FloatArray]:
    """Return what arrives at each item from each other, for one that leaves it, and how far the sum is from 1."""
    gap = scores[counts.first] - scores[counts.second]
    at_first = to_first * np.exp(-gap) / leaving[counts.first]
    at_second = to_second * np.exp(gap) / leaving[counts.second]
    rows, columns = np.concatenate([counts.first, counts.second]), np.concatenate([counts.second, counts.first])
    values = np.concatenate([at_first, at_second])
    surplus = np.where(leaving > 0, counts.by_item(at_first, at_second) - 1, 0.0)
    return coo_array((values, (rows, columns)), (counts.n_items,) * 2).tocsr(), surplus
