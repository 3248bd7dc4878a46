"""From encoded votes to pairs in canonical order, with equal votes folded into weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.packing import FoldedVotes, Packing, sorted_keys
from jamrank.data.storage import FIRST, MISSING, TIE, DenseVotes
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import any_block
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True)
class EncodedVotes:
    """Encoded votes in input order; without codes of a single question and without weights that are all 1."""

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]
    left: Int32Array
    right: Int32Array
    annotator: Int32Array
    question: Int32Array | None
    results: NDArray[np.int8]
    weights: FloatArray | None
    grades: NDArray[np.int8] | None = None
    covariates: FloatArray | None = None


def fold(votes: EncodedVotes) -> FoldedVotes:
    """Sort the votes by pair and annotator and fold equal ones."""
    if votes.covariates is not None:
        return _fold_with_covariates(votes, votes.covariates)
    if votes.grades is not None:
        return _fold_graded(votes, votes.grades)
    packing = Packing(votes.items, votes.annotators, votes.questions)
    if not packing.possible:
        return _fold_many(votes)
    # The keys go when they are sorted, before memory is taken to unpack them.
    keys = [packing.pack(votes.left, votes.right, votes.annotator, votes.question, votes.results)]
    n_missing = count(votes.results, MISSING)
    return packing.unpack(*sorted_keys(keys.pop(), votes.weights), len(votes.results) - n_missing, n_missing)


def _fold_with_covariates(votes: EncodedVotes, covariates: FloatArray) -> FoldedVotes:
    """Fold votes that are equal in their covariates too: as those of an annotator for each distinct row of these."""
    rows, code = np.unique(covariates, axis=0, return_inverse=True)
    key = votes.annotator.astype(np.int64) * len(rows) + code.ravel()
    distinct, who = np.unique(key, return_inverse=True)
    folded = fold(
        replace(votes, annotators=np.arange(len(distinct)), annotator=who.astype(np.int32), covariates=None)
    )
    table = folded.storage.table
    own = distinct[table.annotator]
    storage = replace(table, annotator=(own // len(rows)).astype(np.int32), covariate=rows[own % len(rows)])
    return folded._replace(storage=storage)


def _fold_graded(votes: EncodedVotes, grades: NDArray[np.int8]) -> FoldedVotes:
    """Fold votes with grades: an annotator's votes of one grade are sorted as if they were another annotator's."""
    lowest = min(int(grades.min(initial=0)), 0)
    n = int(grades.max(initial=0)) - lowest + 1
    who = votes.annotator * np.int32(n) + (grades - np.int8(lowest)).astype(np.int32)
    folded = fold(replace(votes, annotators=np.arange(n * len(votes.annotators)), annotator=who, grades=None))
    table = folded.storage.table
    grade = (table.annotator % n + lowest).astype(np.int8)
    storage = replace(table, annotator=table.annotator // np.int32(n), grade=grade if grade.any() else grade[:0])
    return folded._replace(storage=storage)


def _fold_many(votes: EncodedVotes) -> FoldedVotes:
    """Fold votes with so many ids that a vote does not fit into 64 bits: by the ranks of the pairs that occur."""
    first, second = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    asked = np.zeros(len(first), dtype=np.int32) if votes.question is None else votes.question
    n_items, n_questions = len(votes.items), len(votes.questions)
    wide, _ = mixed_radix([(first, n_items), (second, n_items), (asked, n_questions)])
    _, at, rank = np.unique(wide, return_index=True, return_inverse=True)
    # The rank of the pair takes the place of the question; two placeholder items keep the side of display.
    swapped = (votes.left > votes.right).astype(np.int32)
    folded = fold(
        replace(
            votes,
            items=np.arange(2),
            questions=np.arange(len(at)),
            left=swapped,
            right=1 - swapped,
            question=rank.astype(np.int32),
        )
    )
    return folded._replace(pair_first=first[at], pair_second=second[at], pair_question=asked[at])


def fold_matrix(
    items: NDArray[Any],
    annotators: NDArray[Any],
    questions: NDArray[Any],
    left: Int32Array,
    right: Int32Array,
    votes: DenseVotes,
    in_order: bool,
) -> FoldedVotes:
    """Sort a matrix of pairs × annotators by pair; where a pair occurs twice, fold its votes one by one.

    votes: The matrix, seen from the left.
    in_order: Whether the pairs are sorted and distinct, and name the lower item first.
    """
    dense = _sort_matrix(len(items), left, right, votes, in_order)
    if dense is not None:
        return dense
    results, (n_pairs, n_annotators) = votes.results, votes.shape
    left, right = np.repeat(left, n_annotators), np.repeat(right, n_annotators)
    who = np.tile(np.arange(n_annotators, dtype=np.int32), n_pairs)
    return fold(EncodedVotes(items, annotators, questions, left, right, who, None, results.ravel(), None))


def _sort_matrix(
    n_items: int, left: Int32Array, right: Int32Array, votes: DenseVotes, in_order: bool
) -> FoldedVotes | None:
    """Store a matrix whose rows are distinct pairs as it is; None where two rows are the same pair."""
    first, second, swapped, results = left, right, votes.swapped, None
    if not in_order and any_block(len(left), lambda block: left[block] > right[block]):
        swapped = left > right
        first, second = np.where(swapped, right, left), np.where(swapped, left, right)
        results = _turned(votes.results, swapped[:, None])
        in_order = kernels.in_order(first, second, default_threads())
    if not in_order:
        key = first.astype(np.int64) * n_items + second
        order = np.argsort(key, kind="stable")
        if (np.diff(key[order]) == 0).any():
            return None
        first, second = first[order], second[order]
        results = (votes.results if results is None else results)[order]
        swapped = swapped[order] if len(swapped) else swapped
    n_missing = 0 if votes.decided else count(votes.results, MISSING)
    n_pairs, n_annotators = votes.shape
    return FoldedVotes(
        first,
        second,
        np.broadcast_to(np.int32(0), len(first)),
        votes if results is None else DenseVotes(results, swapped, votes.decided),
        n_pairs * n_annotators - n_missing,
        n_missing,
    )


def _turned(results: NDArray[np.int8], swapped: BoolArray) -> NDArray[np.int8]:
    """Return results seen from the canonical order: reversed where the first item was shown on the right."""
    turned: NDArray[np.int8] = np.where(swapped & (results <= FIRST), FIRST - results, results).astype(np.int8)
    return turned


def count(results: NDArray[np.int8], result: int) -> int:
    """Count the votes with a result."""
    return int(np.count_nonzero(results == result))


def mixed_radix(digits: list[tuple[NDArray[Any], int]]) -> tuple[IntArray, int]:
    """Return one sortable integer for each row of digits, and a bound on it."""
    key, bound = np.zeros(len(digits[0][0]), dtype=np.int64), 1
    for digit, radix in digits:
        if bound * radix >= 2**63:
            # Too wide for one integer: replace the digits so far by their rank.
            distinct, key = np.unique(key, return_inverse=True)
            bound = len(distinct)
        key = key * radix + digit
        bound *= radix
    return key, bound


def compare_ratings(
    ratings: NDArray[Any], item: Int32Array, n_items: int, annotator: Int32Array, question: Int32Array
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, NDArray[np.int8]]:
    """Compare every two ratings of different items by one annotator within one question.

    Returns left, right, annotator, question (codes of each vote; the item that sorts first is on the left), results.
    """
    n_annotators, n_questions = (int(codes.max(initial=-1)) + 1 for codes in (annotator, question))
    ballot, n_ballots = mixed_radix([(annotator, n_annotators), (question, n_questions)])
    left, right = _pairs_within(ballot, n_ballots, item, n_items)
    results: NDArray[np.int8] = (ratings[left] > ratings[right]).astype(np.int8)
    results[ratings[left] == ratings[right]] = TIE
    return item[left], item[right], annotator[left], question[left], results


def _pairs_within(ballot: IntArray, n_ballots: int, item: Int32Array, n_items: int) -> tuple[IntArray, IntArray]:
    """Return every two rows of one ballot and different items, the row of the lower item first."""
    key, _ = mixed_radix([(ballot, n_ballots), (item, n_items)])
    order = np.argsort(key, kind="stable")
    key, ballot = key[order], ballot[order]
    # A row is paired with all rows of its ballot that come after those of its item.
    begin = np.searchsorted(key, key, side="right")
    count = np.searchsorted(ballot, ballot, side="right") - begin
    # Of a few ratings there are many pairs: half the memory, where numbers are small enough.
    kind = np.int32 if count.sum() < 2**31 else np.int64
    left = np.repeat(np.arange(len(key), dtype=kind), count)
    right = np.repeat((begin - (np.cumsum(count) - count)).astype(kind), count)
    right += np.arange(len(left), dtype=kind)
    order = order.astype(kind)
    return order[left], order[right]
