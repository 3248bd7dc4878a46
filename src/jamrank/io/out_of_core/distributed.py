"""Votes on a cluster: from Parquet files to encoded parts that stay with its workers.

Two readings of the files, as for votes on disk: the first collects the ids, the second turns votes into integers that
sort by pair, question and annotator. dask's shuffle brings the integers of one range of pairs together, once. All of
it are tasks that say the same whoever runs them, so that what dies with a worker is worked out again by another.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from jamrank.data.comparisons import (
    Comparisons,
    Packing,
    fill_questions,
    parse_weights,
    parse_winners,
    refuse_empty,
    refuse_missing,
    refuse_self_pairs,
    require_columns,
    sorted_keys,
)
from jamrank.data.ids import Column, as_column, codes_in, distinct, encode
from jamrank.data.storage import MISSING
from jamrank.errors import InputError, ParameterError
from jamrank.io.out_of_core.cluster import Cluster
from jamrank.io.out_of_core.parted import PartedComparisons
from jamrank.typing import FloatArray, IntArray

__all__ = ["DistributedComparisons", "Keys", "distribute", "distribute_comparisons"]

Progress = Callable[[str, int, int], None]
# Sorted, distinct votes as integers, and their weights (empty: all 1).
Keys = tuple[IntArray, FloatArray]

_SUFFIXES = (".parquet", ".pq")
_PART_VOTES, _MOST_PARTS = 1 << 21, 4096
_SLICE_ROWS = 1 << 20
_SAMPLE = 1 << 18
_LARGEST_KEY = (1 << 63) - 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistributedComparisons(PartedComparisons):
    """Votes on a cluster, encoded; what :class:`jamrank.Comparisons` is in memory.

    Made by :func:`distribute_comparisons`. Attributes with one entry a pair are fetched from the workers when they
    are asked for, and must fit into memory then.
    """

    place: ClassVar[str] = "on a cluster"

    cluster: Cluster
    keys: list[Any]
    """A future of the votes of each part, as ``Keys``."""

    def part(self, number: int) -> Comparisons:
        """Return the votes of one part; their ids are those of all."""
        keys, weight = self.cluster.result(self.keys[number])
        return self.packing.unpack(keys, weight, len(keys), self.n_missing)

    def close(self) -> None:
        """Let go of the votes, and of the cluster if it was started for them."""
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
        Address of the scheduler. Without it: that of the client at hand, then ``DASK_SCHEDULER_ADDRESS``, and else a
        cluster of worker processes on this machine, which ends with the votes.
    workers : int, optional
        Starts a cluster of so many processes on this machine.
    part_votes : int
        How many votes a part should have: a worker works on one part at a time, in one thread.
    scratch : path-like, optional
        Where a local cluster puts what does not fit into memory.
    progress : callable, optional
        Told what is being done, how many pieces are, and of how many.

    Returns
    -------
    DistributedComparisons
        For the ``fit`` of JAM, CrowdBT and BradleyTerry.

    Raises
    ------
    ClusterError
        If the cluster cannot be reached.
    InputError
        If something in the files is not as it should be; it names the row.
    """
    if not (isinstance(part_votes, int) and part_votes >= 1):
        raise ParameterError(f"part_votes is {part_votes!r}; expected a whole number of at least 1")
    return distribute(Cluster.at(scheduler, workers, scratch), votes, part_votes, progress)


def distribute(
    cluster: Cluster,
    votes: str | os.PathLike[str] | Comparisons,
    part_votes: int = _PART_VOTES,
    progress: Progress | None = None,
) -> DistributedComparisons:
    """Encode votes on a cluster that is open; where that fails it is closed."""
    told = progress or (lambda what, done, total: None)
    try:
        cluster.require_workers()
        if isinstance(votes, Comparisons):
            return _send(cluster, votes, part_votes, told)
        return _Reader(cluster, os.fspath(votes), part_votes, told).read()
    except BaseException:
        cluster.close()
        raise


@dataclass(frozen=True)
class _Piece:
    """Some row groups of a Parquet file, and how many rows of it come before."""

    file: str
    groups: tuple[int, ...]
    before: int
    rows: int


@dataclass(frozen=True)
class _Found:
    """What the first reading finds in some rows."""

    items: list[Column]
    annotators: list[Column]
    questions: list[Column]
    sample: list[tuple[Column, Column]]
    gaps: bool
    n_missing: int


@dataclass
class _Reader:
    """Brings the votes of Parquet files to the workers."""

    cluster: Cluster
    path: str
    part_votes: int
    progress: Progress

    def read(self) -> DistributedComparisons:
        chunks, columns = self._look()
        self.weighted, self.asked = "weight" in columns, "question" in columns
        n_rows = sum(piece.rows for piece in chunks)
        found = self._collect_ids(chunks, max(n_rows // _SAMPLE, 1))
        packing = _packing_of(found, self.asked)
        edges = _edges(packing, found.sample, n_rows, self.part_votes)
        shared = self.cluster.carry(packing, found.gaps, self.weighted, self.asked)
        keys = self._shuffle(chunks, shared, edges)
        return _gathered(self.cluster, packing, keys, n_rows, found.n_missing, self.progress)

    def _look(self) -> tuple[list[_Piece], list[str]]:
        """Find the files and what is in them; workers look, for they are to read them."""
        client, cluster = self.cluster.client, self.cluster
        with cluster.clearly():
            files = cluster.result(client.submit(_find_files, self.path, pure=False))
            about = cluster.gather(client.map(_look_at, files, pure=False))
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
                raise InputError(problem, "write the files alike", source=file)
        chunks = [piece for file, (_, rows) in zip(files, about, strict=True) for piece in _cut(file, rows)]
        if not chunks:
            raise InputError("the table has no rows", "expected at least one", source=self.path)
        return chunks, require

    def _collect_ids(self, chunks: list[_Piece], every: int) -> _Found:
        names = ["left", "right", "annotator", "winner"]
        names += [name for name, there in (("question", self.asked), ("weight", self.weighted)) if there]
        found = self.cluster.each(_ids_of, chunks, names, every)
        whole = self.cluster.total(_merged, found, [None] * len(found))
        merged: _Found = self.cluster.result(whole, found, lambda done, of: self.progress("reading ids", done, of))
        return merged

    def _shuffle(self, chunks: list[_Piece], shared: Any, edges: IntArray) -> list[Any]:
        """Return a future of the votes of each range of keys."""
        client = self.cluster.client
        with self.cluster.clearly():
            read = client.map(_keys_of, chunks, [shared] * len(chunks), pure=False)
            if not len(edges):
                return [client.submit(_sorted, *read, pure=False)]
            import dask
            import dask.dataframe as dd
            import pandas as pd

            meta = pd.DataFrame({"key": np.empty(0, dtype=np.int64)})
            meta["weight"] = np.empty(0, dtype=np.float64 if self.weighted else np.int8)
            frames = client.map(_framed, read, pure=False)
            del read
            table = dd.from_delayed([dask.delayed(frame) for frame in frames], meta=meta, verify_meta=False)
            divisions = [0, *edges.tolist(), _LARGEST_KEY]
            with dask.config.set({"dataframe.shuffle.method": "p2p"}):
                ranges = table.set_index("key", divisions=divisions, shuffle_method="p2p").to_delayed()
            keys: list[Any] = client.compute([dask.delayed(_unframed, pure=False)(own) for own in ranges])
            return keys


def _gathered(
    cluster: Cluster, packing: Packing, keys: list[Any], n_rows: int, n_missing: int, progress: Progress
) -> DistributedComparisons:
    """Wait for the parts and add up what is known of all votes then."""
    shared = cluster.carry(packing)
    about = [cluster.client.submit(_about, own, shared, pure=False) for own in keys]
    whole = cluster.total(_concatenated, about, [None] * len(about))
    told = cluster.result(whole, keys, lambda done, of: progress("sorting votes", done, of))
    votes, decided, n_ties, n_pairs = told
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


def _packing_of(found: _Found, asked: bool) -> Packing:
    questions = np.array([""], dtype=object)
    if asked:
        columns = found.questions
        if found.gaps:
            columns = [fill_questions(column, gaps=True) for column in columns]
            columns.append(pl.Series([""], dtype=pl.String))
        questions = encode(*columns)[0]
    packing = Packing(encode(*found.items)[0], encode(*found.annotators)[0], questions)
    _refuse_too_many(packing)
    return packing


def _refuse_too_many(packing: Packing) -> None:
    if not packing.possible:
        ids = {"items": packing.items, "annotators": packing.annotators, "questions": packing.questions}
        told = ", ".join(f"{len(labels):,} {name}" for name, labels in ids.items())
        raise InputError(f"more ids than fits on a cluster can take ({told})", "fit a part of the votes")


def _edges(packing: Packing, sample: list[tuple[Column, Column]], n_rows: int, part_votes: int) -> IntArray:
    """Return where parts after the first begin, from a sample of the pairs: never within a pair."""
    pairs = []
    for left, right in sample:
        a, b = codes_in(packing.items, left).astype(np.int64), codes_in(packing.items, right)
        pairs.append(np.minimum(a, b) << packing.bits[0] | np.maximum(a, b))
    return _cuts(np.sort(np.concatenate(pairs)), n_rows, part_votes) << packing.below_pair


def _cuts(ordered: IntArray, n_rows: int, part_votes: int) -> IntArray:
    """Return the values at which parts after the first begin; how many depends on the votes alone."""
    n_parts = min(-(-n_rows // part_votes), _MOST_PARTS)
    at = np.linspace(0, len(ordered), n_parts + 1)[1:-1].astype(np.int64)
    cuts = np.unique(ordered[at])
    return np.asarray(cuts[cuts > 0])


# -- tasks ----------------------------------------------------------------------------------------------------


def _find_files(path: str) -> list[str]:
    """Return the Parquet files of a folder, by name, or the one that is named."""
    from fsspec.core import url_to_fs

    try:
        system, where = url_to_fs(path)
        if not system.exists(where):
            raise InputError("the workers see no such file or folder", "give one that they can read", source=path)
        found = sorted(system.find(where)) if system.isdir(where) else [where]
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the workers cannot read it ({_first_line(error)})", source=path) from None
    if found != [where]:
        found = [file for file in found if file.lower().endswith(_SUFFIXES)]
    if not found:
        remedy = f"expected names that end in {_SUFFIXES[0]}"
        raise InputError("the folder has no Parquet files", remedy, source=path)
    return [system.unstrip_protocol(file) if "://" in path else file for file in found]


@contextlib.contextmanager
def _opened(file: str) -> Iterator[Any]:
    from fsspec.core import url_to_fs
    from pyarrow.parquet import ParquetFile

    try:
        system, path = url_to_fs(file)
        with system.open(path, "rb") as stream:
            yield ParquetFile(stream)
    except InputError:
        raise
    except Exception as error:
        problem = f"the Parquet file is damaged or of an unknown kind ({_first_line(error)})"
        raise InputError(problem, "write it again", source=file) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:100]


def _look_at(file: str) -> tuple[dict[str, str], list[int]]:
    """Return the columns of a file and the number of rows of its row groups."""
    with _opened(file) as table:
        columns = {field.name: str(field.type) for field in table.schema_arrow}
        return columns, [table.metadata.row_group(number).num_rows for number in range(table.num_row_groups)]


def _cut(file: str, rows: list[int]) -> Iterator[_Piece]:
    """Yield pieces of a file, each of about as many rows."""
    groups: list[int] = []
    before = taken = 0
    for number, own in enumerate(rows):
        groups.append(number)
        taken += own
        if taken >= _SLICE_ROWS or number == len(rows) - 1:
            if taken:
                yield _Piece(file, tuple(groups), before, taken)
            before, taken, groups = before + taken, 0, []


@contextlib.contextmanager
def _read(piece: _Piece, names: list[str]) -> Iterator[pl.DataFrame]:
    """Read columns of some rows; what is wrong with a row is told with its place in the file."""
    with _opened(piece.file) as table:
        frame = pl.DataFrame(
            pl.from_arrow(table.read_row_groups(list(piece.groups), columns=names, use_threads=False))
        )
    try:
        yield frame
    except InputError as error:
        row = None if error.row is None else error.row + piece.before
        raise InputError(error.problem, error.remedy, source=piece.file, row=row) from None


def _ids_of(piece: _Piece, names: list[str], every: int) -> _Found:
    """Read the ids of some rows, and look whether the rest can be read."""
    with _read(piece, names) as frame:
        column = {name: as_column(frame[name]) for name in ("left", "right", "annotator")}
        for name, values in column.items():
            refuse_missing(name, values)
            refuse_empty(name, values)
        questions, gaps = [], False
        if "question" in names:
            asked = frame["question"].fill_nan(None) if frame["question"].dtype.is_float() else frame["question"]
            gaps = bool(asked.null_count())
            questions = [distinct(as_column(asked.drop_nulls()))] if asked.null_count() < len(asked) else []
        if "weight" in names:
            parse_weights(frame["weight"])
        n_missing = int(np.count_nonzero(parse_winners(as_column(frame["winner"])) == MISSING))
        sides = (as_column(frame[side].gather_every(every)) for side in ("left", "right"))
        return _merged(
            _Found(
                [distinct(column["left"]), distinct(column["right"])],
                [distinct(column["annotator"])],
                questions,
                [(next(sides), next(sides))],
                gaps,
                n_missing,
            )
        )


def _merged(*found: _Found) -> _Found:
    def together(name: str) -> list[Column]:
        columns = [column for own in found for column in getattr(own, name)]
        return [as_column(encode(*columns)[0])] if columns else []

    return _Found(
        together("items"),
        together("annotators"),
        together("questions"),
        [sample for own in found for sample in own.sample],
        any(own.gaps for own in found),
        sum(own.n_missing for own in found),
    )


def _keys_of(piece: _Piece, shared: tuple[Packing, bool, bool, bool]) -> Keys:
    """Read some votes and encode them."""
    packing, gaps, weighted, asked = shared
    optional = [name for name, there in (("question", asked), ("weight", weighted)) if there]
    with _read(piece, ["annotator", "left", "right", "winner", *optional]) as frame:
        left, right = (codes_in(packing.items, as_column(frame[side])) for side in ("left", "right"))
        refuse_self_pairs(packing.items, left, right)
        who = codes_in(packing.annotators, as_column(frame["annotator"]))
        questions = fill_questions(as_column(frame["question"]), gaps) if asked else None
        question = None if questions is None else codes_in(packing.questions, questions)
        keys = packing.pack(left, right, who, question, parse_winners(as_column(frame["winner"])))
        return keys, parse_weights(frame["weight"]) if weighted else np.empty(0)


def _framed(keys: Keys) -> Any:
    """Return keys and weights as dask's shuffle takes them."""
    import pandas as pd

    key, weight = keys
    return pd.DataFrame({"key": key, "weight": weight if len(weight) else np.zeros(len(key), dtype=np.int8)})


def _unframed(frame: Any) -> Keys:
    weight = frame["weight"].to_numpy()
    key = np.array(frame.index.to_numpy(), dtype=np.int64)
    return _sorted((key, weight if weight.dtype == np.float64 else np.empty(0)))


def _sorted(*keys: Keys) -> Keys:
    """Sort votes and fold equal ones."""
    key, weight = (np.concatenate(columns) for columns in zip(*keys, strict=True))
    return sorted_keys(key, weight if len(weight) else None)


def _about(keys: Keys, shared: tuple[Packing]) -> tuple[FloatArray, FloatArray, float, IntArray]:
    """Return the weight of each annotator's votes, and of the decided ones, of all ties, and the number of pairs."""
    key, weight = keys
    own = shared[0].unpack(key, weight, len(key), 1)
    return own.annotator_weight, own.annotator_decided, own.n_ties, np.array([own.n_pairs])


def _concatenated(*told: tuple[FloatArray, FloatArray, float, IntArray]) -> Any:
    votes, decided, n_ties, n_pairs = zip(*told, strict=True)
    return sum(votes), sum(decided), sum(n_ties), np.concatenate(n_pairs)


# -- votes that are in memory -----------------------------------------------------------------------------------


def _send(cluster: Cluster, votes: Comparisons, part_votes: int, progress: Progress) -> DistributedComparisons:
    """Send votes to the workers, a range of pairs each."""
    packing = Packing(votes.items, votes.annotators, votes.questions)
    _refuse_too_many(packing)
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
    """Return encoded votes as sorted keys; a pair without votes becomes one that is missing."""
    table, pair = votes.storage.table, votes.vote_pair
    first, second = votes.pair_first[pair], votes.pair_second[pair]
    swapped = np.asarray(votes.vote_swapped)
    turned = swapped & (table.result < 2)
    keys = packing.pack(
        np.where(swapped, second, first),
        np.where(swapped, first, second),
        table.annotator,
        np.ascontiguousarray(votes.pair_question[pair]) if votes.has_questions else None,
        np.where(turned, 1 - table.result, table.result).astype(np.int8),
    )
    idle = np.flatnonzero(np.diff(votes.vote_start) == 0)
    if len(idle):
        nobody = packing.pack(
            np.ascontiguousarray(votes.pair_first[idle]),
            np.ascontiguousarray(votes.pair_second[idle]),
            np.zeros(len(idle), dtype=np.int32),
            np.ascontiguousarray(votes.pair_question[idle]) if votes.has_questions else None,
            np.full(len(idle), MISSING, dtype=np.int8),
        )
        keys = np.concatenate([keys, nobody])
    weight = np.concatenate([table.weight, np.ones(len(idle))]) if len(table.weight) else None
    return sorted_keys(keys, weight)
