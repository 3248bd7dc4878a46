"""Passes over rows that lie in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels import default_threads, kernels
from jamrank.rows import Codes, Lists, Patterns, Rows

__all__ = ["LOSSES", "Expectation", "Maximisation", "MemoryEngine"]

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

LOSSES = {"logistic": 0, "hinge": 1}
# Beyond this many patterns a table of sums for each block would not stay in cache.
_MOST_PATTERNS_IN_PASS = 1 << 14
_LARGEST_LOG_RATIO = 300.0


@dataclass(frozen=True)
class Maximisation:
    """What a pass says of the M-step at some scores.

    ``gradient`` and ``degree`` have one entry an item: the derivative in its score, and the diagonal of the
    curvature. ``curvature`` has one entry for each of the rows' ``links``, never negative, in single precision.
    """

    value: float
    gradient: Doubles
    degree: Doubles
    curvature: Floats


@dataclass(frozen=True)
class Expectation(Maximisation):
    """What the fused pass says.

    ``value`` is the log-likelihood with the truths summed out; ``truly_first`` says, by coin and side, how many votes
    were cast where the first item is truly better; ``posterior`` is the probability of that for each row (empty
    unless asked for). ``hidden`` says, by coin, how much of the information on it is lost because truths are not
    known: the sum of ``q (1 - q)`` over its votes, or None where nobody added it up.
    """

    truly_first: Doubles
    posterior: Doubles
    hidden: Doubles | None = None


class MemoryEngine:
    """Runs passes over rows in memory, in threads; its sums do not depend on how many.

    Parameters
    ----------
    rows : Rows
        What to pass over.
    threads : int, optional
        Every available core unless given.
    """

    def __init__(self, rows: Rows, threads: int | None = None) -> None:
        self.rows = rows
        self.threads = threads or default_threads()
        self.passes = 0
        self._scratch: Floats | None = None

    def expectation(
        self, scores: Doubles, tables: Doubles, reuse: Expectation | None = None, posterior: bool = False
    ) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient, curvature and, if wanted, posterior.

        Parameters
        ----------
        scores : ndarray
            One an item.
        tables : ndarray of shape (coins, 2, 2)
            Log-likelihood of a vote by coin, by whether it is for the first item, and by the truth.
        reuse : Expectation, optional
            An earlier result whose curvature may be overwritten.
        posterior : bool
            Whether to keep the posterior of every row.
        """
        self.passes += 1
        if self.rows.single_votes and isinstance(self.rows.ballots, Patterns):
            return self._over_votes(self.rows.ballots, scores, tables, posterior)
        curvature = self._room_for_curvature(reuse)
        if isinstance(self.rows.ballots, Lists):
            return self._over_lists(self.rows.ballots, scores, tables, curvature, posterior)
        return self._over_patterns(self.rows.ballots, scores, tables, curvature, posterior)

    def _over_patterns(
        self, ballots: Patterns, scores: Doubles, tables: Doubles, curvature: Floats, posterior: bool
    ) -> Expectation:
        rows = self.rows
        base, if_first, if_second = _likelihoods(ballots, tables)
        in_pass = len(ballots) <= _MOST_PATTERNS_IN_PASS
        truth = np.empty(len(rows) if posterior or not in_pass else 0)
        gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
        by_pattern = np.empty(len(ballots) if in_pass else 0)
        value = kernels.expectation(
            *rows.layout,
            ballots.of_row,
            rows.weight,
            if_first,
            if_second,
            np.ascontiguousarray(scores),
            truth,
            curvature,
            gradient,
            degree,
            by_pattern,
            self.threads,
        )
        value += float((rows.pattern_weight * base).sum())
        truly_first = ballots.over_patterns(by_pattern) if in_pass else rows.over_votes(truth)
        return Expectation(value, gradient, degree, self._by_link(curvature), truly_first, truth)

    def _over_votes(self, ballots: Patterns, scores: Doubles, tables: Doubles, posterior: bool) -> Expectation:
        rows, links = self.rows, self.rows.links
        base, if_first, if_second = _likelihoods(ballots, tables)
        truth = np.empty(len(rows) if posterior else 0)
        curvature = np.empty(len(links.first), dtype=np.float32)
        gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
        truly_first, hidden = np.empty(len(ballots)), np.empty(len(ballots))
        value = kernels.expectation_votes(
            *links.layout,
            np.empty(0, dtype=np.int64) if rows.begin is None else rows.begin,
            ballots.of_row,
            rows.weight,
            if_first,
            if_second,
            np.ascontiguousarray(scores),
            truth,
            curvature,
            gradient,
            degree,
            truly_first,
            hidden,
            self.threads,
        )
        value += float((rows.pattern_weight * base).sum())
        by_coin = ballots.over_patterns(hidden).sum(axis=1)
        return Expectation(value, gradient, degree, curvature, ballots.over_patterns(truly_first), truth, by_coin)

    def _over_lists(
        self, ballots: Lists, scores: Doubles, tables: Doubles, curvature: Floats, posterior: bool
    ) -> Expectation:
        rows = self.rows
        truth = np.empty(len(rows) if posterior else 0)
        gradient, degree = np.empty(rows.n_items), np.empty(rows.n_items)
        truly_first = np.empty(2 * ballots.n_coins)
        value = kernels.expectation_lists(
            *rows.layout,
            ballots.start,
            ballots.vote,
            ballots.weight,
            np.ascontiguousarray(tables).ravel(),
            np.ascontiguousarray(scores),
            truth,
            curvature,
            gradient,
            degree,
            truly_first,
            self.threads,
        )
        return Expectation(value, gradient, degree, self._by_link(curvature), truly_first.reshape(-1, 2), truth)

    def _room_for_curvature(self, reuse: Expectation | None) -> Floats:
        """Return where a pass may write the curvature of each row."""
        if self.rows.links.begin is None:
            return reuse.curvature if reuse else np.empty(len(self.rows), dtype=np.float32)
        if self._scratch is None:
            self._scratch = np.empty(len(self.rows), dtype=np.float32)
        return self._scratch

    def _by_link(self, curvature: Floats) -> Floats:
        """Add up the curvature of rows of the same two items: products with it then cost less."""
        begin = self.rows.links.begin
        if begin is None:
            return curvature
        return np.asarray(np.add.reduceat(curvature, begin, dtype=np.float64), dtype=np.float32)

    @property
    def edges(self) -> tuple[Ints, Ints, Longs]:
        """First and second item of each entry of a curvature, and where each distinct pair of them begins."""
        rows, links = self.rows, self.rows.links
        return links.first, links.second, rows.edges if links.begin is None else np.arange(len(links.first))

    def beginning(self, scores: Doubles) -> tuple[Maximisation, Doubles]:
        """Run the pass of the M-step as if the shares of votes were the posterior.

        Also returns what the E-step would say of the votes then.
        """
        rows, ballots = self.rows, self.rows.ballots
        if isinstance(ballots, Patterns) and rows.begin is not None and rows.known_share is not None:
            return self._beginning_by_link(ballots, rows.begin, rows.known_share, scores)
        if not isinstance(ballots, Patterns) or rows.single_votes:
            return self.maximisation(scores, rows.share), rows.over_votes(rows.share)
        share = ballots.share
        return (
            self.maximisation(scores, share, pattern=ballots.of_row),
            ballots.over_patterns(rows.pattern_weight * share),
        )

    def _beginning_by_link(
        self, ballots: Patterns, begin: Longs, share: Doubles, scores: Doubles
    ) -> tuple[Maximisation, Doubles]:
        """Do so where rows of the same items have the same share: what holds for one of them holds for all."""
        rows = self.rows
        cast = np.add.reduceat(rows.weight, begin[:-1]) if len(rows.weight) else np.diff(begin).astype(np.float64)
        by_kind = np.empty(len(ballots))
        kernels.sum_by_kind(begin, ballots.of_row, rows.weight, share, by_kind, self.threads)
        at = self._maximise(rows.links.layout, cast, scores, share, "logistic", None)
        return at, ballots.over_patterns(by_kind)

    def maximisation(
        self, scores: Doubles, posterior: Doubles, loss: str = "logistic", pattern: Codes | None = None
    ) -> Maximisation:
        """Run the pass of the M-step at new scores, with the posterior held fixed.

        Parameters
        ----------
        scores : ndarray
            One an item.
        posterior : ndarray
            One for each row; with ``pattern``, which has the pattern of each row, one for each of these.
        loss : {"logistic", "hinge"}
        pattern : ndarray, optional
        """
        at = self._maximise(self.rows.layout, self.rows.weight, scores, posterior, loss, pattern)
        return replace(at, curvature=self._by_link(at.curvature))

    def _maximise(
        self,
        layout: tuple[Longs, NDArray[np.integer]],
        weight: Doubles,
        scores: Doubles,
        posterior: Doubles,
        loss: str,
        pattern: Codes | None,
    ) -> Maximisation:
        n_items, n_rows = self.rows.n_items, len(posterior if pattern is None else pattern)
        curvature = np.empty(n_rows, dtype=np.float32)
        gradient, degree = np.empty(n_items), np.empty(n_items)
        self.passes += 1
        value = kernels.maximisation(
            *layout,
            np.empty(0, dtype=np.int32) if pattern is None else pattern,
            weight,
            posterior,
            np.ascontiguousarray(scores),
            LOSSES[loss],
            curvature,
            gradient,
            degree,
            self.threads,
        )
        return Maximisation(value, gradient, degree, curvature)

    def curvature_times(self, curvature: Floats, vector: Doubles) -> Doubles:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product = np.empty(self.rows.n_items)
        kernels.laplacian(*self.rows.links.layout, curvature, np.ascontiguousarray(vector), product, self.threads)
        return product


def _likelihoods(ballots: Patterns, tables: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the log-likelihood of each pattern's votes that is common to both truths, and the rest under either.

    One table is quicker than two: where the ratio of the likelihoods can be written as a number, the former is empty.
    """
    log_first, log_second = ballots.log_likelihoods(tables)
    if (np.abs(log_second - log_first) <= _LARGEST_LOG_RATIO).all():
        return log_first, np.empty(0), np.exp(log_second - log_first)
    base = np.maximum(log_first, log_second)
    return base, np.exp(log_first - base), np.exp(log_second - base)
