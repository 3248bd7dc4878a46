"""Folds of votes that do not depend on names or order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jamrank.data.color_refinement import ODD, decided, mix, signatures
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import DenseVotes, VoteTable
from jamrank.typing import FloatArray, HashArray, IntArray

SPLITS = ("vote", "pair")

_REPAIRS = 50
# With fewer for each fold, what one annotator says of a pair is not held out together.
_ENOUGH_UNITS = 20
# How many votes are put in random order at most.
_MOST_DRAWN = 20_000_000


def assign_folds(votes: Comparisons, n_folds: int, by: str) -> tuple[Comparisons, IntArray]:
    """Return the votes with weights expanded, and the fold of each.

    By vote, those of one annotator on a pair stay together. Where that leaves too few units, or no annotators are
    named, a folded vote of weight ``w`` is ``w`` votes, and those on a pair are distributed evenly over the folds,
    whatever they say: if each outcome were, the other folds would betray those that are held out.

    Returns votes (one entry for each folded vote and fold in which it has a share), fold (of each entry).
    """
    fold = split(votes, n_folds, by)
    if by != "vote" or isinstance(votes.storage, DenseVotes):
        return votes, fold
    weight = votes.vote_weight
    # The two parts of a soft vote stay together.
    whole, part = np.divmod(np.where(votes.vote_soft, 0.0, weight), 1.0)
    part = np.where(votes.vote_soft, weight, part)
    unit = _units(votes, by)
    together = votes.n_annotators > 1 and int(unit.max(initial=-1)) + 1 >= _ENOUGH_UNITS * n_folds
    if together or not (np.bincount(unit, whole) >= 2).any():
        return votes, fold
    share = _shares(votes, unit, fold, whole.astype(np.int64), n_folds).astype(np.float64)
    share[np.arange(len(fold)), fold] += part
    entry, at = np.nonzero(share)
    return _written(votes, entry, share[entry, at]), at


def _shares(votes: Comparisons, unit: IntArray, fold: IntArray, whole: IntArray, n_folds: int) -> IntArray:
    """Return how many of each folded vote are in each fold: those of a unit take folds in turn, in random order."""
    n = len(whole)
    drawn = np.minimum(whole, max(n_folds, _MOST_DRAWN // max(n, 1)))
    entry = np.repeat(np.arange(n), drawn)
    nth = np.arange(len(entry)) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    signature, _ = signatures(votes)
    drawn_key = mix(signature[entry] + ODD[1] * nth.astype(np.uint64))
    order = np.lexsort((drawn_key, ~decided(votes)[entry], unit[entry]))
    entry = entry[order]
    total = np.bincount(unit, drawn).astype(np.int64)
    place = np.arange(len(entry)) - np.repeat(np.cumsum(total) - total, total)
    at = (fold[entry] + place) % n_folds
    share = np.bincount(entry * n_folds + at, minlength=n * n_folds).reshape(n, n_folds)
    # Of very large weights the rest is distributed evenly.
    rest, turn = whole - drawn, (np.arange(n_folds) - fold[:, None]) % n_folds
    return np.asarray(share + rest[:, None] // n_folds + (turn < (rest % n_folds)[:, None]))


def assign_periods(votes: Comparisons) -> tuple[Comparisons, IntArray] | None:
    """Return the votes written out by the period in which they were cast, and the period of each; None if unknown."""
    share = votes.storage.table.period
    if not len(share):
        return None
    entry, period = np.nonzero(share)
    return _written(votes, entry, share[entry, period]), period


def _written(votes: Comparisons, entry: IntArray, weight: FloatArray) -> Comparisons:
    """Return votes with an entry for each share of a folded vote."""
    table = votes.storage.table
    count = np.bincount(votes.vote_pair[entry], minlength=votes.n_pairs)
    written = VoteTable(
        np.concatenate([[0], np.cumsum(count)]),
        table.annotator[entry],
        table.result[entry],
        table.swapped[entry] if len(table.swapped) else table.swapped,
        weight,
        table.grade[entry] if len(table.grade) else table.grade,
        covariate=table.covariate[entry] if len(table.covariate) else table.covariate,
    )
    return replace(votes, storage=written)


def split(votes: Comparisons, n_folds: int, by: str) -> IntArray:
    """Return the fold of each folded vote.

    Folds depend only on the decided votes: not on the order of rows, sides or ties, nor on the names of items,
    annotators and questions (except among exchangeable votes).

    votes: What to split.
    n_folds: Number of folds, of about equal size.
    by ({"vote", "pair"}): What stays together: the votes of one annotator on a pair within a question, or all votes
        on the pair within the question.
    Returns: Every annotator's votes are spread over the folds; an item or annotator with several units is not all in
        one fold, if moving single units can avoid it.
    """
    signature, of_annotator = signatures(votes)
    who, unit = votes.vote_annotator, _units(votes, by)
    start = np.flatnonzero(np.diff(unit, prepend=-1))
    counts = decided(votes)
    idle = ~np.logical_or.reduceat(counts, start)
    key = mix(np.add.reduceat(np.where(counts | idle[unit], signature, np.uint64(0)), start))
    by_whom: tuple[HashArray, ...] = ()
    if by == "vote":
        by_whom = (_told_apart(of_annotator)[who[start]],)
    key = _told_apart(key, *by_whom)
    order = np.lexsort((key, *by_whom, idle))
    fold = np.empty(len(start), dtype=np.int64)
    fold[order] = np.arange(len(start)) % n_folds
    units = np.flatnonzero(~idle)
    at = votes.vote_pair[start[units]]
    items = np.concatenate([units, units]), np.concatenate([votes.pair_first[at], votes.pair_second[at]])
    _spread(fold, key, n_folds, items, (unit[counts], who[counts]))
    of_vote: IntArray = fold[unit]
    return of_vote


def _units(votes: Comparisons, by: str) -> IntArray:
    """Return the number of the unit of each folded vote: what stays together."""
    new = np.diff(votes.vote_pair, prepend=-1) != 0
    if by == "vote":
        new |= np.diff(votes.vote_annotator, prepend=-1) != 0
    unit: IntArray = np.cumsum(new) - 1
    return unit


def _told_apart(key: HashArray, *groups: HashArray) -> HashArray:
    """Return hashes of which equal ones in a group differ, so that they are not distributed evenly, but at random."""
    order = np.lexsort((key, *groups))
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([np.diff(values[order]) != 0 for values in (key, *groups)], axis=0)
    start = np.flatnonzero(new)
    nth = np.empty(len(order), dtype=np.uint64)
    nth[order] = np.arange(len(order)) - np.repeat(start, np.diff(start, append=len(order)))
    return mix(key + ODD[3] * nth)


def _spread(fold: IntArray, key: HashArray, n_folds: int, *members: tuple[IntArray, NDArray[np.integer]]) -> None:
    """Move single units, so that no group of several units is all in one fold.

    ``members`` are units and their groups, such as items.
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
            # Another unit, and another fold, each time: otherwise two groups could exchange one unit forever.
            order = np.lexsort((mix(key[unit_held] + np.uint64(turn)), group_held))
            first = np.ones(len(order), dtype=bool)
            first[1:] = np.diff(group_held[order]) != 0
            moved = np.unique(unit_held[order][first])
            fold[moved] = (fold[moved] + 1 + turn % (n_folds - 1)) % n_folds
        if settled:
            return
