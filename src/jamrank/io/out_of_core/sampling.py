"""Samples of votes that keep all votes on a pair together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jamrank.data.color_refinement import ODD, mix, signatures
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import VoteTable
from jamrank.io.out_of_core.parted import PartedComparisons
from jamrank.typing import BoolArray

_MOST_HASHED = 5_000_000


def sample_pairs(votes: Comparisons, n_votes: int) -> Comparisons:
    """Return a sample of about so many votes, keeping all votes on a pair together; all votes if few."""
    if votes.n_folded <= n_votes:
        return votes
    if votes.n_folded > _MOST_HASHED:
        return votes.only_pairs(_drawn(votes, n_votes / votes.n_folded))
    signature, _ = signatures(votes)
    pair = votes.vote_pair
    key = np.zeros(votes.n_pairs, dtype=np.uint64)
    np.add.at(key, pair, signature)
    order = np.argsort(mix(key), kind="stable")
    size = np.bincount(pair, minlength=votes.n_pairs)
    enough = int(np.searchsorted(np.cumsum(size[order]), n_votes, side="right"))
    chosen = np.zeros(votes.n_pairs, dtype=bool)
    chosen[order[: max(enough, 1)]] = True
    return votes.only(chosen[pair])


def sample_parts(votes: PartedComparisons, n_votes: int) -> Comparisons:
    """Return a sample of about so many votes on disk, keeping all votes on a pair together; all if few.

    Pairs are drawn by their index, so that the disk is read once.
    """
    share = min(n_votes / max(votes.n_votes, 1), 1.0)
    parts = [part.only_pairs(_drawn(part, share)) for part in votes.parts()]
    return replace(
        parts[0],
        pair_first=np.concatenate([part.pair_first for part in parts]),
        pair_second=np.concatenate([part.pair_second for part in parts]),
        pair_question=np.concatenate([part.pair_question for part in parts]),
        storage=VoteTable(
            np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.vote_start) for part in parts]))]),
            np.concatenate([part.vote_annotator for part in parts]),
            np.concatenate([part.vote_result for part in parts]),
            np.concatenate([part.vote_swapped for part in parts]),
            np.concatenate([part.vote_weight for part in parts]),
        ),
        n_votes=sum(part.n_votes for part in parts),
    )


def _drawn(votes: Comparisons, share: float) -> BoolArray:
    """Draw a share of the pairs by their index, which is cheap for very many votes."""
    key = votes.pair_first.astype(np.uint64) * ODD[1] + votes.pair_second.astype(np.uint64) * ODD[2]
    drawn = mix(mix(key) + votes.pair_question.astype(np.uint64)) < np.uint64(share * (2**64 - 2**11))
    return np.asarray(drawn | (share >= 1))
