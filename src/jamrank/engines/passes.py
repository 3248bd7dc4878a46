"""The fused pass over rows that lie in memory, whoever holds them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels import kernels
from jamrank.rows import Lists, Patterns

__all__ = ["Laid", "Sums", "expectation"]

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
# Log-likelihood, gradient and degree by item, and votes where the first item is truly better by coin and side.
Sums = tuple[float, Doubles, Doubles, Doubles]

# Beyond this many patterns a table of sums for each block would not stay in cache.
_MOST_PATTERNS_IN_PASS = 1 << 14
_LARGEST_LOG_RATIO = 300.0


class Laid(Protocol):
    """Rows as a pass reads them; :class:`jamrank.rows.Rows` says what each part is."""

    @property
    def layout(self) -> tuple[NDArray[np.int64], NDArray[np.integer]]: ...  # noqa: D102
    @property
    def weight(self) -> Doubles: ...  # noqa: D102
    @property
    def ballots(self) -> Patterns | Lists: ...  # noqa: D102
    @property
    def pattern_weight(self) -> Doubles: ...  # noqa: D102
    @property
    def n_items(self) -> int: ...  # noqa: D102
    def __len__(self) -> int: ...
    def over_votes(self, values: Doubles, power: int = 1) -> Doubles: ...  # noqa: D102


def expectation(
    rows: Laid, scores: Doubles, tables: Doubles, curvature: Floats, posterior: Doubles, threads: int
) -> Sums:
    """Run the fused pass.

    Parameters
    ----------
    rows : Laid
        What to pass over.
    scores : ndarray
        One an item.
    tables : ndarray of shape (coins, 2, 2)
        Log-likelihood of a vote by coin, by whether it is for the first item, and by the truth.
    curvature : ndarray of float32
        The curvature of each row goes here.
    posterior : ndarray
        The probability that the first item of each row is truly better goes here, unless it is empty.
    threads : int
    """
    if isinstance(rows.ballots, Lists):
        return _over_lists(rows, rows.ballots, scores, tables, curvature, posterior, threads)
    return _over_patterns(rows, rows.ballots, scores, tables, curvature, posterior, threads)


def _over_patterns(
    rows: Laid,
    ballots: Patterns,
    scores: Doubles,
    tables: Doubles,
    curvature: Floats,
    posterior: Doubles,
    threads: int,
) -> Sums:
    log_first, log_second = ballots.log_likelihoods(tables)
    # One table is quicker than two, where the ratio of the likelihoods can be written as a number.
    one_table = bool((np.abs(log_second - log_first) <= _LARGEST_LOG_RATIO).all())
    base = log_first if one_table else np.maximum(log_first, log_second)
    in_pass = len(ballots) <= _MOST_PATTERNS_IN_PASS
    truth = posterior if in_pass or len(posterior) else np.empty(len(rows))
    gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
    by_pattern = np.empty(len(ballots) if in_pass else 0)
    value = kernels.expectation(
        *rows.layout,
        ballots.of_row,
        rows.weight,
        np.empty(0) if one_table else np.exp(log_first - base),
        np.exp(log_second - base),
        np.ascontiguousarray(scores),
        truth,
        curvature,
        gradient,
        degree,
        by_pattern,
        threads,
    )
    value += float((rows.pattern_weight * base).sum())
    return value, gradient, degree, ballots.over_patterns(by_pattern) if in_pass else rows.over_votes(truth)


def _over_lists(
    rows: Laid,
    ballots: Lists,
    scores: Doubles,
    tables: Doubles,
    curvature: Floats,
    posterior: Doubles,
    threads: int,
) -> Sums:
    gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
    truly_first = np.empty(2 * ballots.n_coins)
    value = kernels.expectation_lists(
        *rows.layout,
        ballots.start,
        ballots.vote,
        ballots.weight,
        np.ascontiguousarray(tables).ravel(),
        np.ascontiguousarray(scores),
        posterior,
        curvature,
        gradient,
        degree,
        truly_first,
        threads,
    )
    return value, gradient, degree, truly_first.reshape(-1, 2)
