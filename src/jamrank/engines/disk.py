"""Passes over votes on disk, with one part in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from jamrank.data.comparisons import Comparisons
from jamrank.engines.base import Engine, Information, Links, Maximisation
from jamrank.engines.kind import Kind, Load, Path, Tick
from jamrank.engines.marginal import PartedEngine
from jamrank.engines.memory import MemoryEngine
from jamrank.engines.part_store import PartStore
from jamrank.engines.passes import Sums, expectation, marginal
from jamrank.errors import ParameterError, ScratchError, ScratchWarning, warn
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.out_of_core.store import StoredComparisons, store_comparisons
from jamrank.io.private import private_folder
from jamrank.io.scratch import Journal, read_manifest, remove_folder, verify_files, write_manifest
from jamrank.kernels import default_threads, kernels
from jamrank.rows import ROWS_BY
from jamrank.typing import Float32Array, FloatArray, Int32Array

_KIND, _VERSION = "rows", 4


@dataclass(frozen=True, eq=False)
class _At:
    """Where a curvature was computed. That of the last pass is on disk, any other is recomputed."""

    scores: FloatArray
    log_emission: FloatArray | None
    variance: FloatArray | None = None

    def question(self, name: str) -> tuple[str, *tuple[FloatArray, ...]]:
        """Return its key in a journal."""
        log_emission = np.empty(0) if self.log_emission is None else self.log_emission
        own = name, self.scores, log_emission
        return own if self.variance is None else (f"marginal {name}", *own[1:], self.variance)


class DiskEngine(PartedEngine):
    """Runs passes over stored votes, part by part, in the order of the parts.

    The rows of every part are made once and kept in the scratch folder, beside a journal of the passes: a fit that
    was killed and is started again reads from it the sums of all passes that were finished.

    Parameters
    ----------
    votes : StoredComparisons
        What to pass over.
    rows_by : str
        What a row is, of ``ROWS_BY``.
    threads : int, optional
        Every available core unless given.
    tick : callable, optional
        Called with the number of parts of a pass that are done, and their total.
    """

    can_draw = has_information = True

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
    def _manifest(self) -> dict[str, Any]:
        """The manifest of the stored rows."""
        manifest = self._folder / "rows.json"
        if manifest.exists():
            try:
                known = read_manifest(manifest, _KIND, _VERSION)
                for part in known["parts"]:
                    verify_files(self._folder, part["files"])
                return known
            except ScratchError as error:
                warn(f"{error}; the rows of this fit are made again", ScratchWarning)
        remove_folder(self._folder)
        write_manifest(manifest, _KIND, _VERSION, self._make_rows())
        return read_manifest(manifest, _KIND, _VERSION)

    def _make_rows(self) -> dict[str, Any]:
        """Write the rows of every part, and add up the initial step on the way."""
        private_folder(self._folder)
        parts, n_links, vote_counts = [], 0, np.zeros((0, 0))
        begin: FloatArray = np.zeros(0)
        origin = np.zeros(self.votes.n_items)
        for number, part in enumerate(self._counted(self.votes.parts())):
            rows = ROWS_BY[self.rows_by](part, self.threads)
            parts.append(PartStore.put(self._folder, number, rows))
            if not len(rows):
                continue
            at, expected_counts = MemoryEngine(rows, self.threads).initial_step(origin)
            own = np.concatenate([[at.value], at.gradient, at.degree, expected_counts.ravel()])
            begin, vote_counts = (
                (own, rows.vote_counts) if not len(begin) else (begin + own, vote_counts + rows.vote_counts)
            )
            n_links += len(rows.edges)
            del rows, part
        return {"parts": parts, "n_links": n_links, "vote_counts": vote_counts, "initial_step": begin}

    def _counted(self, parts: Iterator[Any]) -> Iterator[Any]:
        total = len(self.votes.part_pairs)
        for number, part in enumerate(parts):
            self._tick(number, total)
            yield part
        self._tick(total, total)

    @cached_property
    def _store(self) -> PartStore:
        return PartStore(self._folder, self.votes.n_items, self._manifest["parts"])

    def _numbers(self) -> Iterator[int]:
        """Yield the numbers of the parts that have rows."""
        return (number for number in self._counted(iter(range(len(self._store)))) if self._store.n_rows(number))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.votes.n_items

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(map(self._store.n_rows, range(len(self._store))))

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return int(self._manifest["n_links"])

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        vote_counts: FloatArray = self._manifest["vote_counts"]
        return vote_counts

    def _sums(
        self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray | None
    ) -> tuple[FloatArray, _At]:
        at = _At(scores, log_emission, variance)

        def run() -> FloatArray:
            total = np.zeros(1 + 3 * self.n_items + 3 * self.n_confusion_groups)
            for number in self._numbers():
                (value, gradient, degree, expected_counts, truth_variance), observed = self._pass(number, at)
                _add(total, value, gradient, degree, expected_counts.ravel(), truth_variance, observed)
            self._last = at
            return total

        return self._journal.recall(run, *at.question("expectation")), at

    def _pass(self, number: int, at: _At) -> tuple[Sums, FloatArray]:
        """Run the fused pass over a part; its curvature goes to the buffer and to disk."""
        assert at.log_emission is not None
        self._last = None
        curvature, part = self._store.curvature_buffer(number), self._store.load(number)
        if at.variance is None:
            sums = expectation(part, at.scores, at.log_emission, curvature, np.empty(0), self.threads)
            observed = np.zeros(self.n_items)
        else:
            where = part, at.scores, at.log_emission, at.variance
            sums, observed = marginal(*where, curvature, np.empty(0), self.threads)
        self._store.write_curvature(number)
        return sums, observed

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Return the pass of the M-step with the shares of votes in place of the posterior, at scores of 0."""
        if scores.any():
            raise ValueError("the initial step of a fit from disk is at scores of 0")
        self.passes += 1
        value, gradient, degree, expected_counts = self._split(self._manifest["initial_step"])
        return Maximisation(value, gradient, degree, _At(scores, None)), expected_counts

    def curvature_times(self, curvature: _At, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""

        def run() -> FloatArray:
            total, product = np.zeros(self.n_items), np.empty(self.n_items)
            for number in self._numbers():
                bend, layout = self._bend(number, curvature), self._store.layout(number)
                kernels.laplacian(*layout, bend, np.ascontiguousarray(vector), product, self.threads)
                total += product
            self._last = curvature if curvature.log_emission is not None else None
            return total

        return self._journal.recall(run, *curvature.question("product"), vector)

    def _bend(self, number: int, at: _At) -> Float32Array:
        """Return the curvature of each row of a part."""
        curvature = self._store.curvature_buffer(number)
        if at.log_emission is None:  # the initial step, at scores of 0
            part = self._store.load(number)
            weight = part.weight if len(part.weight) else np.ones(len(part))
            curvature[:] = 0.25 * (weight if part.begin is None else np.add.reduceat(weight, part.begin[:-1]))
        elif at is self._last:
            self._store.read_curvature(number)
        else:
            self._pass(number, at)
        return curvature

    def links(self, curvature: _At) -> Links:
        """Return the curvature by pair of items: for few pairs, since all are in memory then."""

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
        """Return the variance of the truths behind each group's votes, by confusion group and side."""
        total = np.zeros((self.n_confusion_groups, 2))
        for number in self._numbers():
            total += self._engine(number).truth_variance(scores, log_emission)
        return total

    def information(self, scores: FloatArray, log_emission: FloatArray) -> Information:
        """Return the observed information on scores and votes together: for few items and groups."""
        degree, found, n_kinds = np.zeros(self.n_items), [np.empty(0)], 2 * self.n_confusion_groups
        cross, kinds = csr_array((self.n_items, n_kinds)), csr_array((n_kinds, n_kinds))
        for number in self._numbers():
            own = self._engine(number).information(scores, log_emission)
            degree += own.degree
            found.append(own.links.curvature)
            cross, kinds = cross + own.cross, kinds + own.kinds
        return Information(degree, Links(*self._pairs, np.concatenate(found)), cross, kinds)

    def _engine(self, number: int) -> MemoryEngine:
        return MemoryEngine(self._store.load(number).as_rows(), self.threads)

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes of each part, and an engine whose rows know their pairs."""
        for part in self._counted(self.votes.parts()):
            yield part, MemoryEngine(ROWS_BY[self.rows_by](part, self.threads), self.threads, part)

    def local_engines(self) -> list[Engine]:
        """Return an engine in memory for each part that has rows."""
        return [MemoryEngine(part.rows, 1) for _, part in self.parts() if part.n_rows]


def _add(total: FloatArray, *parts: Any) -> None:
    at = 0
    for part in parts:
        length = np.size(part)
        total[at : at + length] += part
        at += length


def _bring(votes: Path | Votes) -> Votes:
    if isinstance(votes, StoredComparisons):
        return votes
    if isinstance(votes, Comparisons | PartedComparisons):
        raise ParameterError(f"engine is 'disk', and the votes are a {type(votes).__name__}; give a Parquet file")
    return store_comparisons(votes)


def _make(votes: StoredComparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    return DiskEngine(votes, row, threads, tick)


def _suits(load: Load) -> str:
    if isinstance(load.votes, StoredComparisons):
        return "the votes are on disk"
    given = load.in_memory or load.in_parts
    return f"{load.described} may not fit into memory" if not given and not load.fits else ""


KIND = Kind(_bring, _make, _suits)
