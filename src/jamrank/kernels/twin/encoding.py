"""Numpy twins of what turns ids into codes, votes into integers, and counts the lines of a text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels.twin.checks import in_order
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray


def pack_votes(
    left: Int32Array,
    right: Int32Array,
    annotator: Int32Array,
    question: Int32Array,
    result: NDArray[np.int8],
    item_bits: int,
    question_bits: int,
    annotator_bits: int,
    keys: IntArray,
    threads: int,
) -> None:
    """Pack each vote into one integer that sorts by pair, question and annotator.

    From the highest bits: the items of the pair in order, question, annotator, whether it was shown the other way
    round, and the result seen from the pair's order.
    """
    swapped = left > right
    said = np.where(swapped & (result < 2), 1 - result, result)
    keys[:] = np.minimum(left, right)
    for digit, bits in (
        (np.maximum(left, right), item_bits),
        (question if len(question) else 0, question_bits),
        (annotator, annotator_bits),
        (swapped * 4 + said, 3),
    ):
        keys <<= bits
        keys |= digit


def pack_kinds(
    annotator: Int32Array,
    result: NDArray[np.int8],
    weight: FloatArray,
    kind_bits: int,
    words: NDArray[np.unsignedinteger[Any]],
) -> int:
    """Turn votes into words: the kind of each, which takes ``kind_bits``, and above it how often it is counted.

    Returns how often all are counted; -1 where a weight is no whole number or too large.
    """
    own = weight if len(weight) else np.ones(len(words))
    most = (1 << (8 * words.itemsize - kind_bits)) - 1
    if (own != np.clip(np.floor(own), 0, most)).any():
        return -1
    times = np.where(result < 2, own, 0).astype(np.int64)
    words[:] = times << kind_bits | (2 * annotator + (result & 1))
    return int(times.sum())


def run_lengths(start: IntArray, lengths: NDArray[np.uint8]) -> bool:
    """Find how long runs are, given where each begins and, at last, where all end.

    Returns whether a byte holds every length.
    """
    found = np.diff(start)
    lengths[:] = found & 255
    return bool((found <= 255).all())


def count_pairs(keys: IntArray, inner_bits: int, threads: int) -> int:
    """Count the pairs, within questions, of sorted keys; ``inner_bits`` is what comes after them."""
    return int(np.count_nonzero(np.diff(keys >> inner_bits, prepend=-1)))


def unpack_votes(
    keys: IntArray,
    item_bits: int,
    question_bits: int,
    annotator_bits: int,
    first: Int32Array,
    second: Int32Array,
    question: Int32Array,
    start: IntArray,
    annotator: Int32Array,
    result: NDArray[np.int8],
    swapped: BoolArray,
    threads: int,
) -> None:
    """Turn sorted keys into votes, and the pairs they are on."""
    annotator[:] = (keys >> 3) & ((1 << annotator_bits) - 1)
    result[:] = keys & 3
    swapped[:] = keys & 4
    pair_keys = keys >> (annotator_bits + 3)
    begins = np.flatnonzero(np.diff(pair_keys, prepend=-1))
    start[:] = np.append(begins, len(keys))
    own = pair_keys[begins]
    if len(question):
        question[:] = own & ((1 << question_bits) - 1)
    first[:] = own >> (question_bits + item_bits)
    second[:] = (own >> question_bits) & ((1 << item_bits) - 1)


def mark_ids(ids: NDArray[np.integer], low: int, seen: NDArray[np.uint8], threads: int) -> None:
    """Mark the ids that occur, counted from ``low``."""
    seen[ids - low] = 1


def take_ids(ids: NDArray[np.integer], codes: Int32Array, seen: NDArray[np.uint8], threads: int) -> bool:
    """Take ids from 0 on as their own codes, and mark those that occur; return False where one is too large."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < len(seen)):
        return False
    codes[:] = ids
    seen[ids] = 1
    return True


def take_pairs(
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    left_codes: Int32Array,
    right_codes: Int32Array,
    seen: NDArray[np.uint8],
    threads: int,
) -> int:
    """Take the ids of pairs as their own codes, and mark those that occur; return -1 where one is too large.

    Otherwise return 1 if the pairs are sorted and distinct, and name the lower id first, or 0.
    """
    if not (take_ids(left, left_codes, seen, threads) and take_ids(right, right_codes, seen, threads)):
        return -1
    return int(in_order(left_codes, right_codes, threads))


def code_ids(ids: NDArray[np.integer], low: int, rank: Int32Array, codes: Int32Array, threads: int) -> None:
    """Give each id its rank among those that occur or, without ranks, its distance from ``low``."""
    places = ids.astype(np.int64) - low
    codes[:] = rank[places] if len(rank) else places


def code_strings(values: list[Any] | NDArray[np.object_], codes: Int32Array) -> list[str] | None:
    """Give each string its code; return the distinct ones as they are first met, or None where one is no string."""
    if any(type(value) is not str for value in values):
        return None
    code_of: dict[str, int] = {}
    codes[:] = [code_of.setdefault(value, len(code_of)) for value in values]
    return list(code_of)


def code_rows(text: NDArray[np.uint8], width: int, codes: Int32Array, first: IntArray, threads: int) -> int:
    """Give each row of ``width`` bytes its code, and each code its first row; return how many codes there are."""
    code_of: dict[bytes, int] = {}
    for place, row in enumerate(text.reshape(-1, width)):
        codes[place] = code_of.setdefault(row.tobytes(), len(code_of))
        if codes[place] == len(code_of) - 1 and (not place or codes[:place].max() < codes[place]):
            first[codes[place]] = place
    return len(code_of)


def sort_keys(keys: IntArray, room: IntArray, bits: int, threads: int) -> None:
    """Sort non-negative keys of ``bits`` bits; ``room``, for as many, gets anything."""
    keys.sort()


def fold_keys(keys: IntArray, distinct: IntArray, times: FloatArray, threads: int) -> None:
    """Find the distinct ones of sorted keys, and how often each occurs."""
    distinct[:], times[:] = np.unique(keys, return_counts=True)


def count_spelled(result: NDArray[np.int8], weight: FloatArray, threads: int) -> int:
    """Add up the weights of decided votes; -1 where a weight is no whole number."""
    if not len(weight):
        return int(np.count_nonzero(result < 2))
    return int(weight[result < 2].sum()) if (weight == np.floor(weight)).all() else -1


def prior_of_pairs(
    first: Int32Array, second: Int32Array, scores: FloatArray, prior: FloatArray, threads: int
) -> None:
    """Compute the probability that the first item of each pair is better, from the scores."""
    with np.errstate(over="ignore"):
        prior[:] = 1 / (1 + np.exp(scores[second] - scores[first]))


def sum_by_link(begin: IntArray, value: FloatArray, sums: FloatArray, threads: int) -> None:
    """Add up the values of each link's rows; without any, count them."""
    link = np.repeat(np.arange(len(sums)), np.diff(begin))
    sums[:] = np.bincount(link, value if len(value) else None, len(sums))


def sum_by_code(code: NDArray[np.integer], value: FloatArray, sums: FloatArray, threads: int) -> None:
    """Add up values (without any: count) by code."""
    sums[:] = np.bincount(code, value if len(value) else None, len(sums))


def repeat(begin: IntArray, of_link: NDArray[Any], of_row: NDArray[Any], threads: int) -> None:
    """Give all rows of a link its value."""
    of_row[:] = np.repeat(of_link, np.diff(begin))


_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


def regular_lines(text: NDArray[np.uint8], delimiter: int, width: int, threads: int) -> int:
    """Count the lines of a text, which ends with a newline; -1 unless every one has ``width`` fields."""
    if not len(text) or text[-1] != _NEWLINE:
        return -1
    is_quote, is_return = text == _QUOTE, text == _RETURN
    if is_return[-1] or (text[1:][is_return[:-1]] != _NEWLINE).any():
        return -1
    is_end = (text == delimiter) | (text == _NEWLINE)
    inside = np.logical_xor.accumulate(is_quote)
    opening, closing, is_edge = is_quote & inside, is_quote & ~inside, is_quote | is_end | is_return
    # Each opening quote begins a field and each closing one ends it, or both stand for one quote.
    if inside[-1] or (opening[1:] & ~is_edge[:-1]).any() or (closing[:-1] & ~is_edge[1:]).any():
        return -1
    marks = text[is_end & ~inside]
    expected = np.full(width, delimiter, dtype=np.uint8)
    expected[-1] = _NEWLINE
    if len(marks) % width or (marks.reshape(-1, width) != expected).any():
        return -1
    return len(marks) // width
