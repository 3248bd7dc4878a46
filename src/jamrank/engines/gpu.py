"""Passes over rows on a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.engines.base import Expectation, Maximisation
from jamrank.engines.memory import MemoryEngine, _Taken
from jamrank.engines.passes import likelihoods
from jamrank.errors import CardError, NoCardWarning, warn
from jamrank.kernels.card import GpuDevice
from jamrank.rows.rows import Codes, Patterns, RaggedVotes, Rows
from jamrank.typing import Float32Array, FloatArray, IntArray

__all__ = ["GpuEngine", "on_gpu"]


# Threads of a block, and at most so many blocks: what each has to hand over at its end is then little.
_THREADS, _MOST_BLOCKS = 256, 4096
# Kinds of votes whose sums a block can share.
_MOST_KINDS_SHARED = 4096
# With so many votes on a link, a warp takes it instead of a thread.
_MANY_VOTES = 16
# The tiles of a walk over all pairs, see kernels/gpu/walk.cu: their width, threads, and doubles a pattern.
_WIDTH, _WALK_THREADS, _WALK_ROOM = 192, 128, 128 + 16
_LEAST_HEIGHT, _MOST_HEIGHT, _TILES = 64, 512, 2000
# Of all pairs of items so many must have a row for it to pay to walk over all.
_DENSE = 1 / 3
# A walk multiplies eight likelihoods before it splits the exponent off, and exponentials of scores.
_MILD_LOG_RATIO, _LARGEST_LOG = 80.0, 690.0
# Of the memory that is free, so much is left alone; what does not fit is cut into this many parts of the rest.
_SHARE_USED, _PARTS = 0.9, 8
# Steps of conjugate gradients that are started before anybody looks whether they were enough, and threads of each.
_AHEAD, _STEP_THREADS = 3, 1024
# Sums are 64-bit integers, with this much to spare; every weight must be this many steps of theirs.
_BITS, _STEPS = 61, 1 << 30


def on_gpu(rows: Rows, threads: int | None = None) -> MemoryEngine:
    """Return an engine on the GPU; where none can be had one in memory, with a warning that says why."""
    try:
        return GpuEngine(rows, threads)
    except CardError as error:
        warn(f"engine='gpu': {error}; the fit runs in memory instead", NoCardWarning)
        return MemoryEngine(rows, threads)


@dataclass
class _Part:
    """Links (rows, where they come in no runs) that are on the card together.

    ``first``, ``last`` are the first items of a walk; ``host`` has what is copied to the card, ``card`` what is
    there; ``values`` where the blocks of a pass put their values, ``rooms`` where all that it adds up goes.
    """

    begin: int
    end: int
    host: dict[str, NDArray[Any]]
    bytes: int
    first: int = 0
    last: int = 0
    vote_base: int = 0
    values: slice = field(default_factory=lambda: slice(0, 0))
    card: dict[str, Any] | None = None
    rooms: tuple[Any, Any, Any, Any] | None = None

    def __len__(self) -> int:
        return self.end - self.begin


# Starts a pass of an engine over a part, whose arrays are there, with room for its sums. It must not hold the engine:
# that would keep the memory of the card from being free as soon as nobody needs it.
Launch = Callable[["GpuEngine", _Part, dict[str, Any], Any], None]


@dataclass
class _Held:
    """The curvature that is on the card: how a part's is worked out, and whether it lies in cells of all pairs."""

    work_out: Launch
    in_cells: bool
    largest_degree: float


class GpuEngine(MemoryEngine):
    """Runs passes on a GPU: the rows are copied there once, and every pass is one kernel.

    Sums are integers, multiples of a power of two, which may be added in any order: they do not change from run to
    run. What does not fit on the card is copied part by part in every pass. The hinge loss runs in memory.

    Parameters
    ----------
    rows : Rows
        What to pass over.
    threads : int, optional
        Of the work that stays in memory; every available core unless given.
    memory : int, optional
        How many bytes of the card to use; most of what is free unless given.
    card : Card, optional
        The current device of CuPy unless given.

    Raises
    ------
    CardError
        Where there is no card, or too little memory on it; or weights differ too much for its sums.
    """

    def __init__(
        self, rows: Rows, threads: int | None = None, *, memory: int | None = None, card: GpuDevice | None = None
    ) -> None:
        super().__init__(rows, threads)
        self._card = GpuDevice() if card is None else card
        self._held: _Held | None = None
        self._most = _most_weight(rows)
        self._walks = self._can_walk()
        self._all_pairs = rows.distinct and rows.begin is None and len(rows) == _all_pairs(rows.n_items)
        self._start = None if self._all_pairs else self._card.put(_starts(rows))
        self._near = not self._all_pairs and rows.n_items <= 1 << 16
        budget = int(_SHARE_USED * self._card.free_bytes) if memory is None else memory
        self._parts = list(self._cut(budget))
        self._sums = self._card.empty(self._lay_out_sums(), np.int64)
        self._found = self._card.fixed(len(self._sums), np.int64)
        self._sent = self._card.fixed(rows.n_items, np.float64)
        self._keep_what_fits(budget)
        self._count()

    # -- what is where --------------------------------------------------------------------------------------

    def _can_walk(self) -> bool:
        """Tell whether a pass may go over all pairs, with holes where there is no row."""
        rows, ballots = self.rows, self.rows.ballots
        if not isinstance(ballots, Patterns) or rows.single_votes or len(rows.weight) or not rows.distinct:
            return False
        fits = (len(ballots) + 1) * _WALK_ROOM * 8 <= self._card.shared_bytes - 1024
        many = len(rows) >= max(_DENSE * _all_pairs(rows.n_items), 1)
        return fits and many and ballots.of_row.dtype == np.uint8

    @cached_property
    def _kinds(self) -> int:
        """How many sums by kind a pass has."""
        ballots = self.rows.ballots
        if isinstance(ballots, RaggedVotes):
            return 2 * ballots.n_confusion_groups
        if self.rows.about != "truth":
            return 2 * ballots.n_confusion_groups
        return 2 * len(ballots) if self.rows.single_votes else len(ballots)

    @cached_property
    def _group(self) -> int:
        """How many threads share the votes of a link."""
        begin = self.rows.begin
        return 32 if begin is not None and len(self.rows) >= _MANY_VOTES * (len(begin) - 1) else 1

    def _cut(self, budget: int) -> Iterator[_Part]:
        """Cut the links into parts: one, if that fits."""
        size = self._part(0, self._n_links).bytes
        if size <= budget:
            cuts = np.array([0, self._n_links])
        else:
            n_parts = min(-(-size * _PARTS // max(budget, 1)), max(self._n_links, 1))
            cuts = np.linspace(0, self._n_links, n_parts + 1).astype(np.int64)
        if self._walks and len(cuts) > 2:
            # A walk goes from item to item.
            cuts = np.unique(_starts(self.rows)[np.searchsorted(_starts(self.rows), cuts)])
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            yield self._part(begin, end)

    @property
    def _n_links(self) -> int:
        return len(self.rows.link_first)

    def _part(self, begin: int, end: int) -> _Part:
        """Return the links from one to another, as arrays to be copied."""
        rows, ballots = self.rows, self.rows.ballots
        host: dict[str, NDArray[Any]] = {}
        if not self._all_pairs:
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
        part = _Part(begin, end, host, 0, vote_base=vote_base)
        if self._walks and end > begin:
            part.first, part.last = int(rows.link_first[begin]), int(rows.link_first[end - 1]) + 1
        # Beside the arrays: the curvature, the cells of a walk, and the posterior when it is asked for.
        part.bytes = sum(array.nbytes for array in host.values()) + 4 * self._n_cells(part)
        part.bytes += self._n_cells(part) if self._walks and not self._all_pairs else 0
        part.bytes += 8 * (votes.stop - votes.start)
        return part

    def _n_cells(self, part: _Part) -> int:
        """How many curvatures there are: of all pairs where a pass walks, else of the links."""
        return self._cell_at(part.last) - self._cell_at(part.first) if self._walks else len(part)

    def _cell_at(self, item: int) -> int:
        return item * self.n_items - item * (item + 1) // 2

    def _lay_out_sums(self) -> int:
        """Give every part room for the values of its blocks; return how many sums there are in all."""
        at = 2 * self.n_items + self._kinds
        for part in self._parts:
            blocks = max(self._blocks(part)[0], self._tiles(part)[0] * self._tiles(part)[1] if self._walks else 0)
            part.values = slice(at, at + blocks)
            at += blocks
        return at

    def _blocks(self, part: _Part) -> tuple[int, int]:
        """Return how many blocks pass over a part, and how many links each has."""
        step = _THREADS // self._group
        chunk = max(-(-len(part) // (_MOST_BLOCKS * step)), 1) * step
        return max(-(-len(part) // chunk), 1), chunk

    def _tiles(self, part: _Part) -> tuple[int, int]:
        """Return how many tiles, across and down, walk over a part."""
        return -(-self.n_items // _WIDTH), max(-(-(part.last - part.first) // self._height), 1)

    @property
    def _height(self) -> int:
        return min(max(_all_pairs(self.n_items) // (_TILES * _WIDTH), _LEAST_HEIGHT), _MOST_HEIGHT)

    def _keep_what_fits(self, budget: int) -> None:
        """Copy parts to the card to stay there; the last ones come and go if there is no room for all."""
        for part in self._parts:
            left = budget - part.bytes
            if part is not self._parts[-1] and left < max(other.bytes for other in self._parts):
                break
            if left < 0:
                break
            part.card, budget = self._copied(part), left

    def _copied(self, part: _Part) -> dict[str, Any]:
        """Copy a part to the card."""
        there = {name: self._card.put(array) for name, array in part.host.items()}
        if self._near:
            there["second"] = self._card.narrowed(there["second"])
        there["curvature"] = self._card.empty(self._n_cells(part), np.float32)
        if self._walks and not self._all_pairs:
            ballots = self.rows.ballots
            assert isinstance(ballots, Patterns)
            there["cells"] = self._card.empty(self._n_cells(part), np.uint8)
            self._card.fill(there["cells"], len(ballots))
            blocks = max(-(-len(part) // _THREADS), 1)
            places = self._cell_at(part.first), there["cells"]
            layout = self.n_items, part.begin, len(part), self._start, there["second"], there["codes"]
            self._card.launch(f"to_cells<{self._second}>", blocks, _THREADS, *layout, *places)
        return there

    @contextmanager
    def _at_hand(self, part: _Part) -> Iterator[dict[str, Any]]:
        """See to it that a part is on the card; unless it stays there, only for a while."""
        yield part.card if part.card is not None else self._copied(part)

    @cached_property
    def _second(self) -> str:
        return "Near" if self._near else "int"

    @cached_property
    def _code(self) -> str:
        ballots = self.rows.ballots
        return "Byte" if isinstance(ballots, Patterns) and ballots.of_row.dtype == np.uint8 else "int"

    def _count(self) -> None:
        """Count the patterns on the card, which is quicker."""
        rows, ballots = self.rows, self.rows.ballots
        if not isinstance(ballots, Patterns) or len(rows.weight) or rows.known_weight is not None:
            return
        kinds = len(ballots)
        self._card.fill(self._sums, 0)
        for part in self._parts:
            with self._at_hand(part) as there:
                n_votes = len(part.host["codes"])
                chunk = max(-(-n_votes // (_MOST_BLOCKS * _THREADS)), 1) * _THREADS
                shared = _shared(kinds)
                self._card.launch(
                    f"count_codes<{self._code}>",
                    max(-(-n_votes // chunk), 1),
                    _THREADS,
                    n_votes,
                    chunk,
                    there["codes"],
                    kinds,
                    int(shared > 0),
                    self._sums,
                    shared=shared,
                )
        self.rows = replace(rows, known_weight=self._fetched(kinds).astype(np.float64))

    # -- passes ---------------------------------------------------------------------------------------------

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        self.passes += 1
        task = _Task(self, scores, log_emission)
        sums = self._run(task.scales, task.launch)
        self._keep(task.launch, task.walks, sums.degree)
        self._kept = _Taken(lambda engine: engine.expectation(scores, log_emission))
        expected_counts, truth_variance, base = task.summed(sums.by_kind)
        return Expectation(sums.value + base, sums.gradient, sums.degree, self._kept, expected_counts, truth_variance)

    def posterior(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the probability that the first item is truly better, for each row."""
        if self.rows.about != "truth":
            return super().posterior(scores, log_emission)
        self.passes += 1
        task = _Task(self, scores, log_emission)
        posterior = np.empty(len(self.rows))
        if task.walks and self._all_pairs:
            # It comes from the whole pass, and another curvature with it.
            self._kept = None
        for part in self._parts:
            with self._at_hand(part) as there:
                task.posterior(self, part, there, posterior)
        return posterior

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
        if loss != "logistic" or n_rows != self._n_links:
            # Rows in runs, each with a posterior of its own.
            return super()._maximise(layout, weight, scores, posterior, loss, pattern)
        self.passes += 1
        scales = _scale(self._most), _scale(self._most), 1.0
        sent = self.send(scores)
        by_pattern = None if pattern is None else self._card.put(posterior)

        def launch(engine: GpuEngine, part: _Part, there: dict[str, Any], sums: Any) -> None:
            own, (blocks, chunk) = slice(part.begin, part.end), engine._blocks_of_rows(part)
            engine._card.launch(
                f"maximise<{engine._second}, {'Byte' if pattern is None else engine._code}>",
                blocks,
                _THREADS,
                *engine._layout(part, there, chunk),
                None if pattern is None else there["codes"],
                engine._card.put(weight[own]) if len(weight) else None,
                engine._card.put(posterior[own]) if by_pattern is None else by_pattern,
                sent,
                there["curvature"],
                *scales[:2],
                *[engine._rooms(part, sums)[k] for k in (0, 1, 3)],
            )

        sums = self._run(scales, launch)
        self._keep(launch, False, sums.degree)
        self._kept = _Taken(lambda engine: engine._maximise(layout, weight, scores, posterior, loss, pattern))
        return Maximisation(sums.value, sums.gradient, sums.degree, self._kept)

    def maximisation(
        self, scores: FloatArray, posterior: FloatArray, loss: str = "logistic", pattern: Codes | None = None
    ) -> Maximisation:
        """Run the pass of the M-step at new scores, with the posterior held fixed."""
        goes = loss == "logistic" and self.rows.begin is None
        layout = (np.empty(0, np.int64), np.empty(0, np.int32)) if goes else self.rows.layout
        at = self._maximise(layout, self.rows.weight, scores, posterior, loss, pattern)
        if self._held is None:
            self._bends = self._by_link(self._bends)
        self._kept = _Taken(lambda engine: engine.maximisation(scores, posterior, loss, pattern))
        return replace(at, curvature=self._kept)

    def curvature_times(self, curvature: _Taken, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        self._recall(curvature)
        if self._held is None:
            return super().curvature_times(curvature, vector)
        furthest = float(vector.max(initial=0.0) - vector.min(initial=0.0))
        scale = _scale(self._held.largest_degree * furthest)
        sent, product = self.send(vector, np.array([scale, 0.0])), self._sums[: self.n_items]
        self._card.fill(product, 0)
        for part in self._parts:
            with self._at_hand(part) as there:
                if part.card is None:
                    # Its curvature is gone with the part; sums that nobody asks for go elsewhere.
                    self._held.work_out(self, part, there, self._card.empty(len(self._sums), np.int64))
                self._multiply(part, there, sent[: self.n_items], sent[self.n_items :], product)
        return self._fetched(self.n_items) / scale

    def solve(
        self,
        curvature: _Taken,
        target: FloatArray,
        precision: FloatArray,
        evened: tuple[FloatArray, FloatArray, float],
        tolerance: float,
        max_iter: int,
    ) -> FloatArray | None:
        """Solve by conjugate gradients on the card; steps are started some ahead, and those too many do nothing."""
        self._recall(curvature)
        if self._held is None or any(part.card is None for part in self._parts):
            return None
        inverse, share, held = evened
        n, product = self.n_items, self._sums[: self.n_items]
        # The state begins with the scale of a product and whether all is done; see descend in kernels/gpu/descent.cu.
        state = np.array([0.0, 0.0, 0.0, tolerance, self._held.largest_degree, held])
        given = self.send(target, precision, inverse, share, np.zeros(n), state)
        direction, there = self._card.empty(n, np.float64), given[4 * n :]
        whole = n, product, direction, given
        self._card.launch("descend", 1, _STEP_THREADS, *whole, 1)
        solution = self._card.fixed(len(state) + n, np.float64)
        for _ in range(0, max_iter, _AHEAD):
            for _ in range(_AHEAD):
                for part in self._parts:
                    self._multiply(part, part.card, direction, there[n:], product)
                self._card.launch("descend", 1, _STEP_THREADS, *whole, 0)
            self._card.fetch(there, solution)
            if solution[n + 1]:
                break
        return solution[:n].copy()

    def send(self, *vectors: FloatArray) -> Any:
        """Start to copy vectors to the card, one after the other; return where they are."""
        ends = list(accumulate(len(vector) for vector in vectors))
        if ends[-1] > len(self._sent):
            self._sent = self._card.fixed(ends[-1], np.float64)
        for vector, end in zip(vectors, ends, strict=True):
            self._sent[end - len(vector) : end] = vector
        there = self._card.empty(ends[-1], np.float64)
        self._card.send(self._sent[: ends[-1]], there)
        return there

    def _fetched(self, length: int) -> IntArray:
        """Return the first sums, to be used before the next are asked for."""
        found = self._found[:length]
        self._card.fetch(self._sums[:length], found)
        return found

    def bends(self, curvature: _Taken) -> Float32Array:
        """Return the curvature of each of the rows' links, in single precision."""
        self._recall(curvature)
        if self._held is None:
            return self._bends
        found = np.empty(self._n_links, dtype=np.float32)
        for part in self._parts:
            with self._at_hand(part) as there:
                if part.card is None:
                    self._held.work_out(self, part, there, self._card.empty(len(self._sums), np.int64))
                own = there["curvature"]
                if self._held.in_cells and not self._all_pairs:
                    own = self._card.empty(len(part), np.float32)
                    layout = self.n_items, part.begin, len(part), self._start, there["second"]
                    places = self._cell_at(part.first), there["curvature"], own
                    blocks = max(-(-len(part) // _THREADS), 1)
                    self._card.launch(f"from_cells<{self._second}>", blocks, _THREADS, *layout, *places)
                found[part.begin : part.end] = self._card.read(own[: len(part)])
        return found if self.rows.begin is not None else self._by_link(found)

    def _recall(self, curvature: _Taken) -> None:
        """See to it that a curvature is the one that is kept."""
        if curvature is not self._kept:
            curvature.again(self)
            self._kept = curvature

    def _make_room(self, length: int) -> Float32Array:
        self._held = None
        return super()._make_room(length)

    def _keep(self, launch: Launch, in_cells: bool, degree: FloatArray) -> None:
        self._held = _Held(launch, in_cells, float(degree.max(initial=0.0)))

    # -- launches -------------------------------------------------------------------------------------------

    def _run(self, scales: tuple[float, float, float], launch: Launch) -> _Sums:
        """Run a pass over all parts, and fetch its sums."""
        self._kept = None
        self._card.fill(self._sums, 0)
        for part in self._parts:
            with self._at_hand(part) as there:
                launch(self, part, there, self._sums)
        return _Sums.of(self._fetched(len(self._sums)), self.n_items, self._kinds, scales)

    def _rooms(self, part: _Part, sums: Any) -> tuple[Any, Any, Any, Any]:
        """Return where gradient, degree, sums by kind and the values of a part's blocks go."""
        if sums is self._sums and part.rooms is not None:
            return part.rooms
        n, kinds = self.n_items, slice(2 * self.n_items, 2 * self.n_items + self._kinds)
        rooms = sums[:n], sums[n : 2 * n], sums[kinds], sums[part.values]
        if sums is self._sums:
            part.rooms = rooms
        return rooms

    def _layout(self, part: _Part, there: dict[str, Any], chunk: int) -> tuple[Any, ...]:
        return self.n_items, part.begin, len(part), chunk, self._start, there.get("second")

    def _blocks_of_rows(self, part: _Part) -> tuple[int, int]:
        """Return blocks and links of each where a thread takes one link, however many votes are on it."""
        chunk = max(self._blocks(part)[1], _THREADS)
        return max(-(-len(part) // chunk), 1), chunk

    def _multiply(self, part: _Part, there: Any, vector: Any, scale: Any, product: Any) -> None:
        assert self._held is not None
        if self._held.in_cells:
            span = self.n_items, part.first, part.last, self._cell_at(part.first), self._height
            rest = there["curvature"], vector, scale, product
            self._card.launch("walk_times", self._tiles(part), _WALK_THREADS, *span, *rest)
            return
        blocks, chunk = self._blocks_of_rows(part)
        layout = self._layout(part, there, chunk)
        rest = there["curvature"], vector, scale, product
        self._card.launch(f"rows_times<{self._second}>", blocks, _THREADS, *layout, *rest)


@dataclass(frozen=True)
class _Sums:
    """What a pass has added up, as numbers again."""

    value: float
    gradient: FloatArray
    degree: FloatArray
    by_kind: FloatArray

    @classmethod
    def of(cls, found: IntArray, n_items: int, kinds: int, scales: tuple[float, float, float]) -> _Sums:
        """Take the sums apart."""
        ends = n_items, 2 * n_items, 2 * n_items + kinds
        value = float(found[ends[2] :].view(np.float64).sum())
        sums = found[: ends[2]].astype(np.float64)
        return cls(
            value,
            sums[: ends[0]] / scales[0],
            sums[ends[0] : ends[1]] / scales[1],
            sums[ends[1] :] / scales[2],
        )


class _Task:
    """The expectation at some scores: what it needs on the card, and how it is launched."""

    def __init__(self, engine: GpuEngine, scores: FloatArray, log_emission: FloatArray) -> None:
        self.rows, self.ballots = engine.rows, engine.rows.ballots
        self._base = np.empty(0)
        if_first = if_second = np.empty(0)
        if isinstance(self.ballots, RaggedVotes) or self.rows.about != "truth":
            if_first = np.ascontiguousarray(log_emission, dtype=np.float64).ravel()
        else:
            self._base, if_first, if_second = likelihoods(self.ballots, log_emission)
        self.scales = self._scales(engine._most, scores, log_emission)
        low, high = float(scores.min(initial=np.inf)), float(scores.max(initial=-np.inf))
        self.walks = engine._walks and not len(if_first) and self._mild(high - low, if_second)
        # Only differences of scores count; around 0 their exponentials have the most room.
        centred = scores - (low + high) / 2 if self.walks else scores
        sent, n, split = engine.send(centred, if_first, if_second), len(centred), len(centred) + len(if_first)
        self._scores = sent[:n]
        self._if_first = sent[n:split] if len(if_first) else None
        self._if_second = sent[split:] if len(if_second) else None
        if self.walks:
            self._exponentials = engine._card.empty(2 * n, np.float64)
            engine._card.launch("exponentials", -(-n // _THREADS), _THREADS, n, self._scores, self._exponentials)

    @staticmethod
    def _mild(spread: float, ratio: FloatArray) -> bool:
        """Tell whether exponentials can be multiplied without a look at each."""
        furthest = float(np.abs(np.log(ratio)).max(initial=0.0))
        return furthest <= _MILD_LOG_RATIO and 2 * spread + furthest <= _LARGEST_LOG

    def _scales(self, most: float, scores: FloatArray, log_emission: FloatArray) -> tuple[float, float, float]:
        every = _total_weight(self.rows)
        if self.rows.about == "truth":
            return _scale(most), _scale(most), _scale(every)
        spread = float(scores.max(initial=0.0) - scores.min(initial=0.0))
        steep = max(float(np.abs(log_emission).max(initial=0.0)), 1.0) if self.rows.about == "margin" else 1.0
        return _scale(most * steep), _scale(most * steep**2), _scale(every * max(spread, 1.0) ** 2)

    def launch(self, engine: GpuEngine, part: _Part, there: dict[str, Any], sums: Any) -> None:
        """Start the pass over a part."""
        if self.walks:
            self.walk(engine, part, there, sums, None)
        else:
            self._pass(engine, part, there, sums, None)

    def walk(self, engine: GpuEngine, part: _Part, there: dict[str, Any], sums: Any, posterior: Any | None) -> None:
        """Start the pass over all pairs of a part; with room for it, the posterior of each is kept."""
        assert isinstance(self.ballots, Patterns)
        patterns = len(self.ballots)
        engine._card.launch(
            "walk<false>" if posterior is None else "walk<true>",
            engine._tiles(part),
            _WALK_THREADS,
            engine.n_items,
            part.first,
            part.last,
            engine._cell_at(part.first),
            engine._height,
            there["codes"] if engine._all_pairs else there["cells"],
            int(not engine._all_pairs),
            patterns,
            self._if_second,
            self._exponentials,
            there["curvature"],
            posterior,
            *self.scales,
            *engine._rooms(part, sums),
            shared=(patterns + 1) * _WALK_ROOM * 8,
        )

    def _pass(
        self, engine: GpuEngine, part: _Part, there: dict[str, Any], sums: Any | None, posterior: Any | None
    ) -> None:
        """Start the pass over rows of any kind; without sums, only for the posterior."""
        kinds = engine._kinds
        shared = _shared(kinds) if sums is not None else 0
        each = kinds // 2 if isinstance(self.ballots, Patterns) and self.rows.single_votes else kinds
        room = (None, None, None, None)
        if sums is not None:
            room = engine._rooms(part, sums)
        blocks, chunk = engine._blocks(part)
        engine._card.launch(
            self._kernel(engine),
            blocks,
            _THREADS,
            *engine._layout(part, there, chunk),
            *self._votes(engine, part, there),
            self._scores,
            posterior,
            there["curvature"] if sums is not None else None,
            *self.scales,
            each,
            int(shared > 0),
            *room,
            shared=shared,
        )

    def _kernel(self, engine: GpuEngine) -> str:
        second, code = engine._second, engine._code
        if isinstance(self.ballots, RaggedVotes):
            return f"over_lists<{second}>"
        if not self.rows.single_votes:
            return f"over_patterns<{second}, {code}>"
        of = {"truth": "OfTruth", "margin": "OfMargin<false>", "tie": "OfMargin<true>"}[self.rows.about]
        return f"over_votes<{second}, {code}, {of}>"

    def _votes(self, engine: GpuEngine, part: _Part, there: dict[str, Any]) -> tuple[Any, ...]:
        if isinstance(self.ballots, RaggedVotes):
            own = there["vote_start"], part.vote_base, there["vote"], there.get("vote_weight")
            return (*own, self._if_first)
        likely = self._if_first, self._if_second
        if not self.rows.single_votes:
            return there["codes"], there.get("weight"), *likely
        return there.get("begin"), part.vote_base, engine._group, there["codes"], there.get("weight"), *likely

    def posterior(self, engine: GpuEngine, part: _Part, there: dict[str, Any], out: FloatArray) -> None:
        """Work out the posterior of a part's rows."""
        card = engine._card
        at = part.vote_base if self.rows.begin is not None else part.begin
        length = len(there["codes"]) if isinstance(self.ballots, Patterns) else len(part)
        found = card.empty(length, np.float64)
        if self.walks and engine._all_pairs:
            self.walk(engine, part, there, engine._sums, found)
        else:
            self._pass(engine, part, there, None, found)
        card.read(found, out[at : at + length])

    def summed(self, by_kind: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return votes where the first item is truly better, what hidden truths take away, and the common value."""
        ballots, none = self.ballots, np.zeros(self.ballots.n_confusion_groups)
        if isinstance(ballots, RaggedVotes):
            return by_kind.reshape(-1, 2), none, 0.0
        if self.rows.about != "truth":
            return np.ascontiguousarray(by_kind.reshape(2, -1).T), none, 0.0
        base = float((self.rows.pattern_weight * self._base).sum())
        if not self.rows.single_votes:
            return ballots.over_patterns(by_kind), none, base
        expected_counts, truth_variance = by_kind.reshape(2, -1)
        return ballots.over_patterns(expected_counts), ballots.over_patterns(truth_variance).sum(axis=1), base


def _all_pairs(n_items: int) -> int:
    return n_items * (n_items - 1) // 2


def _starts(rows: Rows) -> IntArray:
    """Return where the links of each first item begin."""
    numbers = np.arange(rows.n_items + 1, dtype=rows.link_first.dtype)
    return np.asarray(np.searchsorted(rows.link_first, numbers), dtype=np.int64)


def _shared(kinds: int) -> int:
    """Return how many bytes a block shares for sums by kind; 0 where there are too many kinds."""
    return 8 * kinds if kinds <= _MOST_KINDS_SHARED else 0


def _scale(most: float) -> float:
    """Return the power of two by which sums of at most so much are multiplied to become integers."""
    return math.ldexp(1.0, _BITS - math.frexp(max(most, 1e-250))[1])


def _total_weight(rows: Rows) -> float:
    """Return what all votes weigh together, at most."""
    ballots = rows.ballots
    if isinstance(ballots, RaggedVotes):
        return float(ballots.weight.sum()) if len(ballots.weight) else float(len(ballots.vote))
    return float(rows.weight.sum()) if len(rows.weight) else float(len(rows))


def _most_weight(rows: Rows) -> float:
    """Return what the rows of an item weigh together, at most."""
    total = float(rows.weight.sum()) if len(rows.weight) else float(len(rows))
    weights = rows.ballots.weight if isinstance(rows.ballots, RaggedVotes) else rows.weight
    least = float(weights[weights > 0].min(initial=np.inf)) if len(weights) else 1.0
    if least * _scale(max(total, _total_weight(rows))) < _STEPS:
        raise CardError("the votes' weights differ too much for its sums")
    return min(total, rows.n_items - 1.0) if rows.distinct and not len(rows.weight) else total
