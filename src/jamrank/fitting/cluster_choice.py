"""How many clusters of pairs: the number with which held-out votes are predicted best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
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
        self._pair, self._who = votes.vote_pair[counts], votes.vote_annotator[counts]
        self._for_first, self._weight = votes.vote_result[counts] == FIRST, votes.vote_weight[counts]
        self._flip, self._weak = np.clip(flip, _SURE, 1 - _SURE), weak
        known = np.clip(posterior[self._pair], _SURE, 1 - _SURE)
        self._wrong = np.where(self._for_first, 1 - known, known)
        evidence = np.where(self._for_first, -1.0, 1.0) * logit(self._flip)[self._who]
        self._truth = expit(logit(known) - self._weight * evidence)

    def losses(self, cluster: Int32Array, n_clusters: int) -> FloatArray:
        """Return the loss of each vote, in nats, with the cluster of each pair."""
        cell = self._who.astype(np.int64) * n_clusters + cluster[self._pair]
        size = len(self._flip) * n_clusters
        errors = np.bincount(cell, self._weight * self._wrong, size).astype(np.float64)
        votes = np.bincount(cell, self._weight, size).astype(np.float64)
        strength = choose_strength(errors.reshape(-1, n_clusters), votes.reshape(-1, n_clusters), self._flip)
        wrong, right = self._weak
        others = errors[cell] - self._weight * self._wrong
        pseudo = wrong + strength * self._flip[self._who]
        rate = (pseudo + others) / (wrong + right + strength + votes[cell] - self._weight)
        first = self._truth * (1 - rate) + (1 - self._truth) * rate
        chance = np.clip(np.where(self._for_first, first, 1 - first), _SURE, 1.0)
        return np.asarray(-np.log(chance))

    def clearly_better(self, losses: FloatArray, than: FloatArray) -> bool:
        """Return whether the mean loss is lower by more than two standard errors, and not by next to nothing."""
        share = self._weight / self._weight.sum()
        gain = than - losses
        mean = float((share * gain).sum())
        error = float(np.sqrt((share**2 * (gain - mean) ** 2).sum()))
        return round(mean - max(_CLEAR * error, _NOTHING), _DIGITS) > 0

    def mean(self, losses: FloatArray) -> float:
        """Return the mean loss of a vote."""
        return round(float((self._weight * losses).sum() / self._weight.sum()), _DIGITS)


def choose_number(most: int, clusters: Callable[[int], tuple[Int32Array, int]], held_out: HeldOutVotes) -> int:
    """Return the smallest number of clusters that the best does not clearly beat on held-out votes.

    most: Largest number.
    clusters: Returns the cluster of each pair for a number, and how many there are.
    """
    tried: dict[int, FloatArray] = {}
    for number in (*(n for n in NUMBERS if n < most), most):
        cluster, found = clusters(number)
        if found < number:  # no more different pairs
            break
        tried[number] = held_out.losses(cluster, found)
    best = min(tried, key=lambda number: held_out.mean(tried[number]))
    return next(n for n in tried if n == best or not held_out.clearly_better(tried[best], tried[n]))
