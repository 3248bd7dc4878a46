"""How many clusters of pairs: the number with which held-out votes are predicted best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logit

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.kernels import default_threads, kernels
from jamrank.noise.clustered import choose_strength
from jamrank.typing import FloatArray, Int32Array

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_SURE = 1e-9
# Standard errors, and nats, by which more clusters have to be better. Rounded, so that rounding does not decide.
_CLEAR, _NOTHING, _DIGITS = 2.0, 1e-4, 9


class HeldOutVotes:
    """Each vote, predicted from all others by a flip for each annotator and cluster.

    Truths and overall flips are those of the fit without clusters; from the truth of a vote's pair its own evidence
    is taken away, and from the errors in its cell its own error.

    votes: The votes of the fit.
    posterior: P(the first item is better) for each pair.
    flip: Overall flip of each annotator.
    weak: Pseudo-votes of each annotator, wrong and right.
    """

    def __init__(
        self, votes: Comparisons, posterior: FloatArray, flip: FloatArray, weak: tuple[float, float]
    ) -> None:
        counts = decided(votes)
        kept = slice(None) if counts.all() else np.flatnonzero(counts)
        self._pair, self._who = votes.vote_pair[kept], votes.vote_annotator[kept]
        self._weight, for_first = votes.vote_weight[kept], votes.vote_result[kept] == FIRST
        self._share = self._weight / self._weight.sum()
        self._flip, self._weak = np.clip(flip, _SURE, 1 - _SURE), weak
        known = np.clip(posterior, _SURE, 1 - _SURE)
        odds = (known / (1 - known))[self._pair]
        odds = np.where(for_first, odds, 1 / odds)  # that the vote is right
        self._wrong = 1 / (1 + odds)
        own_evidence = np.exp(-self._weight * logit(self._flip)[self._who])
        self._right = 1 / (1 + own_evidence / odds)

    def losses(self, cluster: Int32Array, n_clusters: int) -> FloatArray:
        """Return the loss of each vote, in nats, with the cluster of each pair."""
        errors, votes = np.empty((2, len(self._flip), n_clusters))
        cell, losses = np.empty(len(self._pair), np.int32), np.empty(len(self._pair))
        known, cells = (self._weight, self._wrong), (errors.ravel(), votes.ravel())
        kernels.cell_errors(self._pair, self._who, *known, cluster, n_clusters, cell, *cells)
        strength = choose_strength(errors, votes, self._flip)
        wrong, right = self._weak
        errors += wrong + strength * self._flip[:, None]
        votes += wrong + right + strength
        kernels.cell_losses(cell, *known, self._right, *cells, losses, default_threads())
        return losses

    def clearly_better(self, losses: FloatArray, than: FloatArray) -> bool:
        """Return whether the mean loss is lower by more than two standard errors, and not by next to nothing."""
        gain = than - losses
        mean = float(np.einsum("v,v->", self._share, gain))
        gain -= mean
        gain *= self._share
        error = float(np.sqrt(np.einsum("v,v->", gain, gain)))
        return round(mean - max(_CLEAR * error, _NOTHING), _DIGITS) > 0

    def mean(self, losses: FloatArray) -> float:
        """Return the mean loss of a vote."""
        return round(float(np.einsum("v,v->", self._share, losses)), _DIGITS)


def choose_number(most: int, clusters: Callable[[int], tuple[Int32Array, int]], held_out: HeldOutVotes) -> int:
    """Return the smallest number of clusters that the best does not clearly beat on held-out votes.

    most: Largest number.
    clusters: Returns the cluster of each pair for a number, and how many there are.
    """
    tried, means = dict[int, tuple[Int32Array, int]](), dict[int, float]()
    for number in (*(n for n in NUMBERS if n < most), most):
        cluster, found = clusters(number)
        if found < number:  # no more different pairs
            break
        tried[number] = cluster, found
        means[number] = held_out.mean(held_out.losses(cluster, found))
    best = min(means, key=means.__getitem__)
    # The losses of all numbers would be many times the memory of the votes: those of few are needed again.
    least = held_out.losses(*tried[best])
    return next(n for n in tried if n == best or not held_out.clearly_better(least, held_out.losses(*tried[n])))
