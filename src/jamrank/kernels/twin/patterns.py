"""Numpy twins of what finds distinct lists of votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.typing import FloatArray, Int32Array, IntArray


def patterns(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    pattern: Int32Array,
    example: IntArray,
    share: FloatArray,
    threads: int,
) -> int:
    """Find the distinct lists of decided votes, in the order of their first appearance; return their number.

    Also computes each pair's shrunken share of votes for its first item.
    """
    weight = weight if len(weight) else np.ones(len(result))
    decided = (result != 2) & (weight > 0)
    pair = np.repeat(np.arange(len(pattern)), np.diff(start))
    wins = np.bincount(pair[decided], (weight * result)[decided], len(share))
    share[:] = (wins + 1) / (np.bincount(pair[decided], weight[decided], len(share)) + 2)
    known: dict[bytes, int] = {}
    votes = np.rec.fromarrays([annotator, result, weight])
    for row, (begin, end) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        vote_counts = votes[begin:end][decided[begin:end]].tobytes()
        if vote_counts not in known:
            example[len(known)] = row
            known[vote_counts] = len(known)
        pattern[row] = known[vote_counts]
    return len(known)


def list_votes(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    begin: IntArray,
    vote: Int32Array,
    kept: FloatArray,
    share: FloatArray,
    threads: int,
) -> None:
    """List the informative votes on each pair: neither ties nor votes of weight 0.

    ``begin`` gets where each pair's begin, ``vote`` twice the annotator plus 1 if the vote is for the first item,
    ``kept`` the weights (where there are any), ``share`` each pair's shrunken share of votes for its first item.
    """
    informative = result != 2
    if len(weight):
        informative &= weight > 0
        kept[:] = weight[informative]
    begin[:] = np.concatenate([[0], np.cumsum(informative)])[start]
    vote[:] = (2 * annotator + result)[informative]
    pair = np.repeat(np.arange(len(share)), np.diff(begin))
    own = kept if len(weight) else np.ones(len(vote))
    share[:] = (np.bincount(pair, own * (vote % 2), len(share)) + 1) / (np.bincount(pair, own, len(share)) + 2)


def list_likelihoods(
    start: IntArray,
    vote: Int32Array,
    weight: FloatArray,
    of_kind: FloatArray,
    if_first: FloatArray,
    if_second: FloatArray,
    threads: int,
) -> None:
    """Add up the log-likelihood of each list's votes if the first, or the second, item is truly better.

    ``of_kind`` has two entries for each kind of vote: if the second and if the first item is better.
    """
    of_list = np.repeat(np.arange(len(if_first)), np.diff(start))
    weight = weight if len(weight) else np.ones(len(vote))
    for truth, sums in ((1, if_first), (0, if_second)):
        sums[:] = np.bincount(of_list, of_kind[truth::2][vote] * weight, len(sums))


def mark_ballots(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    marks: NDArray[np.uint64],
    threads: int,
) -> None:
    """Sum up hashes of each annotator's votes: equal sums for the same results on the same pairs, in any order.

    A hash is the finaliser of SplitMix64, times the weight in units of 2⁻²⁰.
    """
    pair = np.repeat(np.arange(len(start) - 1), np.diff(start))
    z = (4 * pair + result + 1).astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    z ^= z >> np.uint64(31)
    if len(weight):
        z *= (weight * 2.0**20 + 0.5).astype(np.uint64)
    marks[:] = 0
    np.add.at(marks, annotator, z)


def jury_patterns(
    results: NDArray[np.int8], annotators: int, pattern: Int32Array, example: IntArray, threads: int
) -> int:
    """Find the distinct verdicts of a jury and number them in their order; ties and missing votes are not decided."""
    decided = np.minimum(results, 2).reshape(-1, annotators)
    _, seen_at, code = np.unique(decided, axis=0, return_index=True, return_inverse=True)
    example[: len(seen_at)] = seen_at
    pattern[:] = code.ravel()
    return len(seen_at)


def _packed_verdicts(results: NDArray[np.int8], annotators: int) -> IntArray:
    place = 4 ** np.arange(annotators - 1, -1, -1)
    return np.asarray((np.minimum(results, 2).reshape(-1, annotators) * place).sum(axis=1), dtype=np.int64)


def mark_verdicts(results: NDArray[np.int8], annotators: int, seen: NDArray[np.uint8], threads: int) -> None:
    """Mark the verdicts of at most eight annotators that occur, two bits each, the first highest."""
    seen[:] = 0
    seen[_packed_verdicts(results, annotators)] = 1


def mark_sides(
    first: Int32Array,
    second: Int32Array,
    codes: NDArray[Any],
    side: NDArray[np.uint8],
    seen: NDArray[np.uint8],
    threads: int,
) -> None:
    """Mark what items did on their pairs: bit 1 where an item did not win one, bit 2 where it did not lose one.

    ``side[code]`` is 0 for rows that the second item won, 1 for those that the first did, 2 without a winner; where
    codes are shares of votes for the first item, they say it themselves.
    """
    won = side[codes] if codes.dtype.kind != "f" else np.where(codes == 0.5, 2, codes > 0.5)
    seen[:] = 0
    np.bitwise_or.at(seen, first, np.array([1, 2, 3], dtype=np.uint8)[won])
    np.bitwise_or.at(seen, second, np.array([2, 1, 3], dtype=np.uint8)[won])


def number_verdicts(
    results: NDArray[np.int8], annotators: int, numbers: Int32Array, pattern: NDArray[np.integer], threads: int
) -> bool:
    """Give each row the number of its verdicts; return whether none of them is below 0."""
    found = numbers[_packed_verdicts(results, annotators)]
    pattern[:] = found.astype(pattern.dtype)
    return bool((found >= 0).all())


def spell_out(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    begin: IntArray,
    kinds: NDArray[np.integer],
    wins: FloatArray,
    vote_counts: FloatArray,
    threads: int,
) -> None:
    """Write the decided votes on each pair one by one, each as often as its weight says (without weights: once).

    A kind is twice the annotator plus 1 if the vote is for the first item. ``begin`` gets where those of each pair
    begin, ``wins`` how many of them are for its first item, and ``vote_counts`` how many there are of each kind.
    """
    times = (result < 2) * (weight.astype(np.int64) if len(weight) else 1)
    begin[:] = np.concatenate([[0], np.cumsum(times)])[start]
    kinds[:] = np.repeat(2 * annotator + result, times)
    pair = np.repeat(np.arange(len(wins)), np.diff(begin))
    wins[:] = np.bincount(pair, kinds % 2, len(wins))
    vote_counts[:] = np.bincount(kinds, minlength=len(vote_counts))


def count_sides(
    start: IntArray, result: NDArray[np.int8], weight: FloatArray, wins: FloatArray, total: FloatArray, threads: int
) -> None:
    """Add up the weight of the decided votes on each pair: those for its first item, and all."""
    own = np.where(result < 2, weight if len(weight) else 1.0, 0.0)
    pair = np.repeat(np.arange(len(wins)), np.diff(start))
    wins[:] = np.bincount(pair, own * (result == 1), len(wins))
    total[:] = np.bincount(pair, own, len(wins))


def split_sides(
    wins: FloatArray, total: FloatArray, begin: IntArray, kinds: NDArray[np.uint8], weight: FloatArray
) -> int:
    """Make a row of each side of a pair that has votes: 1 for its first item, with their weight; return how many."""
    both = np.stack([total - wins, wins], axis=1)
    there = both > 0
    begin[:] = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    n = int(begin[-1])
    kinds[:n] = np.flatnonzero(there) % 2
    weight[:n] = both[there]
    return n


def count_against(
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    lean: FloatArray,
    against: FloatArray,
    cast: FloatArray,
    threads: int,
) -> None:
    """Add up the weight of each annotator's decided votes: those against a lean of each pair, and all.

    A lean is 1 towards the first item of the pair, -1 towards the second; half of a vote goes against a lean of 0.
    """
    own = np.where(result < 2, weight if len(weight) else 1.0, 0.0)
    towards = np.repeat(lean, np.diff(start))
    cast[:] = np.bincount(annotator, own, len(cast))
    against[:] = np.bincount(annotator, own * (1 - np.where(result == 1, towards, -towards)) / 2, len(cast))


def sum_patterns(
    first: Int32Array,
    second: Int32Array,
    pattern: NDArray[np.integer],
    wins: FloatArray,
    votes: FloatArray,
    as_first: FloatArray,
    as_second: FloatArray,
    threads: int,
) -> None:
    """Add up the first item's wins and all votes of each pair's pattern, for its first and for its second item."""
    for item, sums in ((first, as_first), (second, as_second)):
        table = sums.reshape(-1, 2)
        for column, of_pattern in enumerate((wins, votes)):
            table[:, column] = np.bincount(item, of_pattern[pattern], len(table))
