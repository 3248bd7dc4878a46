"""Votes split into folds, by what the votes are and not by their names or order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jamrank.comparisons import SECOND, TIE, Comparisons
from jamrank.io.parted import PartedComparisons
from jamrank.votes import VoteTable

__all__ = ["SPLITS", "decided", "sample_pairs", "sample_parts", "split"]

Hashes = NDArray[np.uint64]
Longs = NDArray[np.int64]

SPLITS = ("vote", "pair")

# Rounds in which every item and annotator hears of those that it has votes with.
_ROUNDS = 3
_REPAIRS = 50
_UNIT = 2.0**20
_MOST_HASHED = 5_000_000
_ODD = [np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)]


def split(votes: Comparisons, n_folds: int, by: str) -> Longs:
    """Return the fold of each folded vote.

    Folds hang on what decided votes there are: not on the order of the rows, nor on sides or ties, nor on the names
    of items, annotators and questions (but where votes cannot be told apart except by names).

    Parameters
    ----------
    votes : Comparisons
        What to split.
    n_folds : int
        Number of folds, of about equal size.
    by : {"vote", "pair"}
        What stays together: the votes of one annotator on a pair within a question, or all votes on the pair within
        the question.

    Returns
    -------
    ndarray
        Every annotator's votes are spread over the folds; an item or annotator with several units is never all in
        one fold, where that can be had by moving single units.
    """
    signature, of_annotator = _signatures(votes)
    new = np.ones(len(signature), dtype=bool)
    pair, who = votes.vote_pair, votes.vote_annotator
    new[1:] = pair[1:] != pair[:-1]
    if by == "vote":
        new[1:] |= who[1:] != who[:-1]
    unit, start = np.cumsum(new) - 1, np.flatnonzero(new)
    counts = decided(votes)
    idle = ~np.logical_or.reduceat(counts, start)
    key = _mix(np.add.reduceat(np.where(counts | idle[unit], signature, np.uint64(0)), start))
    by_whom = (who[start], of_annotator[who[start]]) if by == "vote" else ()
    order = np.lexsort((key, *by_whom, idle))
    fold = np.empty(len(start), dtype=np.int64)
    fold[order] = np.arange(len(start)) % n_folds
    units = np.flatnonzero(~idle)
    at = pair[start[units]]
    items = np.concatenate([units, units]), np.concatenate([votes.pair_first[at], votes.pair_second[at]])
    _spread(fold, key, n_folds, items, (unit[counts], who[counts]))
    of_vote: Longs = fold[unit]
    return of_vote


def decided(votes: Comparisons) -> NDArray[np.bool_]:
    """Tell which of the folded votes prefer an item to another, and count."""
    return np.asarray((votes.vote_result != TIE) & (votes.vote_weight > 0))


def sample_pairs(votes: Comparisons, n_votes: int) -> Comparisons:
    """Return about so many of the votes, and all of those on a pair together; all of them where they are few."""
    if votes.n_folded <= n_votes:
        return votes
    if votes.n_folded > _MOST_HASHED:
        return votes.only_pairs(_drawn(votes, n_votes / votes.n_folded))
    signature, _ = _signatures(votes)
    pair = votes.vote_pair
    key = np.zeros(votes.n_pairs, dtype=np.uint64)
    np.add.at(key, pair, signature)
    order = np.argsort(_mix(key), kind="stable")
    size = np.bincount(pair, minlength=votes.n_pairs)
    enough = int(np.searchsorted(np.cumsum(size[order]), n_votes, side="right"))
    chosen = np.zeros(votes.n_pairs, dtype=bool)
    chosen[order[: max(enough, 1)]] = True
    return votes.only(chosen[pair])


def sample_parts(votes: PartedComparisons, n_votes: int) -> Comparisons:
    """Return about so many votes of those on disk, and all of those on a pair together; all where they are few.

    Pairs are drawn by their place in the order of the ids: what stands on disk is read once.
    """
    share = min(n_votes / max(votes.n_votes, 1), 1.0)
    parts = [part.only_pairs(_drawn(part, share)) for part in votes.parts()]
    return replace(
        parts[0],
        pair_first=np.concatenate([part.pair_first for part in parts]),
        pair_second=np.concatenate([part.pair_second for part in parts]),
        pair_question=np.concatenate([part.pair_question for part in parts]),
        cast=VoteTable(
            np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.vote_start) for part in parts]))]),
            np.concatenate([part.vote_annotator for part in parts]),
            np.concatenate([part.vote_result for part in parts]),
            np.concatenate([part.vote_swapped for part in parts]),
            np.concatenate([part.vote_weight for part in parts]),
        ),
        n_votes=sum(part.n_votes for part in parts),
    )


def _drawn(votes: Comparisons, share: float) -> NDArray[np.bool_]:
    """Draw a share of the pairs by their place in the order of the ids: cheap, where votes are very many."""
    key = votes.pair_first.astype(np.uint64) * _ODD[1] + votes.pair_second.astype(np.uint64) * _ODD[2]
    drawn = _mix(_mix(key) + votes.pair_question.astype(np.uint64)) < np.uint64(share * (2**64 - 2**11))
    return np.asarray(drawn | (share >= 1))


def _spread(fold: Longs, key: Hashes, n_folds: int, *members: tuple[Longs, NDArray[np.integer]]) -> None:
    """Move single units, so that no group of several units lies in one fold alone.

    ``members`` are units and the groups that they are in, such as items.
    """
    for turn in range(_REPAIRS):
        settled = True
        for unit, group in members:
            n_groups = int(group.max(initial=-1)) + 1
            low, high = np.full(n_groups, n_folds), np.full(n_groups, -1)
            np.minimum.at(low, group, fold[unit])
            np.maximum.at(high, group, fold[unit])
            least, most = np.full(n_groups, len(fold)), np.full(n_groups, -1)
            np.minimum.at(least, group, unit)
            np.maximum.at(most, group, unit)
            stuck = (low == high) & (least < most)
            if not stuck.any():
                continue
            settled = False
            held = stuck[group]
            unit_held, group_held = unit[held], group[held]
            # Another unit, and another fold, each time: two groups must not pass one unit to and fro.
            order = np.lexsort((_mix(key[unit_held] + np.uint64(turn)), group_held))
            first = np.ones(len(order), dtype=bool)
            first[1:] = np.diff(group_held[order]) != 0
            moved = np.unique(unit_held[order][first])
            fold[moved] = (fold[moved] + 1 + turn % (n_folds - 1)) % n_folds
        if settled:
            return


def _signatures(votes: Comparisons) -> tuple[Hashes, Hashes]:
    """Return a hash of each folded vote that tells where it stands among the others, and one of each annotator."""
    colours = Colours(votes)
    for _ in range(_ROUNDS):
        colours.refine()
    return colours.vote, colours.annotator


class Colours:
    """Colour refinement: everything begins alike, and in each round takes up what its votes say.

    That is a sum over them, which knows no order. Ties and votes of no weight are told apart, but tell nothing.
    """

    def __init__(self, votes: Comparisons) -> None:
        pair = votes.vote_pair
        first, second = votes.pair_first[pair], votes.pair_second[pair]
        turned, self._tie, self._counts = votes.vote_result == SECOND, votes.vote_result == TIE, decided(votes)
        self._winner, self._loser = np.where(turned, second, first), np.where(turned, first, second)
        self._who, self._asked = votes.vote_annotator, votes.pair_question[pair]
        # In sums a vote of weight 2 is the vote written twice.
        self._weight = np.rint(votes.vote_weight * _UNIT).astype(np.uint64)
        sizes = votes.n_items, votes.n_annotators, len(votes.questions)
        self.item, self.annotator, self.question = (np.full(n, odd) for n, odd in zip(sizes, _ODD[:3], strict=True))
        self.vote = self._weight

    def refine(self) -> None:
        """Have every item, annotator and question hear of those that it has votes with."""
        item, winner, loser = self.item, self._winner, self._loser
        # In a tie neither item has won: their order must not count.
        sides = np.where(
            self._tie, _mix(item[winner] + item[loser]), _mix(item[winner] * _ODD[0] + item[loser] * _ODD[1])
        )
        said = _mix(sides + _mix(self.annotator[self._who] * _ODD[2] + self.question[self._asked] * _ODD[3]))
        self.vote, seen = said * self._weight, np.where(self._counts, _mix(said) * self._weight, np.uint64(0))
        told = np.where(self._counts, self.vote, np.uint64(0))
        heard = np.zeros_like(item), np.zeros_like(self.annotator), np.zeros_like(self.question)
        for kind, group, what in ((0, winner, told), (0, loser, seen), (1, self._who, told), (2, self._asked, told)):
            np.add.at(heard[kind], group, what)
        self.item, self.annotator, self.question = (
            _mix(old + new) for old, new in zip((item, self.annotator, self.question), heard, strict=True)
        )


def _mix(values: Hashes) -> Hashes:
    """Scatter the bits of each value, as splitmix64 does."""
    mixed = values + _ODD[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
