"""Some of the votes, or some of what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jamrank.data.folding import count
from jamrank.data.storage import MISSING, SOFT, DenseVotes, VoteTable
from jamrank.typing import BoolArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons


def only(votes: Comparisons, chosen: BoolArray) -> Comparisons:
    """Return some of the folded votes; see :meth:`jamrank.Comparisons.only`."""
    table, pair = votes.storage.table, votes.vote_pair[chosen]
    times = np.bincount(pair, minlength=votes.n_pairs)
    kept = times > 0
    return replace(
        votes,
        pair_first=votes.pair_first[kept],
        pair_second=votes.pair_second[kept],
        pair_question=votes.pair_question[kept],
        storage=VoteTable(
            np.concatenate([[0], np.cumsum(times[kept])]),
            table.annotator[chosen],
            table.result[chosen],
            table.swapped[chosen] if len(table.swapped) else table.swapped,
            table.weight[chosen] if len(table.weight) else table.weight,
            table.grade[chosen] if len(table.grade) else table.grade,
            table.period[chosen] if len(table.period) else table.period,
            table.covariate[chosen] if len(table.covariate) else table.covariate,
        ),
        n_votes=len(pair) - int(np.count_nonzero(votes.vote_soft[chosen])) // 2,
        n_missing=0,
    )


def only_pairs(votes: Comparisons, chosen: BoolArray) -> Comparisons:
    """Return the votes on some of the pairs; see :meth:`jamrank.Comparisons.only_pairs`."""
    if not isinstance(votes.storage, DenseVotes):
        return votes.only(chosen[votes.vote_pair])
    kept = np.flatnonzero(chosen)  # taking some of many by their numbers is quicker
    results, swapped = votes.storage.results_of(kept), votes.storage.swapped
    n_missing = 0 if votes.storage.decided else count(results, MISSING)
    return replace(
        votes,
        pair_first=votes.pair_first[kept],
        pair_second=votes.pair_second[kept],
        pair_question=votes.pair_question[kept],
        storage=DenseVotes(results, swapped[kept] if len(swapped) else swapped, votes.storage.decided),
        n_votes=results.size - n_missing,
        n_missing=n_missing,
    )


def ungraded(votes: Comparisons) -> Comparisons:
    """Return the votes without their grades; soft votes stay."""
    if not votes.n_grades:
        return votes
    soft = votes.vote_soft
    grade = np.where(soft, np.int8(SOFT), np.int8(0)) if soft.any() else np.empty(0, np.int8)
    return replace(votes, storage=replace(votes.storage.table, grade=grade))
