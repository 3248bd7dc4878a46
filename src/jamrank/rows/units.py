"""What may be a row of a likelihood, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, SECOND, TIE, VoteTable
from jamrank.rows.eased import per_eased_pair
from jamrank.rows.rows import Rows


def by_side(votes: Comparisons) -> Comparisons:
    """Return the votes with every annotator as two: one for each side on which a pair's first item is shown.

    Annotator ``k`` becomes ``2 k`` where it was on the left, and ``2 k + 1`` where it was on the right.
    """
    table = votes.storage.table
    who = np.asarray(table.annotator * np.int32(2) + votes.vote_swapped, dtype=np.int32)
    storage = VoteTable(table.start, who, table.result, np.empty(0, dtype=np.bool_), table.weight)
    return replace(votes, annotators=np.repeat(votes.annotators, 2), storage=storage)


def as_ties(votes: Comparisons) -> Comparisons:
    """Return votes for the first item where the given votes are ties, for the second item where they are not."""
    table = votes.storage.table
    tied = (table.result == TIE).astype(np.int8)
    storage = VoteTable(table.start, table.annotator, tied, np.empty(0, dtype=np.bool_), table.weight)
    return replace(votes, storage=storage)


def by_one(votes: Comparisons) -> Comparisons:
    """Return the votes as if one annotator had cast them all."""
    table = votes.storage.table
    everyone = np.empty(1, dtype=object)
    everyone[0] = "everyone"
    storage = replace(table, annotator=np.zeros(len(table.annotator), dtype=np.int32))
    return replace(votes, annotators=everyone, storage=storage)


def with_halves(votes: Comparisons) -> Comparisons:
    """Return the votes with every tie as half a vote for either item."""
    table = votes.storage.table
    tied = table.result == TIE
    at = np.repeat(np.arange(len(tied)), 1 + tied)
    result, halved = table.result[at], tied[at]
    result[halved] = np.tile(np.array([SECOND, FIRST], dtype=np.int8), int(tied.sum()))
    storage = VoteTable(
        np.concatenate([[0], np.cumsum(1 + tied)])[table.start],
        table.annotator[at],
        result,
        table.swapped[at] if len(table.swapped) else table.swapped,
        votes.vote_weight[at] * np.where(halved, 0.5, 1.0),
    )
    return replace(votes, storage=storage)


# A row has a latent truth shared by the votes on a pair ("pair"), one for each vote ("vote"), or votes that are the
# truth ("side"); the first two also with a confusion group for each annotator and side, the first with an ease of the
# pair. In the others votes depend on the margin itself.
ROWS_BY: dict[str, Callable[[Comparisons, int | None], Rows]] = {
    "pair": Rows.per_pair,
    "vote": lambda votes, threads: Rows.per_vote(votes),
    "side": Rows.per_side,
    "pair-by-ease": per_eased_pair,
    "pair-by-side": lambda votes, threads: Rows.per_pair(by_side(votes), threads),
    "vote-by-side": lambda votes, threads: Rows.per_vote(by_side(votes)),
    "margin": lambda votes, threads: replace(Rows.per_vote(votes), about="margin"),
    "tie": lambda votes, threads: replace(Rows.per_vote(as_ties(votes)), about="tie"),
    "tie-shared": lambda votes, threads: replace(Rows.per_vote(as_ties(by_one(votes))), about="tie"),
}
