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

from jamrank.comparisons import Comparisons
from jamrank.engines.base import Expectation, Information, Links, Maximisation
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.passes import Sums, expectation
from jamrank.errors import ScratchError, ScratchWarning, warn
from jamrank.io.arrays import read_into, write_array
from jamrank.io.private import private_folder
from jamrank.io.scratch import Journal, read_manifest, refuse_beyond, remove_folder, verify_files, write_manifest
from jamrank.io.store import StoredComparisons
from jamrank.kernels import default_threads, kernels
from jamrank.rows import ROWS_BY, Lists, Patterns, Rows

__all__ = ["DiskEngine"]

Doubles = NDArray[np.float64]
Tick = Callable[[int, int], None]

_KIND, _VERSION = "rows", 3


@dataclass(frozen=True, eq=False)
class _At:
    """Where a curvature was taken. That of the last pass lies on disk, any other is worked out anew."""

    scores: Doubles
    tables: Doubles | None


@dataclass(frozen=True)
class _Part:
    """Rows of one part, as passes read them."""

    layout: tuple[NDArray[np.int64], NDArray[np.integer]]
    weight: Doubles
    ballots: Patterns | Lists
    pattern_weight: Doubles
    n_items: int
    distinct: bool
    single_votes: bool
    about: str
    begin: NDArray[np.int64] | None

    @property
    def link_layout(self) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
        """The layout: where rows come in runs, it is that of the runs."""
        return self.layout

    def __len__(self) -> int:
        return len(self.layout[1]) if self.begin is None else int(self.begin[-1])

    def over_votes(self, values: Doubles, power: int = 1) -> Doubles:
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


class _Shelf:
    """The rows of all parts on disk, and room in memory for one of them."""

    def __init__(self, folder: Path, n_items: int, parts: list[dict[str, Any]]) -> None:
        self.folder, self.n_items, self.parts = folder, n_items, parts
        self._room: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self.parts)

    @staticmethod
    def put(folder: Path, number: int, rows: Rows) -> dict[str, Any]:
        """Write the rows of a part; return what else is to be known of it."""
        ballots, lists = rows.ballots, isinstance(rows.ballots, Lists)
        start, second = rows.index
        low, high = (int(rows.link_first[0]), int(rows.link_first[-1])) if len(rows) else (0, 0)
        columns = {"second": second, "weight": rows.weight}
        if rows.begin is not None:
            columns["run"] = np.diff(rows.begin)
        if isinstance(ballots, Lists):
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
            "n_coins": rows.n_coins,
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
        ballots: Patterns | Lists
        if told["lists"]:
            list_start = self._starts(number, "count")
            vote = self._bounded(self._widened(number, "vote", np.int32), 2 * told["n_coins"], "a vote")
            self._refuse_other(int(list_start[-1]), len(vote))
            ballots = Lists(list_start, vote, self._column(number, "vote_weight"), told["n_coins"])
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

    def layout(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
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

    def room_for_curvature(self, number: int) -> NDArray[np.float32]:
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

    def _starts(self, number: int, name: str) -> NDArray[np.int64]:
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
        told, n_links, cast = [], 0, np.zeros((0, 0))
        begin: Doubles = np.zeros(0)
        origin = np.zeros(self.votes.n_items)
        for number, part in enumerate(self._counted(self.votes.parts())):
            rows = ROWS_BY[self.rows_by](part, self.threads)
            told.append(_Shelf.put(self._folder, number, rows))
            if not len(rows):
                continue
            at, truly_first = MemoryEngine(rows, self.threads).beginning(origin)
            own = np.concatenate([[at.value], at.gradient, at.degree, truly_first.ravel()])
            begin, cast = (own, rows.cast) if not len(begin) else (begin + own, cast + rows.cast)
            n_links += len(rows.edges)
            del rows, part
        return {"parts": told, "n_links": n_links, "cast": cast, "beginning": begin}

    def _counted(self, parts: Iterator[Any]) -> Iterator[Any]:
        total = len(self.votes.part_pairs)
        for number, part in enumerate(parts):
            self._tick(number, total)
            yield part
        self._tick(total, total)

    @cached_property
    def _shelf(self) -> _Shelf:
        return _Shelf(self._folder, self.votes.n_items, self._known["parts"])

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
    def n_coins(self) -> int:
        """Number of coins."""
        return len(self.cast)

    @property
    def cast(self) -> Doubles:
        """Votes of each coin for the second and for the first item of their rows, by weight."""
        cast: Doubles = self._known["cast"]
        return cast

    def expectation(self, scores: Doubles, tables: Doubles) -> Expectation:
        """Run the fused pass: log-likelihood, sums over votes, gradient and curvature."""
        self.passes += 1
        at = _At(scores, tables)

        def run() -> Doubles:
            total = np.zeros(1 + 2 * self.n_items + 3 * self.n_coins)
            for number in self._numbers():
                value, gradient, degree, truly_first, hidden = self._pass(number, at)
                _add(total, value, gradient, degree, truly_first.ravel(), hidden)
            self._last = at
            return total

        sums = self._journal.recall(run, "expectation", scores, tables)
        value, gradient, degree, truly_first = self._split(sums[: -self.n_coins])
        return Expectation(value, gradient, degree, at, truly_first, sums[-self.n_coins :])

    def _pass(self, number: int, at: _At) -> Sums:
        """Run the fused pass over a part; its curvature goes to the room for it, and to disk."""
        assert at.tables is not None
        self._last = None
        curvature, part = self._shelf.room_for_curvature(number), self._shelf.load(number)
        sums = expectation(part, at.scores, at.tables, curvature, np.empty(0), self.threads)
        self._shelf.write_curvature(number)
        return sums

    def _split(self, sums: Doubles) -> tuple[float, Doubles, Doubles, Doubles]:
        n = self.n_items
        return float(sums[0]), sums[1 : n + 1], sums[n + 1 : 2 * n + 1], sums[2 * n + 1 :].reshape(-1, 2)

    def beginning(self, scores: Doubles) -> tuple[Maximisation, Doubles]:
        """Return the M-step's pass with the shares of votes for the posterior, at scores of zero."""
        if scores.any():
            raise ValueError("a fit from disk begins with scores of zero")
        self.passes += 1
        value, gradient, degree, truly_first = self._split(self._known["beginning"])
        return Maximisation(value, gradient, degree, _At(scores, None)), truly_first

    def curvature_times(self, curvature: _At, vector: Doubles) -> Doubles:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""

        def run() -> Doubles:
            total, product = np.zeros(self.n_items), np.empty(self.n_items)
            for number in self._numbers():
                bend, layout = self._bend(number, curvature), self._shelf.layout(number)
                kernels.laplacian(*layout, bend, np.ascontiguousarray(vector), product, self.threads)
                total += product
            self._last = curvature if curvature.tables is not None else None
            return total

        tables = np.empty(0) if curvature.tables is None else curvature.tables
        return self._journal.recall(run, "product", curvature.scores, tables, vector)

    def _bend(self, number: int, at: _At) -> NDArray[np.float32]:
        """Return the curvature of each row of a part."""
        curvature = self._shelf.room_for_curvature(number)
        if at.tables is None:  # where a fit begins, at scores of zero
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

        def run() -> Doubles:
            found = [self._engine(number).links_of(self._bend(number, curvature)) for number in self._numbers()]
            return np.concatenate([own.curvature for own in found])

        assert curvature.tables is not None
        by_pair = self._journal.recall(run, "links", curvature.scores, curvature.tables)
        return Links(*self._pairs, by_pair)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        found = [self._engine(number).pairs for number in self._numbers()]
        return np.concatenate([first for first, _ in found]), np.concatenate([second for _, second in found])

    def observed(self, scores: Doubles, tables: Doubles, links: bool) -> tuple[Doubles, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        degree, found = np.zeros(self.n_items), [np.empty(0)]
        for number in self._numbers():
            own, by_pair = self._engine(number).observed(scores, tables, links)
            degree += own
            if by_pair is not None:
                found.append(by_pair.curvature)
        return degree, Links(*self._pairs, np.concatenate(found)) if links else None

    def hidden(self, scores: Doubles, tables: Doubles) -> Doubles:
        """Return the variance of the truths behind each coin's votes, by coin and side."""
        total = np.zeros((self.n_coins, 2))
        for number in self._numbers():
            total += self._engine(number).hidden(scores, tables)
        return total

    def information(self, scores: Doubles, tables: Doubles) -> Information:
        """Return the observed information on scores and votes together: for few items and coins."""
        degree, found, n_kinds = np.zeros(self.n_items), [np.empty(0)], 2 * self.n_coins
        cross, kinds = csr_array((self.n_items, n_kinds)), csr_array((n_kinds, n_kinds))
        for number in self._numbers():
            own = self._engine(number).information(scores, tables)
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


def _add(total: Doubles, *parts: Any) -> None:
    at = 0
    for part in parts:
        length = np.size(part)
        total[at : at + length] += part
        at += length
