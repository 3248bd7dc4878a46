"""Rows that were made in memory, on a GPU: how they are cut into parts and copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.engines.gpu_layout import THREADS, GpuLayout, GpuPart, RowForm, fixed_point_scale, free_memory
from jamrank.errors import GpuError
from jamrank.kernels.gpu_device import GpuDevice
from jamrank.kernels.in_threads import extremes, total
from jamrank.rows import Patterns, RaggedVotes, Rows
from jamrank.typing import FloatArray, Int32Array

# Rows that do not fit are cut so that this many parts would.
_PARTS = 8
# Every weight must be at least this many units of the sums.
_STEPS = 1 << 30


class GpuRows(GpuLayout):
    """Rows on a GPU: in one part, or in several of which some are copied again in every pass.

    rows: What to copy.
    memory: How many bytes of the device to use; most of what is free unless given.
    Raises GpuError: Where weights differ too much for sums in integers, or the device has too little memory.
    """

    def __init__(self, rows: Rows, device: GpuDevice, memory: int | None = None) -> None:
        # A thread that takes a link has its sums to scatter once, however few votes the link has.
        self._rows = replace(rows, least_run=1)
        super().__init__(_form(self._rows, rows.begin is None), rows.link_first, device)
        budget = free_memory(device) if memory is None else memory
        self.parts = list(self._cut(budget))
        self._make_room()
        self._make_resident(budget)
        if self.form.patterns is not None and not len(rows.weight) and rows.known_weight is None:
            self._rows = replace(self._rows, known_weight=self._count_patterns(len(self.form.patterns)))
        self.vote_counts = self._rows.vote_counts
        self.pattern_weight = np.empty(0) if self.form.patterns is None else self._rows.pattern_weight

    @property
    def rows(self) -> Rows:
        """The rows in memory."""
        return self._rows

    @property
    def pairs(self) -> tuple[Int32Array, Int32Array]:
        """The distinct pairs of items, in memory."""
        return self._rows.pairs

    def _cut(self, budget: int) -> Iterator[GpuPart]:
        """Cut the links into parts: one, if that fits."""
        n_links = self.form.n_links
        size = self._part(0, n_links).bytes
        if size <= budget:
            cuts = np.array([0, n_links])
        else:
            n_parts = min(-(-size * _PARTS // max(budget, 1)), max(n_links, 1))
            cuts = np.linspace(0, n_links, n_parts + 1).astype(np.int64)
        if self.in_cells and len(cuts) > 2:
            # A walk goes from item to item.
            cuts = np.unique(self.starts[np.searchsorted(self.starts, cuts)])
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            yield self._part(begin, end)

    def _part(self, begin: int, end: int) -> GpuPart:
        """Return a range of links, as arrays to be copied."""
        rows, ballots = self._rows, self._rows.ballots
        host: dict[str, NDArray[Any]] = {}
        if not self.all_pairs:
            host["second"] = rows.link_second[begin:end]
        votes, vote_base = slice(begin, end), 0
        if rows.begin is not None:
            host["begin"] = rows.begin[begin : end + 1]
            vote_base = int(rows.begin[begin])
            votes = slice(vote_base, int(rows.begin[end]))
        if len(rows.weight):
            host["weight"] = rows.weight[votes]
        if isinstance(ballots, Patterns):
            host["codes"] = ballots.of_row[votes]
        else:
            host["vote_start"] = ballots.start[begin : end + 1]
            vote_base = int(ballots.start[begin])
            own = slice(vote_base, int(ballots.start[end]))
            host["vote"] = ballots.vote[own]
            if len(ballots.weight):
                host["vote_weight"] = ballots.weight[own]
        part = GpuPart(begin, end, host, 0, vote_base=vote_base)
        if self.in_cells and end > begin:
            part.first, part.last = int(rows.link_first[begin]), int(rows.link_first[end - 1]) + 1
        # In addition to the arrays: the curvature, the cells of a walk, and the posterior when it is needed.
        part.bytes = sum(array.nbytes for array in host.values()) + 4 * self.n_cells(part)
        part.bytes += self.n_cells(part) if self.walks and not self.all_pairs else 0
        part.bytes += 8 * (votes.stop - votes.start)
        return part

    def _make_resident(self, budget: int) -> None:
        """Copy parts to the device to stay there; if there is no room for all, the last are copied in every pass."""
        for part in self.parts:
            left = budget - part.bytes
            if part is not self.parts[-1] and left < max(other.bytes for other in self.parts):
                break
            if left < 0:
                break
            part.resident, budget = self._copy(part), left

    def _copy(self, part: GpuPart) -> dict[str, Any]:
        """Copy a part to the device."""
        narrow = {"second": np.uint16} if self.narrow else {}
        there = {name: self.device.put(array, narrow.get(name)) for name, array in part.host.items()}
        there["curvature"] = self._room_for_curvature(part)
        if self.walks and not self.all_pairs:
            assert self.form.patterns is not None
            there["cells"] = self.device.empty(self.n_cells(part), np.uint8)
            self.device.fill(there["cells"], len(self.form.patterns))
            blocks = max(-(-len(part) // THREADS), 1)
            places = self.cell_at(part.first), there["cells"]
            layout = self.n_items, part.begin, len(part), self.item_start, there["second"], there["codes"]
            self.device.launch(f"to_cells<{self.second_type}>", blocks, THREADS, *layout, *places)
        return there

    def _count_patterns(self, kinds: int) -> FloatArray:
        """Count the rows of each pattern on the device, which is quicker."""
        self.device.fill(self.sums, 0)
        for part in self.parts:
            with self.on_device(part) as there:
                self._count(there["codes"], kinds)
        return self.fetch_sums(kinds).astype(np.float64)


def _form(rows: Rows, each_vote_bends: bool) -> RowForm:
    ballots, every = rows.ballots, total_weight(rows)
    patterns = ballots if isinstance(ballots, Patterns) else None
    return RowForm(
        n_items=rows.n_items,
        n_rows=len(rows),
        n_links=len(rows) if rows.begin is None else len(rows.link_first),
        n_confusion_groups=rows.n_confusion_groups,
        patterns=patterns,
        single_votes=rows.single_votes,
        distinct=rows.distinct,
        in_runs=rows.begin is not None,
        each_vote_bends=each_vote_bends,
        total_weight=every,
        most_weight=_most_weight(rows, every),
        code_type=np.int32 if patterns is None else patterns.of_row.dtype.type,
        weighted=len(rows.weight) > 0,
        about=rows.about,
        n_gold=ballots.n_gold,
    )


def total_weight(rows: Rows) -> float:
    """Return an upper bound of the total weight of all votes."""
    ballots = rows.ballots
    if isinstance(ballots, RaggedVotes):
        return float(rows.vote_counts.sum()) if len(ballots.weight) else float(len(ballots.vote))
    return total(rows.weight) if len(rows.weight) else float(len(rows))


def _most_weight(rows: Rows, every: float) -> float:
    """Return an upper bound of the total weight of the rows of one item."""
    rows_weight = total(rows.weight) if len(rows.weight) else float(len(rows))
    weights = rows.ballots.weight if isinstance(rows.ballots, RaggedVotes) else rows.weight
    least = float(extremes(weights)[0]) if len(weights) else 1.0
    if least <= 0:
        least = float(weights[weights > 0].min(initial=np.inf))
    if least * fixed_point_scale(max(rows_weight, every)) < _STEPS:
        raise GpuError("the weights of the votes differ too much for its sums")
    return min(rows_weight, rows.n_items - 1.0) if rows.distinct and not len(rows.weight) else rows_weight
