"""Votes about which a fitted model is asked, in the codes of the model."""

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

__all__ = ["VoteQuery", "probit_adjusted_sigmoid"]


def probit_adjusted_sigmoid(margin: FloatArray, variance: FloatArray) -> FloatArray:
    """Return sigmoid(margin), averaged over a margin that is known only up to a normal error.

    By MacKay's approximation sigmoid(m / sqrt(1 + pi v / 8)), v being the variance of the error.
    """
    return np.asarray(expit(margin / np.sqrt(1.0 + np.pi * variance / 8.0)))


@dataclass(frozen=True)
class VoteQuery:
    """The decided votes of some comparisons, one entry each.

    Attributes
    ----------
    votes : Comparisons
        Where they come from.
    which : ndarray
        Their places among the folded votes.
    first, second : ndarray
        The items of their pairs, in the model's codes; -1 where the model never saw the item.
    annotator : ndarray
        Who voted, in the model's codes; -1 where the model knows nothing of the annotator.
    pair : ndarray
        The pair within its question, in the order of the model's ``pairs_``; -1 where the model never saw it.
    turned : ndarray of bool
        Whether the model has that pair the other way round.
    """

    votes: Comparisons
    which: IntArray
    first: IntArray
    second: IntArray
    annotator: IntArray
    pair: IntArray
    turned: BoolArray

    @classmethod
    def of(cls, fitted: VoteSummary, votes: Comparisons) -> VoteQuery:
        """Look the votes up among those of a fit."""
        item = _codes(fitted.items, votes.items)
        question = _codes(fitted.questions, votes.questions)
        annotator = _codes(fitted.annotators, votes.annotators)
        annotator = np.where(annotator >= 0, fitted.stands_for[annotator], -1)
        known = np.append(fitted.decided_votes > 0, False)
        annotator = np.where(known[annotator], annotator, -1)
        which = np.flatnonzero((votes.vote_result != TIE) & (votes.vote_weight > 0))
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
        """Return what the model has for each of its pairs, such as log-odds, with the sign of the votes' order."""
        known = self.pair >= 0
        values = unseen.astype(np.float64)
        values[known] = of_pairs[self.pair[known]] * np.where(self.turned[known], -1.0, 1.0)
        return values


def _codes(labels: NDArray[Any], wanted: NDArray[Any]) -> IntArray:
    if labels is wanted:
        return np.arange(len(labels))
    return locate(labels, wanted)


def _find_pairs(fitted: VoteSummary, first: IntArray, second: IntArray, question: IntArray) -> IntArray:
    """Return the place of each pair among the model's, which are sorted; -1 where it is not there."""
    n_items, n_questions = len(fitted.items), len(fitted.questions)
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs = fitted.pairs
    n_known = len(pairs.first)
    if not n_known:
        return np.full(len(low), -1)
    pair = np.concatenate([pairs.first.astype(np.int64), low]) * n_items
    pair += np.concatenate([pairs.second, high])
    if n_items**2 * n_questions >= 2**63:  # too wide for one integer: the ranks of the pairs are not
        pair = np.unique(pair, return_inverse=True)[1]
    key = pair * n_questions + np.concatenate([pairs.question, question])
    known, wanted = key[:n_known], key[n_known:]
    place = np.minimum(np.searchsorted(known, wanted), n_known - 1)
    return np.where((known[place] == wanted) & (low >= 0) & (question >= 0), place, -1)
