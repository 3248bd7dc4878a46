"""Passes over votes that lie on disk, one part of them in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import Expectation, Information, Links, Maximisation
from jamrank.engines.marginal import MarginalExpectation
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.passes import Sums, expectation, marginal
from jamrank.errors import ScratchError, ScratchWarning, warn
from jamrank.io.out_of_core.arrays import read_into, write_array
from jamrank.io.out_of_core.store import StoredComparisons
from jamrank.io.private import private_folder
from jamrank.io.scratch import Journal, read_manifest, refuse_beyond, remove_folder, verify_files, write_manifest
from jamrank.kernels import default_threads, kernels
from jamrank.rows.rows import ROWS_BY, Patterns, RaggedVotes, Rows
from jamrank.typing import Float32Array, FloatArray, Int32Array, IntArray

__all__ = ["DiskEngine"]

Tick = Callable[[int, int], None]

_KIND, _VERSION = "rows", 3


@dataclass(frozen=True, eq=False)
class _At:
    """Where a curvature was taken. That of the last pass lies on disk, any other is worked out anew."""

    scores: FloatArray
    log_emission: FloatArray | None
    variance: FloatArray | None = None

    def question(self, name: str) -> tuple[str, *tuple[FloatArray, ...]]:
        """Return what a journal knows it by."""
        log_emission = np.empty(0) if self.log_emission is None else self.log_emission
        own = name, self.scores, log_emission
        return own if self.variance is None else (f"marginal {name}", *own[1:], self.variance)


@dataclass(frozen=True)
class _Part:
    """Rows of one part, as passes read them."""

    layout: tuple[IntArray, NDArray[np.integer]]
    weight: FloatArray
    ballots: Patterns | RaggedVotes
    pattern_weight: FloatArray
    n_items: int
    distinct: bool
    single_votes: bool
    about: str
    begin: IntArray | None

    @property
    def link_layout(self) -> tuple[IntArray, NDArray[np.integer]]:
        """The layout: where rows come in runs, it is that of the runs."""
        return self.layout

    def __len__(self) -> int:
        return len(self.layout[1]) if self.begin is None else int(self.begin[-1])

    def over_votes(self, values: FloatArray, power: int = 1) -> FloatArray:
        """Add up a value for each row over its votes, by coin and side."""
        return self.ballots.over_votes(values * self.weight if len(self.weight) else values, power)

    def as_rows(self) -> Rows:
        """Return rows that know their first items too."""
        start, second = self.layout
        first = np.repeat(np.arange(self.n_items, dtype=np.int32), np.diff(start))
        return Rows(
            first,
            second.astype(np.int32, copy=False),
            self.begin,
            self.weight,
            self.ballots,
            None,
            None,
            self.n_items,
            self.distinct,
            self.single_votes,
            about=self.about,
        )


class _PartStore:
    """The rows of all parts on disk, and room in memory for one of them."""

    def __init__(self, folder: Path, n_items: int, parts: list[dict[str, Any]]) -> None:
        self.folder, self.n_items, self.parts = folder, n_items, parts
        self._room: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self.parts)

    @staticmethod
    def put(folder: Path, number: int, rows: Rows) -> dict[str, Any]:
        """Write the rows of a part; return what else is to be known of it."""
        ballots, lists = rows.ballots, isinstance(rows.ballots, RaggedVotes)
        start, second = rows.index
        low, high = (int(rows.link_first[0]), int(rows.link_first[-1])) if len(rows) else (0, 0)
        columns = {"second": second, "weight": rows.weight}
        if rows.begin is not None:
            columns["run"] = np.diff(rows.begin)
        if isinstance(ballots, RaggedVotes):
            columns |= {"count": np.diff(ballots.start), "vote": ballots.vote, "vote_weight": ballots.weight}
        else:
            columns |= {"pattern": ballots.of_row}
        kinds, files = {}, {}
        for name, column in columns.items():
            small = column if column.dtype.kind == "f" or name == "second" else _smallest(column)
            kinds[name] = [small.dtype.str, len(small)]
            if len(small):
                files[_file(number, name)] = write_array(folder / _file(number, name), small)
        told: dict[str, Any] = {
            "columns": kinds,
            "files": files,
            "low": low,
            "start": start[low : high + 2],
            "lists": lists,
            "n_confusion_groups": rows.n_confusion_groups,
            "distinct": rows.distinct,
            "single_votes": rows.single_votes,
            "about": rows.about,
        }
        if isinstance(ballots, Patterns):
            told |= {"list_start": ballots.start, "vote": ballots.vote, "vote_weight": ballots.weight}
            told["pattern_weight"] = rows.pattern_weight
        return told

    def load(self, number: int) -> _Part:
        """Read a part into the room for it; the part before is gone then."""
        told = self.parts[number]
        ballots: Patterns | RaggedVotes
        if told["lists"]:
            list_start = self._starts(number, "count")
            vote = self._bounded(self._widened(number, "vote", np.int32), 2 * told["n_coins"], "a vote")
            self._refuse_other(int(list_start[-1]), len(vote))
            ballots = RaggedVotes(list_start, vote, self._column(number, "vote_weight"), told["n_coins"])
            pattern_weight = np.empty(0)
        else:
            pattern = self._column(number, "pattern")
            if pattern.dtype != np.uint8:
                pattern = self._widened(number, "pattern", np.int32)
            self._bounded(pattern, len(told["list_start"]) - 1, "a pattern")
            ballots = Patterns(pattern, told["list_start"], told["vote"], told["vote_weight"], told["n_coins"])
            pattern_weight = told["pattern_weight"]
        begin = self._starts(number, "run") if "run" in told["columns"] else None
        if begin is not None:
            self._refuse_other(int(begin[-1]), self.n_rows(number))
        return _Part(
            self.layout(number),
            self._column(number, "weight"),
            ballots,
            pattern_weight,
            self.n_items,
            told["distinct"],
            told["single_votes"],
            told["about"],
            begin,
        )

    def layout(self, number: int) -> tuple[IntArray, NDArray[np.integer]]:
        """Read where the rows of each first item of a part begin, and the second items."""
        told = self.parts[number]
        start = np.zeros(self.n_items + 1, dtype=np.int64)
        low, own = told["low"], told["start"]
        start[low : low + len(own)] = own
        start[low + len(own) :] = own[-1]
        return start, self._bounded(self._column(number, "second"), self.n_items, "an item")

    def _bounded(self, codes: NDArray[Any], count: int, what: str) -> NDArray[Any]:
        """Return codes that are known to be in their range."""
        refuse_beyond(codes, count, what, self.folder)
        return codes

    def _refuse_other(self, found: int, expected: int) -> None:
        if found != expected:
            problem = "a scratch file is damaged (lengths do not add up)"
            raise ScratchError(problem, "delete its folder and start again", source=str(self.folder))

    def n_rows(self, number: int) -> int:
        """Return how many rows a part has."""
        columns = self.parts[number]["columns"]
        length: int = columns["pattern" if "pattern" in columns else "count"][1]
        return length

    def room_for_curvature(self, number: int) -> Float32Array:
        """Return room for the curvature of a part."""
        length: int = self.parts[number]["columns"]["second"][1]
        return self._space("curvature", length, np.float32)

    def write_curvature(self, number: int) -> None:
        """Write the curvature of a part, which is in the room for it, to disk."""
        write_array(self.folder / _file(number, "curvature"), self.room_for_curvature(number))

    def read_curvature(self, number: int) -> None:
        """Read the curvature of a part into the room for it."""
        read_into(self.folder / _file(number, "curvature"), self.room_for_curvature(number))

    def _column(self, number: int, name: str) -> NDArray[Any]:
        kind, length = self.parts[number]["columns"][name]
        column = self._space(name, length, np.dtype(kind))
        if length:
            read_into(self.folder / _file(number, name), column)
        return column

    def _starts(self, number: int, name: str) -> IntArray:
        """Return where each begins of which a column has the lengths, and the end of the last."""
        lengths = self._column(number, name)
        starts = self._space(f"starts {name}", len(lengths) + 1, np.int64)
        starts[0] = 0
        np.cumsum(lengths, out=starts[1:])
        return starts

    def _widened(self, number: int, name: str, dtype: Any) -> NDArray[Any]:
        small = self._column(number, name)
        wide = self._space(f"wide {name}", len(small), dtype)
        np.copyto(wide, small)
        return wide

    def _space(self, name: str, length: int, dtype: Any) -> NDArray[Any]:
        """Return an array in memory that is used again and again: fresh memory costs more than the reading."""
        size = length * np.dtype(dtype).itemsize
        room = self._room.get(name)
        if room is None or len(room) < size:
            room = self._room[name] = np.empty(max(size + size // 8, 8), dtype=np.uint8)
        return room[:size].view(dtype)


def _file(number: int, name: str) -> str:
    return f"{number:05}.{name}"


def _smallest(column: NDArray[Any]) -> NDArray[Any]:
    largest = int(column.max(initial=0))
    return column.astype(np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.int32)


class DiskEngine:
    """Runs passes over stored votes, part by part, in the order of the parts.

    The rows of every part are made once and kept in the scratch folder, beside a journal of the passes: a fit that
    was killed and is begun anew finds there what its passes said, up to the last one that was finished.

    Parameters
    ----------
    votes : StoredComparisons
        What to pass over.
    rows_by : str
        What a row is, of ``ROWS_BY``.
    threads : int, optional
        Every available core unless given.
    tick : callable, optional
        Told how many parts of a pass are done, and of how many.
    """

    def __init__(
        self, votes: StoredComparisons, rows_by: str, threads: int | None = None, tick: Tick | None = None
    ) -> None:
        self.votes, self.rows_by = votes, rows_by
        self.threads = threads or default_threads()
        self.passes = 0
        self._tick = tick or (lambda done, total: None)
        self._last: _At | None = None
        self._journal = Journal(votes.folder / f"journal-{rows_by}")
        self._folder = votes.folder / f"rows-{rows_by}"

    @cached_property
    def _known(self) -> dict[str, Any]:
        """What was noted when the rows were made."""
        manifest = self._folder / "rows.json"
        if manifest.exists():
            try:
                known = read_manifest(manifest, _KIND, _VERSION)
                for part in known["parts"]:
                    verify_files(self._folder, part["files"])
                return known
            except ScratchError as error:
                warn(f"{error}; the rows of this fit are made anew", ScratchWarning)
        remove_folder(self._folder)
        write_manifest(manifest, _KIND, _VERSION, self._make_rows())
        return read_manifest(manifest, _KIND, _VERSION)

    def _make_rows(self) -> dict[str, Any]:
        """Write the rows of every part, and find where a fit begins on the way."""
        private_folder(self._folder)
        told, n_links, vote_counts = [], 0, np.zeros((0, 0))
        begin: FloatArray = np.zeros(0)
        origin = np.zeros(self.votes.n_items)
        for number, part in enumerate(self._counted(self.votes.parts())):
            rows = ROWS_BY[self.rows_by](part, self.threads)
            told.append(_PartStore.put(self._folder, number, rows))
            if not len(rows):
                continue
            at, expected_counts = MemoryEngine(rows, self.threads).initial_step(origin)
            own = np.concatenate([[at.value], at.gradient, at.degree, expected_counts.ravel()])
            begin, vote_counts = (
                (own, rows.vote_counts) if not len(begin) else (begin + own, vote_counts + rows.vote_counts)
            )
            n_links += len(rows.edges)
            del rows, part
        return {"parts": told, "n_links": n_links, "cast": vote_counts, "initial_step": begin}

    def _counted(self, parts: Iterator[Any]) -> Iterator[Any]:
        total = len(self.votes.part_pairs)
        for number, part in enumerate(parts):
            self._tick(number, total)
            yield part
        self._tick(total, total)

    @cached_property
    def _shelf(self) -> _PartStore:
        return _PartStore(self._folder, self.votes.n_items, self._known["parts"])

    def _numbers(self) -> Iterator[int]:
        """Yield the numbers of the parts that have rows."""
        return (number for number in self._counted(iter(range(len(self._shelf)))) if self._shelf.n_rows(number))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.votes.n_items

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(map(self._shelf.n_rows, range(len(self._shelf))))

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return int(self._known["n_links"])

    @property
    def n_confusion_groups(self) -> int:
        """Number of coins."""
        return len(self.vote_counts)

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each coin for the second and for the first item of their rows, by weight."""
        vote_counts: FloatArray = self._known["cast"]
        return vote_counts

    def expectation(self, scores: FloatArray, log_emission: FloatArray) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        return self._taken(_At(scores, log_emission))[0]

    def marginal(self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray) -> MarginalExpectation:
        """Run the fused pass with the margin of each row integrated out; each item's score has a ``variance``."""
        at, observed = self._taken(_At(scores, log_emission, variance))
        return MarginalExpectation(**vars(at), observed=observed)

    def _taken(self, at: _At) -> tuple[Expectation, FloatArray]:
        """Run either pass; also returns what only the latter adds up."""
        assert at.log_emission is not None
        self.passes += 1

        def run() -> FloatArray:
            total = np.zeros(1 + 3 * self.n_items + 3 * self.n_confusion_groups)
            for number in self._numbers():
                (value, gradient, degree, expected_counts, truth_variance), observed = self._pass(number, at)
                _add(total, value, gradient, degree, expected_counts.ravel(), truth_variance, observed)
            self._last = at
            return total

        sums = self._journal.recall(run, *at.question("expectation"))
        sums, observed = sums[: -self.n_items], sums[-self.n_items :]
        value, gradient, degree, expected_counts = self._split(sums[: -self.n_confusion_groups])
        truth_variance = sums[-self.n_confusion_groups :]
        return Expectation(value, gradient, degree, at, expected_counts, truth_variance), observed

    def _pass(self, number: int, at: _At) -> tuple[Sums, FloatArray]:
        """Run the fused pass over a part; its curvature goes to the room for it, and to disk."""
        assert at.log_emission is not None
        self._last = None
        curvature, part = self._shelf.room_for_curvature(number), self._shelf.load(number)
        where, rest = (part, at.scores, at.log_emission), (curvature, np.empty(0), self.threads)
        if at.variance is None:
            sums, observed = expectation(*where, *rest), np.zeros(self.n_items)
        else:
            sums, observed = marginal(*where, at.variance, *rest)
        self._shelf.write_curvature(number)
        return sums, observed

    def _split(self, sums: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        n = self.n_items
        return float(sums[0]), sums[1 : n + 1], sums[n + 1 : 2 * n + 1], sums[2 * n + 1 :].reshape(-1, 2)

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Return the M-step's pass with the shares of votes for the posterior, at scores of zero."""
        if scores.any():
            raise ValueError("a fit from disk begins with scores of zero")
        self.passes += 1
        value, gradient, degree, expected_counts = self._split(self._known["initial_step"])
        return Maximisation(value, gradient, degree, _At(scores, None)), expected_counts

    def curvature_times(self, curvature: _At, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""

        def run() -> FloatArray:
            total, product = np.zeros(self.n_items), np.empty(self.n_items)
            for number in self._numbers():
                bend, layout = self._bend(number, curvature), self._shelf.layout(number)
                kernels.laplacian(*layout, bend, np.ascontiguousarray(vector), product, self.threads)
                total += product
            self._last = curvature if curvature.log_emission is not None else None
            return total

        return self._journal.recall(run, *curvature.question("product"), vector)

    def _bend(self, number: int, at: _At) -> Float32Array:
        """Return the curvature of each row of a part."""
        curvature = self._shelf.room_for_curvature(number)
        if at.log_emission is None:  # where a fit begins, at scores of zero
            part = self._shelf.load(number)
            weight = part.weight if len(part.weight) else np.ones(len(part))
            curvature[:] = 0.25 * (weight if part.begin is None else np.add.reduceat(weight, part.begin[:-1]))
        elif at is self._last:
            self._shelf.read_curvature(number)
        else:
            self._pass(number, at)
        return curvature

    def links(self, curvature: _At) -> Links:
        """Return the curvature by pair of items: of few pairs, for they are kept in memory."""

        def run() -> FloatArray:
            found = [self._engine(number).links_of(self._bend(number, curvature)) for number in self._numbers()]
            return np.concatenate([own.curvature for own in found])

        assert curvature.log_emission is not None
        by_pair = self._journal.recall(run, "links", curvature.scores, curvature.log_emission)
        return Links(*self._pairs, by_pair)

    @cached_property
    def _pairs(self) -> tuple[Int32Array, Int32Array]:
        found = [self._engine(number).pairs for number in self._numbers()]
        return np.concatenate([first for first, _ in found]), np.concatenate([second for _, second in found])

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        degree, found = np.zeros(self.n_items), [np.empty(0)]
        for number in self._numbers():
            own, by_pair = self._engine(number).observed(scores, log_emission, links)
            degree += own
            if by_pair is not None:
                found.append(by_pair.curvature)
        return degree, Links(*self._pairs, np.concatenate(found)) if links else None

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each coin's votes, by coin and side."""
        total = np.zeros((self.n_confusion_groups, 2))
        for number in self._numbers():
            total += self._engine(number).truth_variance(scores, log_emission)
        return total

    def information(self, scores: FloatArray, log_emission: FloatArray) -> Information:
        """Return the observed information on scores and votes together: for few items and coins."""
        degree, found, n_kinds = np.zeros(self.n_items), [np.empty(0)], 2 * self.n_confusion_groups
        cross, kinds = csr_array((self.n_items, n_kinds)), csr_array((n_kinds, n_kinds))
        for number in self._numbers():
            own = self._engine(number).information(scores, log_emission)
            degree += own.degree
            found.append(own.links.curvature)
            cross, kinds = cross + own.cross, kinds + own.kinds
        return Information(degree, Links(*self._pairs, np.concatenate(found)), cross, kinds)

    def _engine(self, number: int) -> MemoryEngine:
        return MemoryEngine(self._shelf.load(number).as_rows(), self.threads)

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes of each part, and an engine whose rows know their pairs."""
        for part in self._counted(self.votes.parts()):
            yield part, MemoryEngine(ROWS_BY[self.rows_by](part, self.threads), self.threads)


def _add(total: FloatArray, *parts: Any) -> None:
    at = 0
    for part in parts:
        length = np.size(part)
        total[at : at + length] += part
        at += length
