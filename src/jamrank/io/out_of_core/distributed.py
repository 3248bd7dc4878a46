"""Votes on a cluster: from Parquet files to encoded parts that stay with its workers.

The files are read twice, as for votes on disk: the first reading collects the ids, the second turns votes into
integers that sort by pair, question and annotator. Then each range of pairs is brought together.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import Column, codes_in
from jamrank.data.packing import Packing, sorted_keys
from jamrank.data.parsing import require_columns
from jamrank.data.soft import refuse_graded
from jamrank.data.storage import MISSING
from jamrank.errors import InputError, ParameterError
from jamrank.io.given import require_path
from jamrank.io.out_of_core.cluster import Cluster
from jamrank.io.out_of_core.distributed_tasks import (
    FileChunk,
    FoundIds,
    Keys,
    concatenate_counts,
    count_part,
    cut_file,
    describe_file,
    find_files,
    ids_of,
    keys_between,
    keys_of,
    merge_found,
    packing_of,
    refuse_too_many,
    sort_keys,
)
from jamrank.io.out_of_core.parted import PartedComparisons
from jamrank.typing import IntArray

Progress = Callable[[str, int, int], None]

_PART_VOTES, _MOST_PARTS = 1 << 21, 4096
# Pairs from which the bounds of the parts are taken.
_SAMPLE = 1 << 18


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistributedComparisons(PartedComparisons):
    """Encoded votes on a cluster; the counterpart of :class:`jamrank.Comparisons`.

    Made by :func:`distribute_comparisons`. Attributes with one entry for each pair are fetched from the workers when
    they are used, and must fit into memory.
    """

    place: ClassVar[str] = "on a cluster"

    cluster: Cluster
    keys: list[Any]
    """A future of the votes of each part, as ``Keys``."""

    def part(self, number: int) -> Comparisons:
        """Return the votes of one part; their ids are those of all."""
        keys, weight = self.cluster.result(self.keys[number])
        return Comparisons.unpack(self.packing, keys, weight, len(keys), self.n_missing)

    def close(self) -> None:
        """Release the votes, and the cluster if it was started for them."""
        self.keys.clear()
        self.cluster.close()

    @property
    def _where(self) -> str:
        return f"in {len(self.part_pairs):,} parts at {self.cluster.address}"


def distribute_comparisons(
    votes: str | os.PathLike[str] | Comparisons,
    scheduler: str | None = None,
    workers: int | None = None,
    *,
    part_votes: int = _PART_VOTES,
    scratch: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> DistributedComparisons:
    """Encode votes on a dask cluster, for models to fit there.

    Parameters
    ----------
    votes : path-like or Comparisons
        A Parquet file in the canonical form (see :func:`jamrank.read_comparisons`) or a folder of them, anywhere that
        the workers can read: a path that all of them see, or an address such as ``s3://bucket/votes``. Votes in
        memory are sent to the workers.
    scheduler : str, optional
        Address of the scheduler. Unless given: that of the current dask client, then ``DASK_SCHEDULER_ADDRESS``, else
        a cluster of worker processes on this machine, which ends with the votes.
    workers : int, optional
        Start a cluster of this many processes on this machine.
    part_votes : int
        How many votes a part should have: a worker works on one part at a time, in one thread.
    scratch : path-like, optional
        Where a local cluster puts what does not fit into memory.
    progress : callable, optional
        Called with the name of the step, the number of chunks done, and their total.

    Returns
    -------
    DistributedComparisons
        For the ``fit`` of JAM, CrowdBT and BradleyTerry.

    Raises
    ------
    ClusterError
        If the cluster cannot be reached.
    InputError
        If the files cannot be read; the error names the row.
    """
    if not (isinstance(part_votes, int) and part_votes >= 1):
        raise ParameterError(f"part_votes is {part_votes!r}; expected a whole number of at least 1")
    require_path(votes, "distribute_comparisons")
    return distribute(Cluster.at(scheduler, workers, scratch), votes, part_votes, progress)


def distribute(
    cluster: Cluster,
    votes: str | os.PathLike[str] | Comparisons,
    part_votes: int = _PART_VOTES,
    progress: Progress | None = None,
) -> DistributedComparisons:
    """Encode votes on an open cluster, which is closed if that fails."""
    report = progress or (lambda what, done, total: None)
    try:
        cluster.require_workers()
        if isinstance(votes, Comparisons):
            return _send(cluster, votes, part_votes, report)
        return _Reader(cluster, os.fspath(votes), part_votes, report).read()
    except BaseException:
        cluster.close()
        raise


@dataclass
class _Reader:
    """Reads the votes of Parquet files on the workers."""

    cluster: Cluster
    path: str
    part_votes: int
    progress: Progress

    def read(self) -> DistributedComparisons:
        chunks, columns = self._look()
        refuse_graded(columns)
        self.weighted, self.asked = "weight" in columns, "question" in columns
        n_rows = sum(chunk.rows for chunk in chunks)
        found = self._collect_ids(chunks, max(n_rows // _SAMPLE, 1))
        packing = packing_of(found, self.asked)
        edges = _edges(packing, found.sample, n_rows, self.part_votes)
        shared = self.cluster.carry(packing, found.gaps, self.weighted, self.asked)
        keys = self._shuffle(chunks, shared, edges)
        return _gathered(self.cluster, packing, keys, n_rows, found.n_missing, self.progress)

    def _look(self) -> tuple[list[FileChunk], list[str]]:
        """Find the files and their columns, through the workers that will read them."""
        client, cluster = self.cluster.client, self.cluster
        with cluster.clearly():
            files = cluster.result(client.submit(find_files, self.path, pure=False))
            about = cluster.gather(client.map(describe_file, files, pure=False))
        columns = about[0][0]
        require = list(columns)
        try:
            require_columns(require)
        except InputError as error:
            raise error.within(self.path) from None
        for file, (own, _) in zip(files, about, strict=True):
            other = next((name for name in columns if own.get(name) != columns[name]), None)
            if other is not None:
                problem = f"column {other!r} is {own.get(other, 'missing')} here and {columns[other]} in {files[0]}"
                raise InputError(problem, "use the same column types in all files", source=file)
        chunks = [chunk for file, (_, rows) in zip(files, about, strict=True) for chunk in cut_file(file, rows)]
        if not chunks:
            raise InputError("the table has no rows", "expected at least one", source=self.path)
        return chunks, require

    def _collect_ids(self, chunks: list[FileChunk], every: int) -> FoundIds:
        names = ["left", "right", "annotator", "winner"]
        names += [name for name, there in (("question", self.asked), ("weight", self.weighted)) if there]
        found = self.cluster.each(ids_of, chunks, names, every)
        whole = self.cluster.total(merge_found, found, [None] * len(found))
        merged: FoundIds = self.cluster.result(
            whole, [(one, 1) for one in found], lambda done, of: self.progress("reading ids", done, of)
        )
        return merged

    def _shuffle(self, chunks: list[FileChunk], shared: Any, edges: IntArray) -> list[Any]:
        """Return a future of the votes of each range of keys.

        Ranges are brought together in groups, and a group is cut into its ranges: about as many tasks as there are
        chunks times groups, since dask's scheduler takes milliseconds for each task.
        """
        client = self.cluster.client
        bounds = [0, *edges.tolist(), None]
        width = math.isqrt(len(edges)) + 1
        keys: list[Any] = []
        with self.cluster.clearly():
            read = client.map(keys_of, chunks, [shared] * len(chunks), pure=False)
            for first in range(0, len(bounds) - 1, width):
                own = bounds[first : first + width + 1]
                pieces = client.map(keys_between, read, low=own[0], high=own[-1], pure=False)
                group = client.submit(sort_keys, *pieces, pure=False)
                ranges = itertools.pairwise(own)
                keys += [client.submit(keys_between, group, low, high, pure=False) for low, high in ranges]
            return keys


def _gathered(
    cluster: Cluster, packing: Packing, keys: list[Any], n_rows: int, n_missing: int, progress: Progress
) -> DistributedComparisons:
    """Wait for the parts, and add up their counts."""
    shared = cluster.carry(packing)
    about = [cluster.client.submit(count_part, own, shared, pure=False) for own in keys]
    whole = cluster.total(concatenate_counts, about, [None] * len(about))
    counts = cluster.result(whole, [(one, 1) for one in keys], lambda done, of: progress("sorting votes", done, of))
    votes, decided, n_ties, n_pairs = counts
    return DistributedComparisons(
        items=packing.items,
        annotators=packing.annotators,
        questions=packing.questions,
        part_pairs=n_pairs,
        n_votes=n_rows - n_missing,
        n_missing=n_missing,
        n_ties=n_ties,
        annotator_weight=votes,
        annotator_decided=decided,
        cluster=cluster,
        keys=keys,
    )


def _edges(packing: Packing, sample: list[tuple[Column, Column]], n_rows: int, part_votes: int) -> IntArray:
    """Return the keys at which parts after the first begin, from a sample of the pairs; no pair is split."""
    pairs = []
    for left, right in sample:
        a, b = codes_in(packing.items, left).astype(np.int64), codes_in(packing.items, right)
        pairs.append(np.minimum(a, b) << packing.bits[0] | np.maximum(a, b))
    return _cuts(np.sort(np.concatenate(pairs)), n_rows, part_votes) << packing.below_pair


def _cuts(ordered: IntArray, n_rows: int, part_votes: int) -> IntArray:
    """Return the values at which parts after the first begin; their number depends only on the votes."""
    n_parts = min(-(-n_rows // part_votes), _MOST_PARTS)
    at = np.linspace(0, len(ordered), n_parts + 1)[1:-1].astype(np.int64)
    cuts = np.unique(ordered[at])
    return np.asarray(cuts[cuts > 0])


def _send(cluster: Cluster, votes: Comparisons, part_votes: int, progress: Progress) -> DistributedComparisons:
    """Send votes in memory to the workers, a range of pairs to each."""
    packing = Packing(votes.items, votes.annotators, votes.questions)
    refuse_too_many(packing)
    key, weight = _packed(votes, packing)
    cuts = _cuts(np.asarray(key >> packing.below_pair), len(key), part_votes) << packing.below_pair
    bounds = [0, *np.searchsorted(key, cuts).tolist(), len(key)]
    keys = []
    for begin, end in itertools.pairwise(bounds):
        own = key[begin:end], weight[begin:end] if len(weight) else weight
        keys.append(cluster.carry(*own))
    sent = _gathered(cluster, packing, keys, votes.n_votes + votes.n_missing, votes.n_missing, progress)
    return replace(sent, frames=votes.frames)


def _packed(votes: Comparisons, packing: Packing) -> Keys:
    """Return encoded votes as sorted keys; a pair without votes gets a missing vote."""
    table, pair = votes.storage.table, votes.vote_pair
    first, second = votes.pair_first[pair], votes.pair_second[pair]
    swapped = np.asarray(votes.vote_swapped)
    reversed_ = swapped & (table.result < 2)
    keys = packing.pack(
        np.where(swapped, second, first),
        np.where(swapped, first, second),
        table.annotator,
        np.ascontiguousarray(votes.pair_question[pair]) if votes.has_questions else None,
        np.where(reversed_, 1 - table.result, table.result).astype(np.int8),
    )
    without_votes = np.flatnonzero(np.diff(votes.vote_start) == 0)
    if len(without_votes):
        missing = packing.pack(
            np.ascontiguousarray(votes.pair_first[without_votes]),
            np.ascontiguousarray(votes.pair_second[without_votes]),
            np.zeros(len(without_votes), dtype=np.int32),
            np.ascontiguousarray(votes.pair_question[without_votes]) if votes.has_questions else None,
            np.full(len(without_votes), MISSING, dtype=np.int8),
        )
        keys = np.concatenate([keys, missing])
    weight = np.concatenate([table.weight, np.ones(len(without_votes))]) if len(table.weight) else None
    return sorted_keys(keys, weight)
