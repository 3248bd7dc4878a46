"""Passes over rows that lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import (
    Engine,
    Expectation,
    Information,
    Links,
    MarginalExpectation,
    Maximisation,
    ObservedExpectation,
)
from jamrank.engines.direct import bend_of_rows
from jamrank.engines.kind import Kind, Load, Tick, read_into_memory
from jamrank.engines.passes import expectation, marginal, observed, posterior
from jamrank.kernels import default_threads, kernels
from jamrank.rows import ROWS_BY, Codes, Patterns, RaggedVotes, Rows
from jamrank.rows.layout import Layout
from jamrank.typing import Float32Array, FloatArray, Int32Array, IntArray

LOSSES = {"logistic": 0, "hinge": 1}
# Rows that numpy handles at a time, so that its temporary arrays stay small.
_INFORMATION_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class CurvatureHandle:
    """A curvature as a recipe to recompute it; it must not hold the engine, since both are large."""

    recompute: Callable[[MemoryEngine], object]


class MemoryEngine(Engine):
    """Runs passes over rows in memory, in threads; its sums do not depend on how many.

    Parameters
    ----------
    rows : Rows
        What to pass over.
    threads : int, optional
        Every available core unless given.
    votes : Comparisons, optional
        The votes that the rows were made of, for :meth:`parts`.
    """

    in_memory = can_draw = has_information = has_marginal = True

    def __init__(self, rows: Rows, threads: int | None = None, votes: Comparisons | None = None) -> None:
        self._rows = rows
        self.has_observed = rows.about == "truth" and (rows.single_votes or isinstance(rows.ballots, RaggedVotes))
        self._set_up(threads, votes)

    def _set_up(self, threads: int | None, votes: Comparisons | None) -> None:
        self.votes, self.threads = votes, threads or default_threads()
        self.passes = 0
        self._kept: CurvatureHandle | None = None
        self._room, self._bends = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.float32)

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self._rows

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.rows.n_items

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return len(self.rows) if self.rows.distinct else len(self.rows.edges)

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups."""
        return self.rows.n_confusion_groups

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        return self.rows.vote_counts

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature.

        Parameters
        ----------
        scores : ndarray
            One for each item.
        log_emission : ndarray of shape (groups, 2, 2)
            Log-likelihood of a vote by confusion group, by whether it is for the first item, and by the truth.
        """
        in_runs = self.rows.begin is not None
        curvature = self._make_room(len(self.rows.link_first) if in_runs else len(self.rows))
        self.passes += 1
        value, gradient, degree, expected_counts, truth_variance = expectation(
            self.rows, scores, log_emission, curvature, np.empty(0), self.threads
        )
        self._bends = curvature if in_runs else self._by_link(curvature)
        self._kept = CurvatureHandle(lambda engine: engine.expectation(scores, log_emission))
        return Expectation(value, gradient, degree, self._kept, expected_counts, truth_variance)

    def observed_expectation(self, scores: FloatArray, log_emission: FloatArray) -> ObservedExpectation:
        """Run the fused pass with the observed curvature of each item; that of the rows is computed when needed."""
        self.passes += 1
        (value, gradient, degree, *sums), by_item = observed(self.rows, scores, log_emission, self.threads)
        counts, truth_variance = sums
        lost = CurvatureHandle(lambda engine: engine.expectation(scores, log_emission))
        return ObservedExpectation(value, gradient, degree, lost, counts, truth_variance, by_item)

    def mean_of_others(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """Return for each item about the mean of a value of those it is linked with.

        ``weight`` is proportional to how many these are.
        """
        product = np.empty(self.n_items)
        n_links, layout = self._layout_of_links()
        kernels.laplacian(*layout, np.empty(0, dtype=np.float32), values, product, self.threads)
        return np.asarray(values - product * float(weight.sum()) / (2 * n_links * np.maximum(weight, 1e-300)))

    def _layout_of_links(self) -> tuple[int, Layout]:
        """Return how many links there are, and their items."""
        links = self.rows.links
        return len(self.rows) if links.begin is None else len(links.begin), links.layout

    def slopes(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass without curvature, for which it leaves that of the pass before."""
        self.passes += 1
        value, gradient, degree, expected_counts, truth_variance = expectation(
            self.rows, scores, log_emission, np.empty(0, dtype=np.float32), np.empty(0), self.threads
        )
        return Expectation(value, gradient, degree, None, expected_counts, truth_variance)

    def marginal(self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray) -> MarginalExpectation:
        """Run the fused pass with the margin of each row integrated out; each item's score has a ``variance``."""
        in_runs = self.rows.begin is not None
        curvature = self._make_room(len(self.rows.link_first) if in_runs else len(self.rows))
        self.passes += 1
        sums, observed = marginal(self.rows, scores, log_emission, variance, curvature, np.empty(0), self.threads)
        value, gradient, degree, expected_counts, truth_variance = sums
        self._bends = curvature if in_runs else self._by_link(curvature)
        self._kept = CurvatureHandle(lambda engine: engine.marginal(scores, log_emission, variance))
        return MarginalExpectation(value, gradient, degree, self._kept, expected_counts, truth_variance, observed)

    def posterior(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the probability that the first item is truly better, for each row."""
        self.passes += 1
        found = np.empty(len(self.rows))
        posterior(self.rows, scores, log_emission, found, self.threads)
        return found

    def _make_room(self, length: int) -> Float32Array:
        """Return the buffer for the curvature of a pass; that of the pass before is overwritten."""
        self._kept = None
        if len(self._room) < length:
            self._room = np.empty(length, dtype=np.float32)
        return self._room[:length]

    def _by_link(self, curvature: Float32Array) -> Float32Array:
        """Add up the curvature of rows of the same two items, so that products with it cost less."""
        begin = self.rows.links.begin
        if begin is None:
            return curvature
        return np.asarray(np.add.reduceat(curvature, begin, dtype=np.float64), dtype=np.float32)

    def bends(self, curvature: CurvatureHandle) -> Float32Array:
        """Return the curvature of each of the rows' links, in single precision."""
        if curvature is not self._kept:
            curvature.recompute(self)
            self._kept = curvature
        return self._bends

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step with the shares of votes in place of the posterior.

        Also returns ``expected_counts`` under that posterior.
        """
        rows, ballots = self.rows, self.rows.ballots
        if isinstance(ballots, Patterns) and rows.begin is not None and rows.known_share is not None:
            return self._initial_step_by_link(rows.begin, rows.known_share, scores)
        if not isinstance(ballots, Patterns) or rows.single_votes:
            return self.maximisation(scores, rows.share), self._share_sums()
        share = ballots.share
        return (
            self.maximisation(scores, share, pattern=ballots.of_row),
            ballots.over_patterns(rows.pattern_weight * share),
        )

    def _initial_step_by_link(
        self, begin: IntArray, share: FloatArray, scores: FloatArray
    ) -> tuple[Maximisation, FloatArray]:
        """Run the initial pass by link, where all rows of a link have the same share."""
        rows = self.rows
        if rows.sides is not None:
            vote_counts = rows.sides[1]
        else:
            vote_counts = np.empty(len(share))
            kernels.sum_by_link(begin, rows.weight, vote_counts, self.threads)
        at = self._maximise(rows.links.layout, vote_counts, scores, share, "logistic", None)
        return at, self._share_sums()

    def _share_sums(self) -> FloatArray:
        """Add up the share of each row's pair over its votes, by confusion group and side."""
        rows, ballots = self.rows, self.rows.ballots
        if rows.sides is not None and rows.known_share is not None:
            wins, total = rows.sides
            return np.array([[(rows.known_share * (total - wins)).sum(), (rows.known_share * wins).sum()]])
        if rows.begin is None or rows.known_share is None or not isinstance(ballots, Patterns):
            return rows.over_votes(rows.share)
        by_kind = np.empty(len(ballots))
        kernels.sum_by_kind(rows.begin, ballots.of_row, rows.weight, rows.known_share, by_kind, self.threads)
        return ballots.over_patterns(by_kind)

    def maximisation(
        self, scores: FloatArray, posterior: FloatArray, loss: str = "logistic", pattern: Codes | None = None
    ) -> Maximisation:
        """Run the pass of the M-step at new scores, with the posterior held fixed.

        Parameters
        ----------
        scores : ndarray
            One for each item.
        posterior : ndarray
            One for each row; with ``pattern``, which has the pattern of each row, one for each of these.
        loss : {"logistic", "hinge"}
        pattern : ndarray, optional
        """
        at = self._maximise(self.rows.layout, self.rows.weight, scores, posterior, loss, pattern)
        self._bends = self._by_link(self._bends)
        self._kept = CurvatureHandle(lambda engine: engine.maximisation(scores, posterior, loss, pattern))
        return replace(at, curvature=self._kept)

    def _maximise(
        self,
        layout: tuple[IntArray, NDArray[np.integer]],
        weight: FloatArray,
        scores: FloatArray,
        posterior: FloatArray,
        loss: str,
        pattern: Codes | None,
    ) -> Maximisation:
        n_items, n_rows = self.rows.n_items, len(posterior if pattern is None else pattern)
        curvature = self._make_room(n_rows)
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
        self._bends = curvature
        self._kept = CurvatureHandle(
            lambda engine: engine._maximise(layout, weight, scores, posterior, loss, pattern)
        )
        return Maximisation(value, gradient, degree, self._kept)

    def curvature_times(self, curvature: CurvatureHandle, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product = np.empty(self.rows.n_items)
        kernels.laplacian(
            *self.rows.links.layout, self.bends(curvature), np.ascontiguousarray(vector), product, self.threads
        )
        return product

    def start_solving(
        self,
        curvature: CurvatureHandle,
        target: FloatArray,
        precision: FloatArray,
        preconditioner: tuple[FloatArray, FloatArray, float],
        tolerance: float,
        max_iter: int,
    ) -> Callable[[], FloatArray] | None:
        """Return what solves for a Newton step by conjugate gradients, in one call of a kernel."""

        def solve() -> FloatArray:
            step, layout = np.empty(self.rows.n_items), self.rows.links.layout
            given = *layout, self.bends(curvature), target, precision, *preconditioner, tolerance, max_iter
            kernels.solve_laplacian(*given, step, self.threads)
            return step

        return solve

    def links(self, curvature: CurvatureHandle) -> Links:
        """Return the curvature by pair of items."""
        return self.links_of(self.bends(curvature))

    def links_of(self, bends: Float32Array) -> Links:
        """Return the curvature of rows, or of the rows' links, by pair of items."""
        if len(bends) == self.n_links:
            return Links(*self.pairs, bends.astype(np.float64))
        return Links(*self.pairs, np.asarray(np.add.reduceat(bends, self.rows.edges, dtype=np.float64)))

    @cached_property
    def pairs(self) -> tuple[Int32Array, Int32Array]:
        """The distinct pairs of items."""
        return self.rows.pairs

    def sides_taken(self) -> NDArray[np.uint8]:
        """Return for each item 1 if it did not win some pair, plus 2 if it did not lose some, by most votes on it."""
        rows, seen = self.rows, np.empty(self.n_items, dtype=np.uint8)
        given: tuple[NDArray[Any], ...]
        if rows.known_share is not None:
            given = rows.link_first, rows.link_second, rows.known_share, np.empty(0, dtype=np.uint8)
        else:
            assert isinstance(rows.ballots, Patterns)
            given = rows.first, rows.second, rows.ballots.of_row, winner(rows.ballots.share)
        kernels.mark_sides(*given, seen, self.threads)
        return seen

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        rows = self.rows
        truth_variance = rows.about == "truth"
        bend = self.posterior(scores, log_emission) if truth_variance else np.empty(len(rows))
        degree = np.zeros(rows.n_items)
        for begin in range(0, len(rows), _INFORMATION_ROWS):
            block = slice(begin, begin + _INFORMATION_ROWS)
            first, second, posterior = rows.first[block], rows.second[block], bend[block]
            if truth_variance:
                prior = expit(scores[first] - scores[second])
                own = prior * (1 - prior) - posterior * (1 - posterior)
            else:
                own = bend_of_rows(rows, block, scores, log_emission)
            if len(rows.weight):
                own *= rows.weight[block]
            for item in (first, second):
                degree += np.bincount(item, own, rows.n_items)
            bend[block] = own
        return degree, Links(*self.pairs, np.asarray(np.add.reduceat(bend, rows.edges))) if links else None

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each group's votes, by confusion group and side."""
        if self.rows.about != "truth":
            return np.zeros((self.n_confusion_groups, 2))
        posterior = self.posterior(scores, log_emission)
        posterior *= 1 - posterior
        return self.rows.over_votes(posterior, power=2)

    def information(self, scores: FloatArray, log_emission: FloatArray) -> Information:
        """Return the observed information on scores and votes together: for few items and groups."""
        rows = self.rows
        degree, links = self.observed(scores, log_emission, True)
        assert links is not None
        truth_variance, n_kinds = self.posterior(scores, log_emission), 2 * rows.n_confusion_groups
        truth_variance *= 1 - truth_variance
        if len(rows.weight):
            truth_variance *= rows.weight
        cross, kinds = csr_array((rows.n_items, n_kinds)), csr_array((n_kinds, n_kinds))
        for begin in range(0, len(rows), _INFORMATION_ROWS):
            block = slice(begin, begin + _INFORMATION_ROWS)
            votes, own = rows.ballots.matrix(block), truth_variance[block]
            if isinstance(rows.ballots, Patterns):
                # Rows of a pattern have the same votes: add them up first.
                place, n_lists = rows.ballots.of_row[block].astype(np.int64), len(rows.ballots)
                by_list = np.bincount(place, own, n_lists).astype(np.float64)
            else:
                place, n_lists = np.arange(len(own)), len(own)
                by_list = own
            item = np.concatenate([rows.first[block], rows.second[block]])
            signed = csr_array(
                (np.concatenate([own, -own]), (item, np.concatenate([place, place]))), shape=(rows.n_items, n_lists)
            )
            cross = cross + signed @ votes
            kinds = kinds + votes.T @ (votes.multiply(by_list[:, None])).tocsr()
        return Information(degree, links, cross.tocsr(), kinds.tocsr())

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes, and this engine."""
        if self.votes is None:
            raise ValueError("the engine was made without the votes of its rows")
        yield self.votes, self

    def local_engines(self) -> list[Engine]:
        """Return an engine over the same rows, with one thread."""
        return [MemoryEngine(self.rows, 1, self.votes)]


def winner(share: FloatArray) -> NDArray[np.uint8]:
    """Return 1 where most votes are for the first item, 0 where they are for the second, else 2."""
    found: NDArray[np.uint8] = (share > 0.5).view(np.uint8)
    found += (share == 0.5).view(np.uint8) << 1
    return found


def _make(votes: Comparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    return MemoryEngine(ROWS_BY[row](votes, threads), threads, votes)


def _suits(load: Load) -> str:
    if load.in_memory:
        return "the votes are in memory"
    return f"{load.described} fit into memory" if load.fits and not load.elsewhere else ""


KIND = Kind(read_into_memory, _make, _suits)
