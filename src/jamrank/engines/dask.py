"""Passes over votes in the memory of the workers of a dask cluster.

A pass sends parameters out and gets sums back: messages grow with the items and the confusion groups, not with the
votes. Tasks are functions of a part and of parameters alone. What a worker keeps of its last pass only saves work, so
that a part which was lost with its worker, or was moved, returns the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.packing import Packing
from jamrank.engines.base import Engine, Expectation, Links, Maximisation
from jamrank.engines.kind import Kind, Load, Path, Tick
from jamrank.engines.marginal import PartedEngine
from jamrank.engines.memory import MemoryEngine
from jamrank.errors import ParameterError
from jamrank.io.out_of_core.cluster import cluster_at_hand
from jamrank.io.out_of_core.distributed import DistributedComparisons, distribute_comparisons
from jamrank.io.out_of_core.distributed_tasks import Keys
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.rows import ROWS_BY, Rows
from jamrank.typing import FloatArray


@dataclass(frozen=True)
class _Request:
    """The parameters of a pass; ``log_emission`` is None for the initial step."""

    name: str
    scores: FloatArray
    log_emission: FloatArray | None
    variance: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _At:
    """A handle of the curvature of a pass: a future of its parameters."""

    request: Any


class _Part:
    """The rows of one part, in the memory of a worker."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.engine = MemoryEngine(rows, threads=1)
        self._last: tuple[str, MemoryEngine, Any] = ("", self.engine, None)

    def __reduce__(self) -> Any:
        # Without cached arrays.
        return _Part, (replace(self.rows),)

    def __sizeof__(self) -> int:
        """Count the arrays, and the curvature to come: dask spills by it."""
        rows, ballots = self.rows, self.rows.ballots
        arrays = [rows.link_first, rows.link_second, rows.link_begin, rows.weight]
        arrays += rows.sides or ()
        arrays += [getattr(ballots, "of_row", None), ballots.start, ballots.vote, ballots.weight]
        return sum(array.nbytes for array in arrays if array is not None) + 8 * len(rows)

    def expectation(self, request: _Request) -> FloatArray:
        """Run the fused pass, and keep its curvature."""
        assert request.log_emission is not None
        at: Expectation
        observed = np.zeros(self.rows.n_items)
        if request.variance is None:
            at = self.engine.expectation(request.scores, request.log_emission)
        else:
            integrated = self.engine.marginal(request.scores, request.log_emission, request.variance)
            at, observed = integrated, integrated.observed
        self._last = request.name, self.engine, at.curvature
        return _flat(at.value, at.gradient, at.degree, at.expected_counts, at.truth_variance, observed)

    def curvature(self, request: _Request) -> tuple[MemoryEngine, Any]:
        """Return the curvature of a pass, which is run again unless it was the last, and the engine that knows it."""
        if self._last[0] != request.name:
            if request.log_emission is not None:
                self.expectation(request)
            else:  # the initial step, whose curvature does not depend on the posterior
                engine = MemoryEngine(replace(self.rows), threads=1)
                at = engine.maximisation(request.scores, np.full(len(self.rows), 0.5))
                self._last = request.name, engine, at.curvature
        return self._last[1:]


class DaskEngine(PartedEngine):
    """Runs passes over votes on a cluster, every part by the worker that has it.

    Sums are added up as a tree over the parts, whose form depends on their number alone: the result has the same bits
    whichever worker did the work.

    votes: What to pass over.
    rows_by: What a row is, of ``ROWS_BY``.
    tick: Called with the number of parts of a pass that are done, and their total.
    """

    def __init__(self, votes: DistributedComparisons, rows_by: str, tick: Tick | None = None) -> None:
        self.votes, self.rows_by = votes, rows_by
        self.passes = 0
        self._cluster, self._tick = votes.cluster, tick
        self._how = self._cluster.carry(votes.packing, rows_by, votes.n_missing)
        self._parts = self._cluster.each(_lay_out, votes.keys, self._how, places=self._cluster.runs(votes.keys))

    @cached_property
    def _counts(self) -> tuple[int, int, FloatArray]:
        known: tuple[int, int, FloatArray] = self._total(_about_part)
        return known

    def _total(self, function: Callable[..., Any], *shared: Any, over: list[Any] | None = None) -> Any:
        """Run a function on every part, and add up its results."""
        parts = self._parts if over is None else over
        return self._cluster.sum_over(_added, function, parts, *shared, tick=self._tick)

    def _ask(self, scores: FloatArray, log_emission: FloatArray | None, variance: FloatArray | None = None) -> Any:
        return self._cluster.carry(_Request(uuid4().hex, scores, log_emission, variance))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.votes.n_items

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._counts[0]

    @property
    def n_links(self) -> int:
        """Number of distinct pairs of items."""
        return self._counts[1]

    @property
    def vote_counts(self) -> FloatArray:
        """Votes of each confusion group for the second and for the first item of their rows, by weight."""
        return self._counts[2]

    def _sums(
        self, scores: FloatArray, log_emission: FloatArray, variance: FloatArray | None
    ) -> tuple[FloatArray, _At]:
        request = self._ask(scores, log_emission, variance)
        return self._total(_expectation, request)[0], _At(request)

    def initial_step(self, scores: FloatArray) -> tuple[Maximisation, FloatArray]:
        """Run the pass of the M-step with the shares of votes in place of the posterior.

        Also returns ``expected_counts`` under that posterior.
        """
        self.passes += 1
        request = self._ask(scores, None)
        value, gradient, degree, expected_counts = self._split(
            self._total(_initial_step, self._how, request, over=self.votes.keys)[0]
        )
        return Maximisation(value, gradient, degree, _At(request)), expected_counts

    def curvature_times(self, curvature: _At, vector: FloatArray) -> FloatArray:
        """Multiply the curvature matrix of the item scores, a graph Laplacian, with a vector."""
        product: FloatArray = self._total(_product, curvature.request, self._cluster.carry(vector))[0]
        return product

    def links(self, curvature: _At) -> Links:
        """Return the curvature by pair of items: of few pairs, for they are brought here."""
        return self._joined(_links, curvature.request)

    def observed(self, scores: FloatArray, log_emission: FloatArray, links: bool) -> tuple[FloatArray, Links | None]:
        """Return the observed information on the scores: by item and, where wanted, by pair of items."""
        request = self._ask(scores, log_emission)
        degree: FloatArray = self._total(_observed_degree, request)[0]
        return degree, self._joined(_observed_links, request) if links else None

    def _joined(self, function: Callable[..., Links], *shared: Any) -> Links:
        found = self._cluster.gather(self._cluster.each(function, self._parts, *shared))
        return Links(
            np.concatenate([own.first for own in found]),
            np.concatenate([own.second for own in found]),
            np.concatenate([own.curvature for own in found]),
        )

    def truth_variance(self, scores: FloatArray, log_emission: FloatArray) -> FloatArray:
        """Return the variance of the truths behind each group's votes, by confusion group and side."""
        total: FloatArray = self._total(_truth_variance, self._ask(scores, log_emission))[0]
        return total.reshape(-1, 2)

    def parts(self) -> Iterator[tuple[Comparisons, MemoryEngine]]:
        """Yield the votes of each part, and an engine whose rows know their pairs."""
        for part in self.votes.parts():
            yield part, MemoryEngine(ROWS_BY[self.rows_by](part, None), votes=part)


# -- tasks ------------------------------------------------------------------------------------------------------


How = tuple[Packing, str, int]


def _rows_of(keys: Keys, how: How) -> Rows:
    (key, weight), (packing, rows_by, n_missing) = keys, how
    return ROWS_BY[rows_by](Comparisons.unpack(packing, key, weight, len(key), n_missing), 1)


def _lay_out(keys: Keys, how: How) -> _Part:
    """Make the rows of a part, without what only the initial step or single pairs need."""
    rows = _rows_of(keys, how)
    return _Part(replace(rows, known_share=None, of_pair=None, pair_begin=None))


def _about_part(part: _Part) -> tuple[int, int, FloatArray]:
    return len(part.rows), part.engine.n_links if len(part.rows) else 0, part.rows.vote_counts


def _added(*sums: Sequence[Any]) -> tuple[Any, ...]:
    """Add up tuples of sums, from first to last."""
    return tuple(_sum(own) for own in zip(*sums, strict=True))


def _sum(values: Sequence[Any]) -> Any:
    if not isinstance(values[0], np.ndarray):
        return sum(values)
    total = values[0].copy()
    for value in values[1:]:
        total += value
    return total


def _flat(*sums: Any) -> FloatArray:
    return np.concatenate([np.ravel(own) for own in sums])


def _expectation(part: _Part, request: tuple[_Request]) -> tuple[FloatArray]:
    if not len(part.rows):
        return (np.zeros(1 + 3 * part.rows.n_items + 3 * part.rows.n_confusion_groups),)
    return (part.expectation(request[0]),)


def _initial_step(keys: Keys, how: How, request: tuple[_Request]) -> tuple[FloatArray]:
    rows = _rows_of(keys, how)
    if not len(rows):
        return (np.zeros(1 + 2 * rows.n_items + 2 * rows.n_confusion_groups),)
    at, expected_counts = MemoryEngine(rows, threads=1).initial_step(request[0].scores)
    return (_flat(at.value, at.gradient, at.degree, expected_counts),)


def _product(part: _Part, request: tuple[_Request], vector: tuple[FloatArray]) -> tuple[FloatArray]:
    if not len(part.rows):
        return (np.zeros(part.rows.n_items),)
    engine, curvature = part.curvature(request[0])
    return (engine.curvature_times(curvature, vector[0]),)


def _links(part: _Part, request: tuple[_Request]) -> Links:
    if not len(part.rows):
        return _NO_LINKS
    engine, curvature = part.curvature(request[0])
    return engine.links(curvature)


def _observed_degree(part: _Part, request: tuple[_Request]) -> tuple[FloatArray]:
    if not len(part.rows):
        return (np.zeros(part.rows.n_items),)
    return (_observed(part, request[0], False)[0],)


def _observed_links(part: _Part, request: tuple[_Request]) -> Links:
    links = _observed(part, request[0], True)[1] if len(part.rows) else _NO_LINKS
    assert links is not None
    return links


def _observed(part: _Part, request: _Request, links: bool) -> tuple[FloatArray, Links | None]:
    assert request.log_emission is not None
    return part.engine.observed(request.scores, request.log_emission, links)


def _truth_variance(part: _Part, request: tuple[_Request]) -> tuple[FloatArray]:
    assert request[0].log_emission is not None
    if not len(part.rows):
        return (np.zeros(2 * part.rows.n_confusion_groups),)
    return (part.engine.truth_variance(request[0].scores, request[0].log_emission).ravel(),)


_NO_LINKS = Links(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0))


def _bring(votes: Path | Votes) -> Votes:
    if isinstance(votes, DistributedComparisons):
        return votes
    if isinstance(votes, PartedComparisons):
        raise ParameterError(f"engine is 'dask', and the votes are a {type(votes).__name__}; give their file")
    return distribute_comparisons(votes)


def _make(votes: DistributedComparisons, row: str, threads: int | None, tick: Tick | None) -> Engine:
    return DaskEngine(votes, row, tick)


def _suits(load: Load) -> str:
    if load.in_parts:
        return "the votes are on a cluster" if isinstance(load.votes, DistributedComparisons) else ""
    if load.in_memory or (load.fits and not load.remote):
        return ""
    if (address := cluster_at_hand()) is not None:
        return f"{load.described} may not fit into memory, and there is a dask scheduler at {address}"
    return "the votes are not on this machine" if load.remote else ""


KIND = Kind(_bring, _make, _suits)
