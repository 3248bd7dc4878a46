"""Votes to be predicted by a fitted model, in the codes of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import locate
from jamrank.data.storage import TIE
from jamrank.inference.vote_summary import VoteSummary
from jamrank.typing import BoolArray, FloatArray, IntArray


def probit_adjusted_sigmoid(margin: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the mean of sigmoid(margin) for a margin with a normal error.

    By MacKay's approximation sigmoid(m / sqrt(1 + pi v / 8)), where v is the variance of the error.
    """
    return np.asarray(expit(margin / np.sqrt(1.0 + np.pi * variance / 8.0)))


@dataclass(frozen=True)
class VoteQuery:
    """The decided votes of some comparisons, one entry each.

    votes: Their source.
    which: Their indices in the folded votes.
    first, second: The items of their pairs, in the model's codes; -1 for an unknown item.
    annotator: Who voted, in the model's codes; -1 for an unknown annotator.
    pair: The pair within its question, in the order of the model's ``pairs_``; -1 for an unknown pair.
    turned: Whether the model has that pair in the other order.
    """

    votes: Comparisons
    which: IntArray
    first: IntArray
    second: IntArray
    annotator: IntArray
    pair: IntArray
    turned: BoolArray

    @classmethod
    def of(cls, fitted: VoteSummary, votes: Comparisons, ties: bool = False) -> VoteQuery:
        """Find the votes among those of a fit: the decided ones, with ``ties`` all."""
        item = _codes(fitted.items, votes.items)
        question = _codes(fitted.questions, votes.questions)
        annotator = _codes(fitted.annotators, votes.annotators)
        annotator = np.where(annotator >= 0, fitted.stands_for[annotator], -1)
        known = np.append(fitted.decided_votes > 0, False)
        annotator = np.where(known[annotator], annotator, -1)
        which = np.flatnonzero((ties | (votes.vote_result != TIE)) & (votes.vote_weight > 0))
        pair = votes.vote_pair[which]
        first, second = item[votes.pair_first], item[votes.pair_second]
        at = _find_pairs(fitted, first, second, question[votes.pair_question])
        return cls(
            votes,
            which,
            first[pair],
            second[pair],
            annotator[votes.vote_annotator[which]],
            at[pair],
            (first > second)[pair],
        )

    def __len__(self) -> int:
        """Return how many votes there are."""
        return len(self.which)

    @property
    def swapped(self) -> BoolArray:
        """Whether the first item was shown on the right."""
        return self.votes.vote_swapped[self.which]

    def seen_from_first(self, of_pairs: FloatArray, unseen: FloatArray) -> FloatArray:
        """Return a value of each vote's pair, such as log-odds, with the sign of the vote's order."""
        known = self.pair >= 0
        values = unseen.astype(np.float64)
        values[known] = of_pairs[self.pair[known]] * np.where(self.turned[known], -1.0, 1.0)
        return values


def _codes(labels: NDArray[Any], wanted: NDArray[Any]) -> IntArray:
    if labels is wanted:
        return np.arange(len(labels))
    return locate(labels, wanted)


def _find_pairs(fitted: VoteSummary, first: IntArray, second: IntArray, question: IntArray) -> IntArray:
    """Return the index of each pair among the model's sorted pairs; -1 if it is not there."""
    n_items, n_questions = len(fitted.items), len(fitted.questions)
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs = fitted.pairs
    n_known = len(pairs.first)
    if not n_known:
        return np.full(len(low), -1)
    pair = np.concatenate([pairs.first.astype(np.int64), low]) * n_items
    pair += np.concatenate([pairs.second, high])
    if n_items**2 * n_questions >= 2**63:  # too large for one integer, so ranks of the pairs are used
        pair = np.unique(pair, return_inverse=True)[1]
    key = pair * n_questions + np.concatenate([pairs.question, question])
    known, wanted = key[:n_known], key[n_known:]
    place = np.minimum(np.searchsorted(known, wanted), n_known - 1)
    return np.where((known[place] == wanted) & (low >= 0) & (question >= 0), place, -1)
