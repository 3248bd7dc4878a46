"""Passes over rows on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import Engine, Expectation, MarginalExpectation, Maximisation
from jamrank.engines.gpu_crowd import GpuCrowd, rows_on_device
from jamrank.engines.gpu_descent import GpuDescent, RecordedProduct
from jamrank.engines.gpu_layout import THREADS, WALK_THREADS, GpuLayout, GpuPart, fixed_point_scale, shared_bytes
from jamrank.engines.gpu_marginal import MarginalRoom, MarginalTask, has_kernel
from jamrank.engines.gpu_passes import Launch, PassSums, PassTask, RecordedPass
from jamrank.engines.gpu_rows import GpuRows
from jamrank.engines.kind import Kind, Load, Tick, read_into_memory
from jamrank.engines.memory import CurvatureHandle, MemoryEngine, winner
from jamrank.errors import GpuError
from jamrank.kernels.gpu_device import GpuDevice, gpu_available
from jamrank.rows import ROWS_BY, Codes, Rows
from jamrank.rows.layout import Layout, item_start
from jamrank.typing import Float32Array, FloatArray, Int32Array, IntArray

# With fewer votes a fit in memory ends before the GPU is initialised.
_MANY_VOTES = 5_000_000


@dataclass
class _Held:
    """The curvature on the device: how to recompute it for a part."""

    launch: Launch
    largest_degree: float
    n_sums: int

    def recompute(self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any]) -> None:
        """Run the pass over a part again; its sums are not needed."""
        self.launch(gpu, part, there, gpu.device.empty(self.n_sums, np.int64))


class GpuEngine(MemoryEngine):
    """Runs passes on a GPU: the rows are copied there once, and every pass is one kernel.

    Sums are integers, multiples of a power of two, so that the order of addition does not matter: they are the same
    in every run. Rows that do not fit on the device are copied part by part in every pass. The hinge loss runs in
    memory.

    Parameters
    ----------
    rows : Rows or GpuCrowd
        What to pass over: rows in memory, or rows that were made on the device.
    threads : int, optional
        Of the work that stays in memory; every available core unless given.
    votes : Comparisons, optional
        The votes that the rows were made of, for :meth:`parts`.
    memory : int, optional
        How many bytes of the device to use; most of what is free unless given.
    device : GpuDevice, optional
        The current device of CuPy unless given.

    Raises
    ------
    GpuError
        Where there is no GPU, or too little memory on it; or weights differ too much for its sums.
    """

    def __init__(
        self,
        rows: Rows | GpuCrowd,
        threads: int | None = None,
        votes: Comparisons | None = None,
        *,
        memory: int | None = None,
        device: GpuDevice | None = None,
    ) -> None:
        self.gpu: GpuLayout = (
            GpuRows(rows, GpuDevice() if device is None else device, memory) if isinstance(rows, Rows) else rows
        )
        self.has_observed = has_kernel(self.gpu.form)
        self._set_up(threads, votes)
        self._held: _Held | None = None
        self._recorded: dict[tuple[Any, ...], RecordedPass] = {}

    @property
    def rows(self) -> Rows:
        """The rows in memory."""
        return self.gpu.rows

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.gpu.n_items

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.gpu.form.n_rows

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return len(self.pairs[0])

    @property
    def n_confusion_groups(self) -> int:
        """Number of confusion groups."""
        return self.gpu.form.n_confusion_groups

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        return self.gpu.vote_counts

    @cached_property
    def pairs(self) -> tuple[Int32Array, Int32Array]:
        """The distinct pairs of items."""
        return self.gpu.pairs

    def sides_taken(self) -> NDArray[np.uint8]:
        """Return for each item 1 if it did not win some pair, plus 2 if it did not lose some, by most votes on it."""
        gpu, form = self.gpu, self.gpu.form
        side = None
        if form.patterns is not None and not form.in_runs:
            side = gpu.device.put(winner(form.patterns.share))
        seen = gpu.device.empty(self.n_items, np.int32)
        gpu.device.fill(seen, 0)
        for part in gpu.parts:
            with gpu.on_device(part) as there:
                blocks, chunk = gpu.blocks_of_links(part)
                votes = gpu.votes_of_links(part, there)
                layout = gpu.layout(part, there, chunk)
                kernel = f"mark_sides<{gpu.second_type}, {gpu.code_type}>"
                gpu.device.launch(kernel, blocks, THREADS, *layout, *votes, side, seen)
        return np.asarray(gpu.device.read(seen), dtype=np.uint8)

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        return self.start_expectation(scores, log_emission)()

    def start_expectation(self, scores: FloatArray, log_emission: FloatArray) -> Callable[[], Expectation]:
        """Start the fused pass, and return what waits for its sums."""
        self.passes += 1
        task = PassTask(self.gpu, scores, log_emission)
        if self._is_resident and self.gpu.form.about == "truth":
            self._start_recorded(task)
        else:
            task.send(self.gpu)
            self._start(task.launch)

        def finish() -> Expectation:
            sums = self._finish(task.launch, task.scales)
            kept = self._kept = CurvatureHandle(lambda engine: engine.expectation(scores, log_emission))
            expected_counts, truth_variance, base = task.summed(sums.by_kind)
            return Expectation(sums.value + base, sums.gradient, sums.degree, kept, expected_counts, truth_variance)

        return finish

    def marginal(self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray) -> MarginalExpectation:
        """Run the fused pass with the margin of each row integrated out; each item's score has a ``variance``."""
        if not has_kernel(self.gpu.form):
            return super().marginal(scores, log_emission, variance)
        self.passes += 1
        task = MarginalTask(self.gpu, self._marginal_room, scores, log_emission, variance)
        if self._is_resident:
            self._start_recorded(task)
        else:
            task.send(self.gpu)
            self._kept = None
            task.start(self.gpu)
        value, (gradient, degree, observed), expected_counts, truth_variance = task.result(self.gpu)
        self._held = _Held(task.launch, float(degree.max(initial=0.0)), len(task.room.sums))
        self._kept = CurvatureHandle(lambda engine: engine.marginal(scores, log_emission, variance))
        return MarginalExpectation(value, gradient, degree, self._kept, expected_counts, truth_variance, observed)

    def observed_expectation(self, scores: FloatArray, log_emission: FloatArray) -> MarginalExpectation:
        """Run the fused pass with the observed curvature of each item: that of scores without variance."""
        return self.marginal(scores, log_emission, np.zeros(self.n_items))

    def _layout_of_links(self) -> tuple[int, Layout]:
        first, second = self.gpu.pairs
        return len(first), (item_start(first, self.n_items), second)

    @cached_property
    def _marginal_room(self) -> MarginalRoom:
        return MarginalRoom(self.gpu)

    def posterior(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the probability that the first item is truly better, for each row."""
        if self.gpu.form.about != "truth" or (self.gpu.all_pairs and self.gpu.walks):
            # A complete jury has a byte a row in memory: computing eight there is quicker than fetching them.
            return super().posterior(scores, log_emission)
        self.passes += 1
        task = PassTask(self.gpu, scores, log_emission)
        task.send(self.gpu)
        posterior = np.empty(self.n_rows)
        for part in self.gpu.parts:
            with self.gpu.on_device(part) as there:
                task.posterior(self.gpu, part, there, posterior)
        return posterior

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step with the share of votes in place of the posterior."""
        form = self.gpu.form
        in_lists = form.patterns is None
        if form.n_gold or not (in_lists or form.in_runs):
            return super().initial_step(scores)
        self.passes += 1
        most, every = fixed_point_scale(form.most_weight), fixed_point_scale(form.total_weight)
        sent, kinds = self.gpu.send(scores), 2 * self.n_confusion_groups

        def launch(gpu: GpuLayout, part: GpuPart, there: dict[str, Any], sums: Any) -> None:
            shared, (blocks, chunk) = shared_bytes(kinds), gpu.blocks_of_links(part)
            gpu.device.launch(
                f"from_shares<{gpu.second_type}, {gpu.code_type}>",
                blocks,
                THREADS,
                *gpu.layout(part, there, chunk),
                *(*gpu.votes_of_links(part, there), int(not in_lists), sent),
                *gpu.curvature(part, there),
                *(most, most, every, kinds, int(shared > 0)),
                *gpu.places(part, sums),
                shared=shared,
            )

        self._start(launch)
        sums = self._finish(launch, (most, most, every))
        self._kept = CurvatureHandle(lambda engine: engine.initial_step(scores))
        at = Maximisation(sums.value, sums.gradient, sums.degree, self._kept)
        return at, sums.by_kind[:kinds].reshape(-1, 2)

    def _maximise(
        self,
        layout: tuple[IntArray, NDArray[np.integer]],
        weight: FloatArray,
        scores: FloatArray,
        posterior: FloatArray,
        loss: str,
        pattern: Codes | None,
    ) -> Maximisation:
        n_rows = len(posterior if pattern is None else pattern)
        if loss != "logistic" or n_rows != self.gpu.form.n_links:
            # The kernel knows neither the hinge loss nor rows in runs with a posterior each.
            return super()._maximise(layout, weight, scores, posterior, loss, pattern)
        self.passes += 1
        scales = (fixed_point_scale(self.gpu.form.most_weight),) * 2 + (1.0,)
        sent = self.gpu.send(scores)
        by_pattern = None if pattern is None else self.gpu.device.put(posterior)

        def launch(gpu: GpuLayout, part: GpuPart, there: dict[str, Any], sums: Any) -> None:
            own, (blocks, chunk) = slice(part.begin, part.end), gpu.blocks_of_links(part)
            gpu.device.launch(
                f"maximise<{gpu.second_type}, {'Byte' if pattern is None else gpu.code_type}>",
                blocks,
                THREADS,
                *gpu.layout(part, there, chunk),
                None if pattern is None else there["codes"],
                gpu.device.put(weight[own]) if len(weight) else None,
                gpu.device.put(posterior[own]) if by_pattern is None else by_pattern,
                sent,
                *gpu.curvature(part, there),
                *scales[:2],
                *[gpu.places(part, sums)[k] for k in (0, 1, 3)],
            )

        self._start(launch)
        sums = self._finish(launch, scales)
        self._kept = CurvatureHandle(
            lambda engine: engine._maximise(layout, weight, scores, posterior, loss, pattern)
        )
        return Maximisation(sums.value, sums.gradient, sums.degree, self._kept)

    def maximisation(
        self, scores: FloatArray, posterior: FloatArray, loss: str = "logistic", pattern: Codes | None = None
    ) -> Maximisation:
        """Run the pass of the M-step at new scores, with the posterior held fixed."""
        on_device = loss == "logistic" and not self.gpu.form.in_runs
        layout = (np.empty(0, np.int64), np.empty(0, np.int32)) if on_device else self.rows.layout
        at = self._maximise(layout, self.rows.weight, scores, posterior, loss, pattern)
        if self._held is None:
            self._bends = self._by_link(self._bends)
        self._kept = CurvatureHandle(lambda engine: engine.maximisation(scores, posterior, loss, pattern))
        return replace(at, curvature=self._kept)

    def curvature_times(self, curvature: CurvatureHandle, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        self._recall(curvature)
        if self._held is None:
            return super().curvature_times(curvature, vector)
        furthest = float(vector.max(initial=0.0) - vector.min(initial=0.0))
        scale = fixed_point_scale(self._held.largest_degree * furthest)
        if self._is_resident:
            return self._recorded_product.times(vector, scale) / scale
        sent, product = self.gpu.send(vector, np.array([scale, 0.0])), self.gpu.sums[: self.n_items]
        self.gpu.device.fill(product, 0)
        for part in self.gpu.parts:
            with self.gpu.on_device(part) as there:
                if part.resident is None:
                    # Its curvature is no longer on the device.
                    self._held.recompute(self.gpu, part, there)
                self.gpu.device.launch(
                    *self._product(part, there, sent[: self.n_items], sent[self.n_items :], product)
                )
        return self.gpu.fetch_sums(self.n_items) / scale

    def start_solving(
        self,
        curvature: CurvatureHandle,
        target: FloatArray,
        precision: FloatArray,
        preconditioner: tuple[FloatArray, FloatArray, float],
        tolerance: float,
        max_iter: int,
    ) -> Callable[[], FloatArray] | None:
        """Start conjugate gradients on the device, if everything is there."""
        self._recall(curvature)
        if self._held is None or not self._is_resident:
            return None
        largest_degree = self._held.largest_degree
        return self._descent.start(target, precision, preconditioner, tolerance, largest_degree, max_iter)

    @cached_property
    def _descent(self) -> GpuDescent:
        return GpuDescent(self.gpu, self._products)

    @cached_property
    def _recorded_product(self) -> RecordedProduct:
        return RecordedProduct(self.gpu, self._products)

    def _products(self, vector: Any, scale: Any, product: Any) -> list[tuple[Any, ...]]:
        return [self._product(part, part.resident, vector, scale, product) for part in self.gpu.parts]

    def bends(self, curvature: CurvatureHandle) -> Float32Array:
        """Return the curvature of each of the rows' links, in single precision."""
        self._recall(curvature)
        if self._held is None:
            return self._bends
        found = np.empty(self.gpu.form.n_links, dtype=np.float32)
        for part in self.gpu.parts:
            with self.gpu.on_device(part) as there:
                if part.resident is None:
                    self._held.recompute(self.gpu, part, there)
                own = there["curvature"]
                if self.gpu.in_cells and not self.gpu.all_pairs:
                    own = self.gpu.device.empty(len(part), np.float32)
                    layout = self.n_items, part.begin, len(part), self.gpu.item_start, there["second"]
                    places = self.gpu.cell_at(part.first), there["curvature"], own
                    blocks = max(-(-len(part) // THREADS), 1)
                    self.gpu.device.launch(f"from_cells<{self.gpu.second_type}>", blocks, THREADS, *layout, *places)
                found[part.begin : part.end] = self.gpu.device.read(own[: len(part)])
        return found if len(found) == self.n_links else self._by_link(found)

    def _recall(self, curvature: CurvatureHandle) -> None:
        """Recompute a curvature, unless it is the one that is kept."""
        if curvature is not self._kept:
            curvature.recompute(self)
            self._kept = curvature

    def _make_room(self, length: int) -> Float32Array:
        self._held = None
        return super()._make_room(length)

    @property
    def _is_resident(self) -> bool:
        return all(part.resident is not None for part in self.gpu.parts)

    def _start_recorded(self, task: PassTask) -> None:
        """Start the fused pass; it is recorded when its kind is first met."""
        self._kept = None
        if task.kind not in self._recorded:
            self._recorded[task.kind] = RecordedPass(self.gpu, task)
        self._recorded[task.kind].start(task.given)

    def _start(self, launch: Launch) -> None:
        """Start a pass over all parts, and the copy of its sums."""
        self._kept = None
        self.gpu.clear_sums()
        for part in self.gpu.parts:
            with self.gpu.on_device(part) as there:
                launch(self.gpu, part, there, self.gpu.sums)
        self.gpu.start_fetching()

    def _finish(self, launch: Launch, scales: tuple[float, float, float]) -> PassSums:
        """Wait for the sums of a pass, whose curvature is kept."""
        sums = PassSums.of(self.gpu.fetched(), self.n_items, self.gpu.n_kinds, scales)
        self._held = _Held(launch, float(sums.degree.max(initial=0.0)), len(self.gpu.sums))
        return sums

    def _product(self, part: GpuPart, there: Any, vector: Any, scale: Any, product: Any) -> tuple[Any, ...]:
        """Return how to launch the kernel that multiplies the curvature of a part with a vector."""
        rest = there["curvature"], vector, scale, product
        if self.gpu.in_cells:
            span = self.n_items, part.first, part.last, self.gpu.cell_at(part.first), self.gpu.height
            return "walk_times", self.gpu.tiles(part), WALK_THREADS, *span, *rest
        blocks, chunk = self.gpu.blocks_of_links(part)
        layout = self.gpu.layout(part, there, chunk)
        return f"rows_times<{self.gpu.second_type}>", blocks, THREADS, *layout, *rest


def _make(votes: Comparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    device = GpuDevice()
    rows = rows_on_device(votes, row, device) or ROWS_BY[row](votes, threads)
    return GpuEngine(rows, threads, votes, device=device)


def _suits(load: Load) -> str:
    if load.elsewhere or not load.fits or load.n_votes is None or load.n_votes < _MANY_VOTES:
        return ""
    return f"there is a GPU for {load.described}" if gpu_available() else ""


def _missing() -> str:
    try:
        GpuDevice()
    except GpuError as error:
        return str(error)
    return ""


KIND = Kind(read_into_memory, _make, _suits, missing=_missing, fallback="memory")
