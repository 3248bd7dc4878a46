"""Passes on a GPU in which the margins of the rows are integrated out."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from jamrank.engines.gpu_layout import THREADS, GpuLayout, GpuPart, RowForm, shared_bytes
from jamrank.engines.gpu_passes import PassTask
from jamrank.typing import FloatArray, IntArray


def has_kernel(form: RowForm) -> bool:
    """Return whether there is a kernel for rows: single votes, or rows with a list of votes each."""
    return form.about == "truth" and not form.n_gold and (form.patterns is None or form.single_votes)


class MarginalRoom:
    """Where such a pass adds up: gradient, degree and observed precision by item, sums by kind, values of blocks.

    ``kinds`` is the number of sums by kind: of posteriors, then of the variances of truths.
    """

    def __init__(self, gpu: GpuLayout) -> None:
        self.kinds = gpu.n_kinds if gpu.form.single_votes else 2 * gpu.n_kinds
        self._ends = 0, *accumulate([gpu.n_items] * 3 + [self.kinds])
        self._skipped = self._ends[-1] - (2 * gpu.n_items + gpu.n_kinds)
        blocks = len(gpu.sums) - (2 * gpu.n_items + gpu.n_kinds)
        self.sums = gpu.device.empty(self._ends[-1] + blocks, np.int64)
        self.found = gpu.device.pinned(len(self.sums), np.int64)

    def places(self, part: GpuPart, sums: Any) -> tuple[Any, ...]:
        """Return where everything goes that a part adds up."""
        own = slice(part.values.start + self._skipped, part.values.stop + self._skipped)
        return *(sums[begin:end] for begin, end in pairwise(self._ends)), sums[own]

    def split(self, found: IntArray, scales: tuple[float, float, float]) -> tuple[float, list[FloatArray]]:
        """Return the sum of all values, and what was added up, as floating point numbers."""
        by_gradient, by_degree, by_kind = scales
        parts = zip(pairwise(self._ends), (by_gradient, by_degree, by_degree, by_kind), strict=True)
        sums = [np.multiply(found[begin:end], 1.0 / scale) for (begin, end), scale in parts]
        return float(found[self._ends[-1] :].view(np.float64).sum()), sums


class MarginalTask(PassTask):
    """The pass with margins integrated out, at some scores and cavity variances."""

    def __init__(
        self, gpu: GpuLayout, room: MarginalRoom, scores: FloatArray, log_emission: FloatArray, variance: FloatArray
    ) -> None:
        super().__init__(gpu, scores, log_emission)
        self.walks, self.room = False, room
        self.given = scores, variance, *self.given[1:]

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with tasks that differ only in what they are given."""
        return "marginal", *super().kind

    def find(self, gpu: GpuLayout, there: Any) -> None:
        """Find what it needs in an array on the device that has it all."""
        super().find(gpu, there)
        n, split, end = gpu.n_items, *list(accumulate(map(len, self.given)))[2:]
        self._variance = there[n : 2 * n]
        self._if_first = there[2 * n : split] if split > 2 * n else None
        self._if_second = there[split:end] if end > split else None

    def start(self, gpu: GpuLayout) -> None:
        """Start the pass over all parts, and the copy of its sums."""
        room = self.room
        gpu.device.fill(room.sums, 0)
        for part in gpu.parts:
            with gpu.on_device(part) as there:
                self.launch(gpu, part, there, room.sums)
        gpu.device.receive(room.sums, room.found)

    def launch(self, gpu: GpuLayout, part: GpuPart, there: dict[str, Any], sums: Any) -> None:
        """Start the pass over a part."""
        blocks, chunk = gpu.blocks(part)
        shared = shared_bytes(self.room.kinds)
        kernel = f"marginal_votes<{gpu.second_type}, {gpu.code_type}>"
        gpu.device.launch(
            f"marginal_lists<{gpu.second_type}>" if self.form.patterns is None else kernel,
            blocks,
            THREADS,
            *gpu.layout(part, there, chunk),
            *self._votes(gpu, part, there),
            self._scores,
            self._variance,
            *gpu.curvature(part, there),
            *self.scales,
            self.room.kinds,
            int(shared > 0),
            *self.room.places(part, sums),
            shared=shared,
        )

    def result(self, gpu: GpuLayout) -> tuple[float, list[FloatArray], FloatArray, FloatArray]:
        """Wait for the sums; return log-likelihood, sums by item, expected counts and truth variance."""
        gpu.device.wait()
        value, (*by_item, by_kind) = self.room.split(self.room.found, self.scales)
        if self.form.patterns is not None:
            counts, spread, base = self.summed(by_kind)
            return value + base, by_item, counts, spread
        counts, spread = by_kind.reshape(2, -1, 2)
        return value, by_item, counts, spread.sum(axis=1)
