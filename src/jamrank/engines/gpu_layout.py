"""Rows on a GPU, wherever they were made: what passes must know of them, and the arguments of kernels."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.kernels.gpu_device import GpuDevice
from jamrank.rows import Patterns, Rows
from jamrank.rows.layout import fits_two_bytes, item_start
from jamrank.typing import FloatArray, Int32Array, IntArray

# Threads of a block, and at most how many blocks: each block has sums to hand over at its end.
THREADS, _MOST_BLOCKS = 256, 4096
# Up to so many kinds of votes, a block keeps their sums in shared memory.
_MOST_KINDS_SHARED = 4096
# With so many votes on a link, a warp takes it instead of a thread.
_MANY_VOTES = 16
# The tiles of a walk over all pairs, see kernels/gpu/walk.cu: their threads, their width, also where posteriors are
# added up in words, and copies of each likelihood ratio.
WALK_THREADS, _WIDTH, _WORDS_WIDTH, _COPIES = 128, 192, 256, 16
_LEAST_HEIGHT, _MOST_HEIGHT, _TILES = 64, 256, 2000
# With so many rows, rounding posteriors to 22 bits leaves no trace in their sums by pattern.
_MANY_ROWS = 1 << 24
# A walk over all pairs pays if at least this share of them has a row.
_DENSE = 1 / 3
# Sums are integers of so many bits.
_BITS = 61
# The share of the free memory that is used.
_SHARE_USED = 0.9


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


@dataclass(frozen=True)
class RowForm:
    """What passes must know of rows, beside their arrays.

    patterns: The distinct lists of votes; None where every row has a list of its own.
    in_runs: Whether rows are single votes in runs, one for each link.
    each_vote_bends: Whether the curvature of such a link is that of its votes one by one.
    total_weight, most_weight: Upper bounds of the weight of all votes, and of the rows of one item.
    """

    n_items: int
    n_rows: int
    n_links: int
    n_confusion_groups: int
    patterns: Patterns | None
    single_votes: bool
    distinct: bool
    in_runs: bool
    each_vote_bends: bool
    total_weight: float
    most_weight: float
    code_type: type[np.generic] = np.int32
    weighted: bool = False
    about: str = "truth"
    n_gold: int = 0

    @property
    def n_kinds(self) -> int:
        """How many sums by kind of vote, or by pattern, a pass has."""
        if self.patterns is None or self.about != "truth":
            return 2 * self.n_confusion_groups
        return 2 * len(self.patterns) if self.single_votes else len(self.patterns)


class GpuLayout(ABC):
    """Rows on a GPU, in parts.

    form: What they are.
    first: The first item of each link.
    device: Where they are.
    """

    parts: list[GpuPart]
    vote_counts: FloatArray
    """Votes of each confusion group for the second and for the first item of their rows, by weight."""
    pattern_weight: FloatArray
    """Total weight of the rows of each pattern, where there are patterns."""

    def __init__(self, form: RowForm, first: Int32Array, device: GpuDevice) -> None:
        self.form, self.device, self.n_items, self.n_kinds = form, device, form.n_items, form.n_kinds
        every = n_all_pairs(form.n_items)
        self.in_cells = (form.distinct or form.in_runs) and form.n_links >= max(_DENSE * every, 1)
        self.walks = self.in_cells and self._can_walk()
        self.all_pairs = form.distinct and not form.in_runs and form.n_rows == every
        self._first = first
        self.item_start = None if self.all_pairs else device.put(self.starts)
        self.narrow = not self.all_pairs and fits_two_bytes(form.n_items)

    @cached_property
    def starts(self) -> IntArray:
        """Where the links of each first item begin."""
        return item_start(self._first, self.n_items)

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """The rows in memory."""

    @property
    @abstractmethod
    def pairs(self) -> tuple[Int32Array, Int32Array]:
        """The distinct pairs of items, in memory."""

    def _copy(self, part: GpuPart) -> dict[str, Any]:
        """Copy a part to the device."""
        raise NotImplementedError

    def _can_walk(self) -> bool:
        """Return whether passes walk over all pairs of items too, with gaps where there is no row."""
        form = self.form
        if form.patterns is None or form.single_votes or form.weighted or form.code_type is not np.uint8:
            return False
        return self.walk_room <= self.device.shared_bytes - 1024

    @property
    def sums_in_words(self) -> bool:
        """Whether a walk adds posteriors up by pattern in words."""
        return self.form.n_rows >= _MANY_ROWS

    @property
    def walk_room(self) -> int:
        """Bytes of shared memory that a block needs in a walk."""
        assert self.form.patterns is not None
        sum_bytes = 4 if self.sums_in_words else 8
        return (len(self.form.patterns) + 1) * (_COPIES * 8 + WALK_THREADS * sum_bytes)

    def _make_room(self) -> None:
        """Reserve memory for the sums of all parts, and for what is sent and fetched."""
        self.sums = self.device.empty(self._lay_out_sums(), np.int64)
        self._found = self.device.pinned(len(self.sums), np.int64)
        self._sent = self.device.pinned(self.n_items, np.float64)

    def _room_for_curvature(self, part: GpuPart) -> Any:
        room = self.device.empty(self.n_cells(part), np.float32)
        if self.in_cells and not self.all_pairs:
            self.device.fill(room, 0)
        return room

    def _count(self, codes: Any, kinds: int) -> None:
        """Add to the sums how many rows have each code."""
        chunk = max(-(-len(codes) // (_MOST_BLOCKS * THREADS)), 1) * THREADS
        shared = shared_bytes(kinds)
        self.device.launch(
            f"count_codes<{self.code_type}>",
            max(-(-len(codes) // chunk), 1),
            THREADS,
            *(len(codes), chunk, codes, kinds, int(shared > 0), self.sums),
            shared=shared,
        )

    @cached_property
    def truth_scales(self) -> tuple[float, float, float]:
        """The scales of gradient, degree and sums by kind, where votes depend on a latent truth."""
        most = fixed_point_scale(self.form.most_weight)
        return most, most, fixed_point_scale(self.form.total_weight)

    @cached_property
    def group(self) -> int:
        """How many threads share the votes of a link."""
        form = self.form
        return 32 if form.in_runs and form.n_rows >= _MANY_VOTES * form.n_links else 1

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

    def tiles(self, part: GpuPart, in_words: bool = False) -> tuple[int, int]:
        """Return how many tiles, across and down, walk over a part."""
        width, down = _WORDS_WIDTH if in_words else _WIDTH, -(-(part.last - part.first) // self.height)
        return -(-self.n_items // width), max(down, 1)

    @property
    def height(self) -> int:
        """How many items down a tile of a walk goes."""
        return min(max(n_all_pairs(self.n_items) // (_TILES * _WIDTH), _LEAST_HEIGHT), _MOST_HEIGHT)

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
        return "Byte" if self.form.code_type is np.uint8 else "int"

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

    def clear_sums(self) -> None:
        """Set all sums to 0."""
        self.device.fill(self.sums, 0)

    def start_fetching(self) -> None:
        """Start copying all sums."""
        self.device.receive(self.sums, self._found)

    def fetched(self) -> IntArray:
        """Return the sums when they are copied, in a buffer that the next copy overwrites."""
        self.device.wait()
        return self._found

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

    def votes_of_links(self, part: GpuPart, there: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a kernel that say which votes are on each link: begins, kinds and weights."""
        names = ("vote_start", "vote", "vote_weight") if self.form.patterns is None else ("begin", "codes", "weight")
        begin, kinds, weight = (there.get(name) for name in names)
        return begin, part.vote_base, kinds, weight

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


def free_memory(device: GpuDevice) -> int:
    """Return how many bytes of the device to use."""
    return int(_SHARE_USED * device.free_bytes)
