"""From votes to ballots: which votes are on each pair, as patterns where few lists are distinct."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, LARGEST_SMALL_JURY, TIE, DenseVotes, Verdicts, VoteTable
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import extremes, over_blocks
from jamrank.rows.ballots import FEW_PATTERNS, Codes, Patterns, RaggedVotes, as_codes
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

# Patterns pay if at most this share of the lists of a sample is distinct; so many pairs or fewer need no sample.
_SAMPLE, _MOST_DISTINCT = 4096, 0.5
# With more patterns, passes over short lists are quicker: a table of sums by pattern does not stay in cache.
_MANY_PATTERNS, _LONG_LIST = 1 << 14, 4
# A jury of at most so many has its patterns read off the matrix; one of at most so many numbers them by a table.
_LARGEST_JURY = 64
# The first 1/64 of the pairs mostly has all patterns of a small jury.
_FIRST_LOOK = 64
# Whole-number weights that add up to at most so much a vote are spelled out as repeated votes.
_MOST_REPEATS = 1.5


def count_if_few_repeats(table: VoteTable) -> int | None:
    """Return the number of decided votes where weights only mean that a few were cast more than once, else None."""
    spelled: int = kernels.count_spelled(table.result, table.weight, default_threads())
    few = not len(table.weight) or (spelled >= 0 and few_repeats(spelled, len(table.weight)))
    return spelled if few else None


def few_repeats(spelled: int, n_votes: int) -> bool:
    """Return whether votes that are spelled out are not many more than before."""
    return spelled <= _MOST_REPEATS * n_votes


def select_votes(table: VoteTable, keep: BoolArray) -> VoteTable:
    """Return the votes that are marked."""
    start = np.concatenate([[0], np.cumsum(keep)])[table.start]
    swapped = table.swapped[keep] if len(table.swapped) else table.swapped
    weight = table.weight[keep] if len(table.weight) else table.weight
    return VoteTable(start, table.annotator[keep], table.result[keep], swapped, weight)


def few_patterns(votes: Comparisons) -> bool:
    """Return whether few lists of votes are distinct, judged by a sample of the pairs."""
    few = isinstance(votes.storage, DenseVotes) and 3**votes.n_annotators <= _MOST_DISTINCT * _SAMPLE
    if few or votes.n_pairs <= _SAMPLE:
        return True
    sample = np.linspace(0, votes.n_pairs - 1, _SAMPLE).astype(np.int64)
    if isinstance(votes.storage, DenseVotes):
        verdicts = np.ascontiguousarray(votes.storage.results_of(sample))
        whole = np.dtype((np.void, verdicts.shape[1]))
        return len(set(verdicts.view(whole).ravel().tolist())) <= _MOST_DISTINCT * _SAMPLE
    _, times = np.unique(_hashed_lists(votes, sample), return_counts=True)
    if len(times) > _MOST_DISTINCT * _SAMPLE:
        return False
    # The share of lists that the sample does not have is about that of lists which it has once (Good and Turing).
    unseen = np.count_nonzero(times == 1) / _SAMPLE * votes.n_pairs
    return bool(unseen <= _MANY_PATTERNS or len(votes.vote_result) > _LONG_LIST * votes.n_pairs)


def _hashed_lists(votes: Comparisons, pairs: IntArray) -> NDArray[np.uint64]:
    """Return a number for the votes on each of some pairs, the same for equal votes."""
    begin = votes.vote_start[pairs]
    lengths = votes.vote_start[pairs + 1] - begin
    ends = np.cumsum(lengths)
    at = np.arange(ends[-1]) + np.repeat(begin - ends + lengths, lengths)
    kind = 4 * votes.vote_annotator[at].astype(np.uint64) + votes.vote_result[at].astype(np.uint64)
    marks = _scrambled(_scrambled(kind) ^ np.ascontiguousarray(votes.vote_weight[at]).view(np.uint64))
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks, dtype=np.uint64)])
    return np.asarray(before[ends] - before[ends - lengths])


def _scrambled(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return integers that look like random ones, the same for the same number (splitmix64)."""
    number = (number + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ number >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.asarray(number ^ number >> np.uint64(31))


def find_patterns(votes: Comparisons, threads: int) -> tuple[Patterns, FloatArray | None]:
    """Return the votes as patterns and, where it is found on the way, the share of each pair."""
    if isinstance(votes.storage, DenseVotes) and votes.n_annotators <= _LARGEST_JURY:
        verdicts = votes.storage.verdicts
        found = _find_jury_patterns(votes.storage.results, threads) if verdicts is None else _as_patterns(verdicts)
        return found, None
    of_row, example = np.empty(votes.n_pairs, dtype=np.int32), np.empty(votes.n_pairs, dtype=np.int64)
    share = np.empty(votes.n_pairs)
    n_patterns = kernels.patterns(
        votes.vote_start,
        votes.vote_annotator,
        votes.vote_result,
        votes.storage.table.weight,
        of_row,
        example,
        share,
        threads,
    )
    pair = example[:n_patterns]
    lengths = votes.vote_start[pair + 1] - votes.vote_start[pair]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(begin[-1]) + np.repeat(votes.vote_start[pair] - begin[:-1], lengths)
    start, at = _without_ties(votes, begin, at)
    codes = as_codes(of_row, n_patterns)
    return Patterns(codes, start, _as_votes(votes, at), votes.vote_weight[at], votes.n_annotators), share


def _find_jury_patterns(results: NDArray[np.int8], threads: int) -> Patterns:
    """Find the patterns of a jury from its matrix of results."""
    n_pairs, n_annotators = results.shape
    of_row: Codes
    if n_annotators <= LARGEST_SMALL_JURY:
        # Number the patterns of the first pairs; if others occur later, look at all pairs.
        for looked_at in (results[: max(n_pairs // _FIRST_LOOK, 1)], results):
            seen = np.empty(4**n_annotators, dtype=np.uint8)
            kernels.mark_verdicts(looked_at.ravel(), n_annotators, seen, threads)
            kinds = np.flatnonzero(seen)
            numbers = np.where(seen > 0, np.cumsum(seen, dtype=np.int32) - 1, np.int32(-1))
            few = len(kinds) <= FEW_PATTERNS
            of_row = np.empty(n_pairs, dtype=np.uint8) if few else np.empty(n_pairs, dtype=np.int32)
            if kernels.number_verdicts(results.ravel(), n_annotators, numbers, of_row, threads):
                break
        distinct = (kinds[:, None] >> 2 * np.arange(n_annotators - 1, -1, -1)) & 3
    else:
        wide, example = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int64)
        n_patterns = kernels.jury_patterns(results.ravel(), n_annotators, wide, example, threads)
        distinct, of_row = results[example[:n_patterns]], as_codes(wide, n_patterns)
    return _patterns_of(distinct, of_row)


def _as_patterns(verdicts: Verdicts) -> Patterns:
    """Return the patterns of a jury, whose verdicts are known in short."""
    kinds, of_row = np.flatnonzero(verdicts.times), verdicts.of_pair
    if len(kinds) < len(verdicts.times):
        numbers, of_row = (np.cumsum(verdicts.times > 0) - 1).astype(np.uint8), np.empty_like(of_row)
        over_blocks(len(of_row), lambda block: np.take(numbers, verdicts.of_pair[block], out=of_row[block]))
    return _patterns_of((kinds[:, None] >> np.arange(verdicts.n_annotators - 1, -1, -1)) & 1, of_row)


def _patterns_of(distinct: NDArray[np.integer], of_row: Codes) -> Patterns:
    """Return patterns, given the distinct verdicts of a jury and which of them each row has."""
    decided, n_annotators = distinct < TIE, distinct.shape[1]
    start = np.concatenate([[0], np.cumsum(decided.sum(axis=1))])
    vote = (2 * np.arange(n_annotators) + distinct)[decided].astype(np.int32)
    return Patterns(of_row, start, vote, np.ones(len(vote)), n_annotators)


def known_pattern_weight(votes: Comparisons) -> FloatArray | None:
    """Return how many pairs have each pattern, where that was counted while encoding."""
    verdicts = votes.storage.verdicts if isinstance(votes.storage, DenseVotes) else None
    return None if verdicts is None else verdicts.times[verdicts.times > 0].astype(np.float64)


def find_ragged_votes(votes: Comparisons, threads: int) -> tuple[RaggedVotes, FloatArray]:
    """Return the votes as a list for each pair, and the share of each pair."""
    table, n_votes = votes.storage.table, len(votes.vote_result)
    if votes.n_ties or (len(table.weight) and extremes(table.weight)[0] <= 0):
        n_votes = int(np.count_nonzero((table.result != TIE) & (votes.vote_weight > 0)))
    start, share = np.empty(votes.n_pairs + 1, dtype=np.int64), np.empty(votes.n_pairs)
    vote, weight = np.empty(n_votes, dtype=np.int32), np.empty(n_votes if len(table.weight) else 0)
    kernels.list_votes(table.start, table.annotator, table.result, table.weight, start, vote, weight, share, threads)
    return RaggedVotes(start, vote, weight, votes.n_annotators), share


def _without_ties(votes: Comparisons, start: IntArray, at: IntArray) -> tuple[IntArray, IntArray]:
    """Leave out ties and votes of weight 0, which carry no information on the truth."""
    informative = (votes.vote_result[at] != TIE) & (votes.vote_weight[at] > 0)
    counts = np.bincount(np.repeat(np.arange(len(start) - 1), np.diff(start))[informative], minlength=len(start) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), at[informative]


def _as_votes(votes: Comparisons, at: IntArray | slice) -> Int32Array:
    return np.asarray(votes.vote_annotator[at] * np.int32(2) + (votes.vote_result[at] == FIRST))


def keep_rows(ballots: Patterns | RaggedVotes, rows: BoolArray) -> Patterns | RaggedVotes:
    """Return the ballots of the marked rows; the others have no votes."""
    if isinstance(ballots, Patterns):
        return replace(ballots, of_row=ballots.of_row[rows])
    return replace(ballots, start=ballots.start[np.concatenate([np.flatnonzero(rows), [len(rows)]])])


def fold_sides(table: VoteTable) -> tuple[IntArray, Int32Array, BoolArray, FloatArray]:
    """Return pair, annotator, result and weight of the decided votes, added up over the sides of display."""
    table = select_votes(table, (table.result != TIE) & (table.weight > 0))
    pair, who = np.repeat(np.arange(len(table.start) - 1), np.diff(table.start)), table.annotator
    new = (np.diff(pair, prepend=-1) != 0) | (np.diff(who, prepend=-1) != 0)
    cell = np.cumsum(new) - 1
    by_result = 2 * cell + (table.result == FIRST)
    weight = np.bincount(by_result, table.weight, 2 * int(new.sum())).astype(np.float64)
    there = np.flatnonzero(weight)
    at = np.flatnonzero(new)[there // 2]
    return pair[at], who[at], there % 2 == 1, weight[there]
