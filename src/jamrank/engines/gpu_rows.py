"""Rows on a GPU: how they are cut into parts, laid out there and copied."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import GpuError
from jamrank.kernels.gpu_device import GpuDevice
from jamrank.kernels.in_threads import extremes, total
from jamrank.rows import Patterns, RaggedVotes, Rows
from jamrank.rows.layout import item_start
from jamrank.typing import FloatArray, IntArray

# Threads of a block, and at most how many blocks: each block has sums to hand over at its end.
THREADS, _MOST_BLOCKS = 256, 4096
# Up to so many kinds of votes, a block keeps their sums in shared memory.
_MOST_KINDS_SHARED = 4096
# With so many votes on a link, a warp takes it instead of a thread.
_MANY_VOTES = 16
# The tiles of a walk over all pairs, see kernels/gpu/walk.cu: their width, threads, and doubles for each pattern.
_WIDTH, WALK_THREADS, WALK_ROOM = 192, 128, 128 + 16
_LEAST_HEIGHT, _MOST_HEIGHT, _TILES = 64, 512, 2000
# A walk over all pairs pays if at least this share of them has a row.
_DENSE = 1 / 3
# The share of the free memory that is used; rows that do not fit are cut so that this many parts would.
_SHARE_USED, _PARTS = 0.9, 8
# Sums are integers of so many bits; every weight must be at least this many units of them.
_BITS, _STEPS = 61, 1 << 30


@dataclass
class GpuPart:
    """A range of links (of rows, where these come in no runs) that is on the device as a whole.

    ``first`` and ``last`` bound the first items of a walk over all pairs. ``host`` has the arrays to be copied to the
    device; ``resident`` the copies, where they stay there. ``values`` is where the blocks of a pass put their values,
    ``places`` where everything that a pass adds up goes.
    """

    begin: int
    end: int
    host: dict[str, NDArray[Any]]
    bytes: int
    first: int = 0
    last: int = 0
    vote_base: int = 0
    values: slice = field(default_factory=lambda: slice(0, 0))
    resident: dict[str, Any] | None = None
    places: tuple[Any, Any, Any, Any] | None = None

    def __len__(self) -> int:
        return self.end - self.begin


class GpuRows:
    """Rows on a GPU: in one part, or in several of which some are copied again in every pass.

    rows: What to copy.
    memory: How many bytes of the device to use; most of what is free unless given.
    Raises GpuError: Where weights differ too much for sums in integers, or the device has too little memory.
    """

    def __init__(self, rows: Rows, device: GpuDevice, memory: int | None = None) -> None:
        # A thread that takes a link has its sums to scatter once, however few votes the link has.
        self.rows, self.device, self.each_vote_bends = replace(rows, least_run=1), device, rows.begin is None
        rows = self.rows
        self.total_weight = total_weight(rows)
        self.most_weight = _most_weight(rows, self.total_weight)
        self.in_cells = self._is_dense()
        self.walks = self.in_cells and self._can_walk()
        self.all_pairs = rows.distinct and rows.begin is None and len(rows) == n_all_pairs(rows.n_items)
        self._starts = item_start(rows.link_first, rows.n_items)
        self.item_start = None if self.all_pairs else device.put(self._starts)
        self.narrow = not self.all_pairs and rows.n_items <= 1 << 16
        budget = int(_SHARE_USED * device.free_bytes) if memory is None else memory
        self.parts = list(self._cut(budget))
        self.sums = device.empty(self._lay_out_sums(), np.int64)
        self._found = device.pinned(len(self.sums), np.int64)
        self._sent = device.pinned(rows.n_items, np.float64)
        self._make_resident(budget)
        self._count_patterns()

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.rows.n_items

    def _is_dense(self) -> bool:
        """Return whether the curvature lies in cells of all pairs, so that products walk over them."""
        distinct = self.rows.distinct or self.rows.begin is not None
        return distinct and self.n_links >= max(_DENSE * n_all_pairs(self.n_items), 1)

    def _can_walk(self) -> bool:
        """Return whether passes walk over all pairs of items too, with gaps where there is no row."""
        rows, ballots = self.rows, self.rows.ballots
        if not isinstance(ballots, Patterns) or rows.single_votes or len(rows.weight):
            return False
        fits = (len(ballots) + 1) * WALK_ROOM * 8 <= self.device.shared_bytes - 1024
        return fits and ballots.of_row.dtype == np.uint8

    @cached_property
    def n_kinds(self) -> int:
        """How many sums by kind of vote, or by pattern, a pass has."""
        ballots = self.rows.ballots
        if isinstance(ballots, RaggedVotes):
            return 2 * ballots.n_confusion_groups
        if self.rows.about != "truth":
            return 2 * ballots.n_confusion_groups
        return 2 * len(ballots) if self.rows.single_votes else len(ballots)

    @cached_property
    def group(self) -> int:
        """How many threads share the votes of a link."""
        begin = self.rows.begin
        return 32 if begin is not None and len(self.rows) >= _MANY_VOTES * (len(begin) - 1) else 1

    def _cut(self, budget: int) -> Iterator[GpuPart]:
        """Cut the links into parts: one, if that fits."""
        size = self._part(0, self.n_links).bytes
        if size <= budget:
            cuts = np.array([0, self.n_links])
        else:
            n_parts = min(-(-size * _PARTS // max(budget, 1)), max(self.n_links, 1))
            cuts = np.linspace(0, self.n_links, n_parts + 1).astype(np.int64)
        if self.in_cells and len(cuts) > 2:
            # A walk goes from item to item.
            cuts = np.unique(self._starts[np.searchsorted(self._starts, cuts)])
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            yield self._part(begin, end)

    @property
    def n_links(self) -> int:
        """Number of links: of rows, or of runs of rows with the same two items."""
        return len(self.rows) if self.rows.begin is None else len(self.rows.link_first)

    def _part(self, begin: int, end: int) -> GpuPart:
        """Return a range of links, as arrays to be copied."""
        rows, ballots = self.rows, self.rows.ballots
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

    def n_cells(self, part: GpuPart) -> int:
        """Return the number of curvatures: of all pairs where products walk over them, else of the links."""
        return self.cell_at(part.last) - self.cell_at(part.first) if self.in_cells else len(part)

    def cell_at(self, item: int) -> int:
        """Return the index of the first pair of an item among all pairs."""
        return item * self.n_items - item * (item + 1) // 2

    def _lay_out_sums(self) -> int:
        """Reserve space for the values of every part's blocks; return the number of sums in all."""
        at = 2 * self.n_items + self.n_kinds
        for part in self.parts:
            blocks = max(self.blocks(part)[0], self.tiles(part)[0] * self.tiles(part)[1] if self.walks else 0)
            part.values = slice(at, at + blocks)
            at += blocks
        return at

    def blocks(self, part: GpuPart) -> tuple[int, int]:
        """Return how many blocks pass over a part, and how many links each has."""
        step = THREADS // self.group
        chunk = max(-(-len(part) // (_MOST_BLOCKS * step)), 1) * step
        return max(-(-len(part) // chunk), 1), chunk

    def tiles(self, part: GpuPart) -> tuple[int, int]:
        """Return how many tiles, across and down, walk over a part."""
        return -(-self.n_items // _WIDTH), max(-(-(part.last - part.first) // self.height), 1)

    @property
    def height(self) -> int:
        """How many items down a tile of a walk goes."""
        return min(max(n_all_pairs(self.n_items) // (_TILES * _WIDTH), _LEAST_HEIGHT), _MOST_HEIGHT)

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
        there = {name: self.device.put(array) for name, array in part.host.items()}
        if self.narrow:
            there["second"] = self.device.narrowed(there["second"])
        there["curvature"] = self.device.empty(self.n_cells(part), np.float32)
        if self.in_cells and not self.all_pairs:
            self.device.fill(there["curvature"], 0)
        if self.walks and not self.all_pairs:
            ballots = self.rows.ballots
            assert isinstance(ballots, Patterns)
            there["cells"] = self.device.empty(self.n_cells(part), np.uint8)
            self.device.fill(there["cells"], len(ballots))
            blocks = max(-(-len(part) // THREADS), 1)
            places = self.cell_at(part.first), there["cells"]
            layout = self.n_items, part.begin, len(part), self.item_start, there["second"], there["codes"]
            self.device.launch(f"to_cells<{self.second_type}>", blocks, THREADS, *layout, *places)
        return there

    @contextmanager
    def on_device(self, part: GpuPart) -> Iterator[dict[str, Any]]:
        """Give the arrays of a part on the device; unless it is resident, they are copied for this use only."""
        yield part.resident if part.resident is not None else self._copy(part)

    @cached_property
    def second_type(self) -> str:
        """The C++ type of second items."""
        return "Near" if self.narrow else "int"

    @cached_property
    def code_type(self) -> str:
        """The C++ type of codes of patterns."""
        ballots = self.rows.ballots
        return "Byte" if isinstance(ballots, Patterns) and ballots.of_row.dtype == np.uint8 else "int"

    def _count_patterns(self) -> None:
        """Count the rows of each pattern on the device, which is quicker."""
        rows, ballots = self.rows, self.rows.ballots
        if not isinstance(ballots, Patterns) or len(rows.weight) or rows.known_weight is not None:
            return
        kinds = len(ballots)
        self.device.fill(self.sums, 0)
        for part in self.parts:
            with self.on_device(part) as there:
                n_votes = len(part.host["codes"])
                chunk = max(-(-n_votes // (_MOST_BLOCKS * THREADS)), 1) * THREADS
                shared = shared_bytes(kinds)
                self.device.launch(
                    f"count_codes<{self.code_type}>",
                    max(-(-n_votes // chunk), 1),
                    THREADS,
                    n_votes,
                    chunk,
                    there["codes"],
                    kinds,
                    int(shared > 0),
                    self.sums,
                    shared=shared,
                )
        self.rows = replace(rows, known_weight=self.fetch_sums(kinds).astype(np.float64))

    def send(self, *vectors: FloatArray) -> Any:
        """Start copying vectors to the device, one after the other; return the array that has them all."""
        ends = list(accumulate(len(vector) for vector in vectors))
        if ends[-1] > len(self._sent):
            self._sent = self.device.pinned(ends[-1], np.float64)
        for vector, end in zip(vectors, ends, strict=True):
            self._sent[end - len(vector) : end] = vector
        there = self.device.empty(ends[-1], np.float64)
        self.device.send(self._sent[: ends[-1]], there)
        return there

    def fetch_sums(self, length: int) -> IntArray:
        """Return the first sums, in a buffer that the next call overwrites."""
        found = self._found[:length]
        self.device.fetch(self.sums[:length], found)
        return found

    def places(self, part: GpuPart, sums: Any) -> tuple[Any, Any, Any, Any]:
        """Return where gradient, degree, sums by kind and the values of a part's blocks go."""
        if sums is self.sums and part.places is not None:
            return part.places
        n, kinds = self.n_items, slice(2 * self.n_items, 2 * self.n_items + self.n_kinds)
        places = sums[:n], sums[n : 2 * n], sums[kinds], sums[part.values]
        if sums is self.sums:
            part.places = places
        return places

    def layout(self, part: GpuPart, there: dict[str, Any], chunk: int) -> tuple[Any, ...]:
        """Return the arguments of a kernel that say which links there are."""
        return self.n_items, part.begin, len(part), chunk, self.item_start, there.get("second")

    def curvature(self, part: GpuPart, there: dict[str, Any] | None) -> tuple[Any, int]:
        """Return the arguments of a kernel that say where curvatures go; without arrays, that they are not wanted."""
        in_order = self.all_pairs or not self.in_cells
        return None if there is None else there["curvature"], -1 if in_order else self.cell_at(part.first)

    def blocks_of_links(self, part: GpuPart) -> tuple[int, int]:
        """Return the number of blocks, and of links in each, where a thread takes a whole link."""
        chunk = max(self.blocks(part)[1], THREADS)
        return max(-(-len(part) // chunk), 1), chunk


def n_all_pairs(n_items: int) -> int:
    """Return the number of pairs of items."""
    return n_items * (n_items - 1) // 2


def shared_bytes(kinds: int) -> int:
    """Return the bytes of shared memory that a block needs for sums by kind; 0 where there are too many kinds."""
    return 8 * kinds if kinds <= _MOST_KINDS_SHARED else 0


def fixed_point_scale(most: float) -> float:
    """Return the power of two that turns sums of at most ``most`` into 64-bit integers."""
    return math.ldexp(1.0, _BITS - math.frexp(max(most, 1e-250))[1])


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
