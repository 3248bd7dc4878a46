"""How annotators treat sides and ties, beyond what the items explain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, MISSING, TIE, DenseVotes
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

# Votes per chunk: enough for numpy to be fast, few enough to need little memory.
_PIECE = 1 << 18
# For ties, pairs are comparable if the better item's win probability is in the same of these bins.
_CHANCES = np.array([0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9])
_COLUMNS = 9


@dataclass(frozen=True)
class VoteChunk:
    """Some votes one by one: pair, annotator, result from the pair's first item, side, weight."""

    pair: IntArray
    annotator: Int32Array
    result: NDArray[np.int8]
    swapped: BoolArray
    weight: FloatArray


def chunks(votes: Comparisons) -> Iterator[VoteChunk]:
    """Yield all votes in chunks of bounded size; the votes of a jury are never expanded as a whole."""
    if isinstance(votes.storage, DenseVotes):
        yield from _pieces_of_jury(votes.storage)
        return
    pair, swapped, weight = votes.vote_pair, votes.vote_swapped, votes.vote_weight
    for begin in range(0, len(pair), _PIECE):
        at = slice(begin, begin + _PIECE)
        yield VoteChunk(pair[at], votes.vote_annotator[at], votes.vote_result[at], swapped[at], weight[at])


def _pieces_of_jury(jury: DenseVotes) -> Iterator[VoteChunk]:
    n_pairs, n_annotators = jury.results.shape
    for begin in range(0, n_pairs, _PIECE):
        part = jury.results[begin : begin + _PIECE]
        side = jury.swapped[begin : begin + _PIECE] if len(jury.swapped) else np.zeros(len(part), dtype=bool)
        for k in range(n_annotators):
            voted = np.flatnonzero(part[:, k] != MISSING)
            who = np.full(len(voted), k, dtype=np.int32)
            yield VoteChunk(begin + voted, who, part[voted, k], side[voted], np.ones(len(voted)))


@dataclass(frozen=True)
class ResponseBias:
    """Sums over each annotator's votes.

    Parameters
    ----------
    sums : ndarray of shape (annotators, 9) or (annotators, 10)
        The columns that the properties name, in their order.
    """

    sums: FloatArray

    @property
    def decided(self) -> FloatArray:
        """Decided votes."""
        return self.sums[:, 0]

    @property
    def left(self) -> FloatArray:
        """Decided votes for the item on the left."""
        return self.sums[:, 1]

    @property
    def expected_left(self) -> FloatArray:
        """Expected number, given the items and the annotator's flip."""
        return self.sums[:, 2]

    @property
    def left_variance(self) -> FloatArray:
        """Variance of that number."""
        return self.sums[:, 3]

    @property
    def votes(self) -> FloatArray:
        """Votes, ties included."""
        return self.sums[:, 4]

    @property
    def ties(self) -> FloatArray:
        """Tie votes."""
        return self.sums[:, 5]

    @property
    def expected_ties(self) -> FloatArray:
        """Expected number, given the ties of others on comparable pairs."""
        return self.sums[:, 6]

    @property
    def tie_variance(self) -> FloatArray:
        """Variance of that number."""
        return self.sums[:, 7]

    @property
    def checked(self) -> FloatArray:
        """Decided votes between items on both of which another annotator voted too."""
        # Model files of earlier versions have no such column.
        return self.sums[:, 8] if self.sums.shape[1] > 8 else self.decided

    @property
    def both_ways(self) -> FloatArray:
        """Decided votes on pairs shown as often in the other order, of those who prefer a side; 0 of others."""
        return self.sums[:, 9] if self.sums.shape[1] > 9 else np.zeros(len(self.sums))


def habits(
    votes: Comparisons, chance: FloatArray | None, truth: Callable[[VoteChunk], FloatArray], flip: FloatArray
) -> ResponseBias:
    """Sum each annotator's votes by side and ties, and their expected numbers.

    Parameters
    ----------
    votes : Comparisons
        The votes.
    chance : ndarray or None
        For each pair, the probability by the scores that its first item is better: pairs with similar probabilities
        are comparable. None if there are no ties to compare.
    truth : callable
        Returns, for each vote of a chunk, the probability that the first item is better, without using that vote.
    flip : ndarray
        Of each annotator.
    """
    n = votes.n_annotators
    sums = np.zeros((n, _COLUMNS))
    n_bins = len(_CHANCES) + 1
    bins = None if chance is None else np.searchsorted(_CHANCES, np.maximum(chance, 1 - chance))
    vote_counts, tied = np.zeros(n * n_bins), np.zeros(n * n_bins)
    for chunk in chunks(votes):
        tie = chunk.result == TIE
        sums[:, :4] += _sides(chunk, ~tie, truth, flip, n)
        if bins is not None:
            cell = chunk.annotator * n_bins + bins[chunk.pair]
            vote_counts += np.bincount(cell, chunk.weight, n * n_bins)
            tied += np.bincount(cell[tie], chunk.weight[tie], n * n_bins)
    sums[:, 4] = votes.annotator_weight
    if bins is not None:
        sums[:, 5:8] = _ties(vote_counts.reshape(n, n_bins), tied.reshape(n, n_bins))
    sums[:, 8] = _checked(votes, sums[:, 0])
    return ResponseBias(sums)


def _checked(votes: Comparisons, decided: FloatArray) -> FloatArray:
    """Return the decided votes of each annotator between items that others voted on too."""
    n = votes.n_annotators
    somebody, common = np.full(votes.n_items, -1), np.zeros(votes.n_items, dtype=np.bool_)
    for chunk in chunks(votes):
        counted = (chunk.result != TIE) & (chunk.weight > 0)
        pair, who = chunk.pair[counted], chunk.annotator[counted]
        for item in (votes.pair_first[pair], votes.pair_second[pair]):
            unseen = somebody[item] < 0
            somebody[item[unseen]] = who[unseen]
            common[item[somebody[item] != who]] = True
        if common.all():
            return decided
    checked = np.zeros(n)
    for chunk in chunks(votes):
        both = common[votes.pair_first[chunk.pair]] & common[votes.pair_second[chunk.pair]] & (chunk.result != TIE)
        checked += np.bincount(chunk.annotator[both], chunk.weight[both], n)
    return checked


def shown_both_ways(votes: Comparisons, whose: BoolArray) -> FloatArray:
    """Return the decided votes of some annotators on pairs that were shown to them as often in the other order."""
    found = np.zeros(votes.n_annotators)
    if not whose.any():
        return found
    keys, turned = [np.empty(0, np.int64)], [np.empty(0)]
    for chunk in chunks(votes):
        taken = whose[chunk.annotator] & (chunk.result != TIE)
        keys.append(chunk.annotator[taken].astype(np.int64) * votes.n_pairs + chunk.pair[taken])
        turned.append(np.where(chunk.swapped, -1.0, 1.0)[taken] * chunk.weight[taken])
    places, at = np.unique(np.concatenate(keys), return_inverse=True)
    weight = np.concatenate(turned)
    matched = np.bincount(at, np.abs(weight), len(places)) - np.abs(np.bincount(at, weight, len(places)))
    return np.bincount(places // votes.n_pairs, matched, votes.n_annotators).astype(np.float64)


def _sides(
    chunk: VoteChunk, decided: BoolArray, truth: Callable[[VoteChunk], FloatArray], flip: FloatArray, n: int
) -> FloatArray:
    """Return decided votes, those for the left, their expected number and its variance, by annotator."""
    if not decided.all():
        chunk = VoteChunk(*(getattr(chunk, name)[decided] for name in VoteChunk.__dataclass_fields__))
    who, weight = chunk.annotator, chunk.weight
    better = truth(chunk)
    left_better = np.where(chunk.swapped, 1 - better, better)
    own = flip[who]
    expected = own + (1 - 2 * own) * left_better
    columns = [
        weight,
        weight * ((chunk.result == FIRST) ^ chunk.swapped),
        weight * expected,
        weight**2 * expected * (1 - expected),
    ]
    return np.stack([np.bincount(who, column, n) for column in columns], axis=1)


def _ties(vote_counts: FloatArray, tied: FloatArray) -> FloatArray:
    """Return the ties of each annotator, their expected number from the others' shares, and its variance."""
    others, theirs = vote_counts.sum(axis=0) - vote_counts, tied.sum(axis=0) - tied
    rate = (theirs + 0.5) / (others + 1)
    return np.stack(
        [tied.sum(axis=1), (vote_counts * rate).sum(axis=1), (vote_counts * rate * (1 - rate)).sum(axis=1)], axis=1
    )


def without_own_vote(posterior: FloatArray, chunk: VoteChunk, flip: FloatArray) -> FloatArray:
    """Return the posterior of each vote's pair without that vote.

    posterior: P(first is better) of the pair of each vote, the vote included.
    flip: Probability that each vote is flipped.
    """
    evidence = chunk.weight * np.where(chunk.result == FIRST, 1.0, -1.0) * logit(1 - np.clip(flip, 1e-9, 1 - 1e-9))
    odds = logit(np.clip(posterior, 1e-12, 1 - 1e-12))
    return np.asarray(expit(odds - evidence))
