"""When votes were cast: the share of each folded vote in periods of equally many votes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.folding import EncodedVotes, mixed_radix
from jamrank.data.ids import Column, as_array
from jamrank.data.storage import MISSING, TIE, VoteTable
from jamrank.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

N_PERIODS = 5
# Columns that say when a vote was cast, or as which.
TIMES = ("time", "timestamp", "tstamp", "order")
# Fewer distinct values, such as the two orders in which a pair is shown, are no times.
_FEWEST = 10


def parse_times(column: Column) -> FloatArray | None:
    """Return the rank of each row in time; None where a column does not tell.

    Numbers, dates and texts that begin like 2026-11-16 are times; a vote without one makes the order unknown.
    """
    series = _series(column)
    if series is None:
        return None
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


def _series(column: Column) -> pl.Series | None:
    """Return a column as a series; None if it holds anything that no series does, such as records in lists."""
    if isinstance(column, pl.Series):
        return column
    try:
        return pl.Series(as_array(column).tolist(), strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError, OverflowError):
        return None


def find_times(columns: dict[str, Any]) -> Any:
    """Return the column that says when votes were cast; None where there is none."""
    return next((columns[name] for name in TIMES if name in columns), None)


def with_periods(votes: Comparisons, encoded: EncodedVotes, rank: FloatArray) -> Comparisons:
    """Return the votes with the share of each folded one in every period; as they are where some are soft."""
    if votes.vote_soft.any():
        return votes
    cast = encoded.results != MISSING
    folded, of_row = _keys(votes, encoded, cast)
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


def _keys(votes: Comparisons, encoded: EncodedVotes, cast: BoolArray) -> tuple[IntArray, IntArray]:
    """Return a number for each folded vote and each row that was cast: equal where the row is part of the vote."""
    left, right, result = encoded.left[cast], encoded.right[cast], encoded.results[cast]
    swapped, none = left > right, np.zeros(len(left), dtype=np.int8)
    of_row: tuple[NDArray[Any], ...] = (
        np.minimum(left, right),
        np.maximum(left, right),
        none if encoded.question is None else encoded.question[cast],
        encoded.annotator[cast],
        np.where(swapped & (result < TIE), 1 - result, result),
        swapped,
        none if encoded.grades is None else encoded.grades[cast],
    )
    pair = votes.vote_pair
    of_vote: tuple[NDArray[Any], ...] = (
        votes.pair_first[pair],
        votes.pair_second[pair],
        votes.pair_question[pair],
        votes.vote_annotator,
        votes.vote_result,
        votes.vote_swapped,
        votes.vote_grade,
    )
    radix = [votes.n_items, votes.n_items, len(votes.questions), votes.n_annotators, 3, 2, 11]
    digits = [np.concatenate(both) for both in zip(of_vote, of_row, strict=True)]
    if encoded.covariates is not None:
        values = np.concatenate([votes.storage.table.covariate, encoded.covariates[cast]])
        rows, code = np.unique(values, axis=0, return_inverse=True)
        digits.append(code.ravel())
        radix.append(len(rows))
    key, _ = mixed_radix(list(zip(digits, radix, strict=True)))
    return key[: len(pair)], key[len(pair) :]
