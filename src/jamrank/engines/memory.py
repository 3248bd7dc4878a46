"""Passes over rows that lie in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels import default_threads, kernels
from jamrank.rows import Rows

__all__ = ["LOSSES", "Expectation", "Maximisation", "MemoryEngine"]

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]

LOSSES = {"logistic": 0, "hinge": 1}
# Beyond this many patterns a table of sums for each block would not stay in cache.
_MOST_PATTERNS_IN_PASS = 1 << 14


@dataclass(frozen=True)
class Maximisation:
    """What a pass says of the M-step at some scores.

    ``gradient`` and ``degree`` have one entry an item: the derivative in its score, and the diagonal of the
    curvature. ``curvature`` has one entry a row, never negative, in single precision.
    """

    value: float
    gradient: Doubles
    degree: Doubles
    curvature: Floats


@dataclass(frozen=True)
class Expectation(Maximisation):
    """What the fused pass says.

    ``value`` is the log-likelihood with the truths summed out, ``by_pattern`` the expected number of rows of each
    pattern in which the first item is truly better, ``posterior`` its probability for each row (empty unless asked
    for).
    """

    by_pattern: Doubles
    posterior: Doubles


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

    def expectation(
        self,
        scores: Doubles,
        log_first: Doubles,
        log_second: Doubles,
        reuse: Expectation | None = None,
        posterior: bool = False,
    ) -> Expectation:
        """Run the fused pass: log-likelihood, sums by pattern, gradient, curvature and, if wanted, posterior.

        Parameters
        ----------
        scores : ndarray
            One an item.
        log_first, log_second : ndarray
            Log-likelihood of each pattern's votes when the first, or the second, item is truly better.
        reuse : Expectation, optional
            An earlier result whose curvature may be overwritten.
        posterior : bool
            Whether to keep the posterior of every row.
        """
        rows, n_items, n_patterns = self.rows, self.rows.n_items, len(self.rows.patterns)
        largest = np.maximum(log_first, log_second)
        in_pass = n_patterns <= _MOST_PATTERNS_IN_PASS
        truth = np.empty(len(rows) if posterior or not in_pass else 0)
        curvature = reuse.curvature if reuse else np.empty(len(rows), dtype=np.float32)
        gradient, degree = np.empty(n_items), np.empty(n_items)
        by_pattern = np.empty(n_patterns if in_pass else 0)
        self.passes += 1
        value = kernels.expectation(
            rows.first,
            rows.second,
            rows.pattern,
            rows.weight,
            np.exp(log_first - largest),
            np.exp(log_second - largest),
            np.ascontiguousarray(scores),
            truth,
            curvature,
            gradient,
            degree,
            by_pattern,
            self.threads,
        )
        value += float((rows.pattern_weight * largest).sum())
        if not in_pass:
            by_pattern = rows.by_pattern(truth)
        return Expectation(value, gradient, degree, curvature, by_pattern, truth)

    def maximisation(self, scores: Doubles, posterior: Doubles, loss: str = "logistic") -> Maximisation:
        """Run the pass of the M-step at new scores, with the posterior held fixed."""
        rows, n_items = self.rows, self.rows.n_items
        curvature = np.empty(len(rows), dtype=np.float32)
        gradient, degree = np.empty(n_items), np.empty(n_items)
        self.passes += 1
        value = kernels.maximisation(
            rows.first,
            rows.second,
            rows.weight,
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
        rows = self.rows
        kernels.laplacian(rows.first, rows.second, curvature, np.ascontiguousarray(vector), product, self.threads)
        return product
