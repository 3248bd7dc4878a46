"""When votes were cast: the share of each folded vote in periods of equally many votes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from jamrank.data.ids import Column, as_array
from jamrank.data.storage import MISSING, VoteTable
from jamrank.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons
    from jamrank.data.folding import EncodedVotes

N_PERIODS = 5
# Columns that say when a vote was cast, or as which.
TIMES = ("time", "timestamp", "tstamp", "order")
# Fewer distinct values, such as the two orders in which a pair is shown, are no times.
_FEWEST = 10
_MOST_KEYS = 2**62


def parse_times(column: Column) -> FloatArray | None:
    """Return the rank of each row in time; None where a column does not tell.

    Numbers, dates and texts that begin like 2026-11-16 are times; a vote without one makes the order unknown.
    """
    series = column if isinstance(column, pl.Series) else pl.Series(as_array(column).tolist(), strict=False)
    if series.dtype == pl.String:
        numbers = series.cast(pl.Float64, strict=False)
        if not numbers.null_count():
            series = numbers
        elif not series.str.contains(r"^\d{4}-\d\d-\d\d").all():
            return None
    elif not (series.dtype.is_numeric() or series.dtype.is_temporal()):
        return None
    if series.null_count() or (series.dtype.is_float() and not series.is_finite().all()):
        return None
    return series.rank("min").to_numpy().astype(np.float64) if series.n_unique() >= _FEWEST else None


def find_times(columns: dict[str, Any]) -> Any:
    """Return the column that says when votes were cast; None where there is none."""
    return next((columns[name] for name in TIMES if name in columns), None)


def with_periods(votes: Comparisons, encoded: EncodedVotes, rank: FloatArray) -> Comparisons:
    """Return the votes with the share of each folded one in every period; as they are where some are soft."""
    cast = encoded.results != MISSING
    radix = (votes.n_items, len(votes.questions), votes.n_annotators, 3, 2, 11)
    if votes.vote_soft.any() or votes.n_items * np.prod([float(one) for one in radix]) > _MOST_KEYS:
        return votes
    left, right = encoded.left[cast].astype(np.int64), encoded.right[cast].astype(np.int64)
    swapped = left > right
    question = 0 if encoded.question is None else encoded.question[cast]
    grade = 0 if encoded.grades is None else encoded.grades[cast]
    result = encoded.results[cast]
    result = np.where(swapped & (result < 2), 1 - result, result)
    pair = votes.vote_pair
    of_row = _key(radix, np.minimum(left, right), np.maximum(left, right), question, encoded.annotator[cast], result,
                  swapped, grade)  # fmt: skip
    folded = _key(radix, votes.pair_first[pair].astype(np.int64), votes.pair_second[pair], votes.pair_question[pair],
                  votes.vote_annotator, votes.vote_result, votes.vote_swapped, votes.vote_grade)  # fmt: skip
    order = np.argsort(folded)
    entry = order[np.searchsorted(folded, of_row, sorter=order)]
    # Votes cast at the same time are in the same period.
    earlier = np.searchsorted(np.sort(rank[cast]), rank[cast])
    period = earlier * N_PERIODS // len(earlier)
    weight = np.ones(len(entry)) if encoded.weights is None else encoded.weights[cast]
    counts = np.bincount(entry * N_PERIODS + period, weight, len(folded) * N_PERIODS)
    shares: FloatArray = counts.astype(np.float64).reshape(-1, N_PERIODS)
    storage: VoteTable = replace(votes.storage.table, period=shares)
    return replace(votes, storage=storage)


def _key(radix: tuple[int, ...], first: IntArray, *digits: Any) -> IntArray:
    key = first
    for base, digit in zip(radix, digits, strict=True):
        key = key * base + digit
    return np.asarray(key)
