"""Votes that do not fit into memory, encoded once and kept in a scratch folder.

Two readings of the Parquet files: the first collects the ids, the second turns votes into integers that sort by pair,
question and annotator (:class:`jamrank.data.comparisons.Packing`) and deals them out to parts, each a range of pairs
that fits into memory. Then every part is sorted and folded by itself. Passes go over one part after another.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import (
    Comparisons,
    Packing,
    fill_questions,
    make_frame,
    parse_weights,
    parse_winners,
    refuse_empty,
    refuse_missing,
    refuse_self_pairs,
    require_columns,
    sorted_keys,
)
from jamrank.data.ids import Column, as_column, codes_in, distinct, encode, first_missing
from jamrank.data.storage import MISSING
from jamrank.errors import InputError, ParameterError, ScratchError, ScratchWarning, warn
from jamrank.io.documents import check_folder
from jamrank.io.out_of_core.arrays import Stamp, append_array, read_array, write_array, write_private
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.parquet import ParquetFiles, is_parquet
from jamrank.io.private import check_private, hold, own_scratch, private_folder, private_open, refuse_shared
from jamrank.io.scratch import Journal, read_manifest, refuse_beyond, verify_files, write_manifest
from jamrank.typing import IntArray

__all__ = [
    "Journal",
    "StoragePlan",
    "StoredComparisons",
    "Votes",
    "parse_size",
    "plan_storage",
    "store",
    "store_comparisons",
]

Progress = Callable[[str, int, int], None]

_KIND, _VERSION = "scratch", 2
_MANIFEST, _LOCK = "votes.json", "lock"
_IDS = ("items", "annotators", "questions")
# Bytes that the work on one vote of a slice, or of a part, takes at most, and what the process needs beside.
_SLICE_BYTES, _PART_BYTES, _PROCESS_BYTES = 160, 96, 400 << 20
_LEAST_MEMORY = 512 << 20
# Bytes on disk for each vote at most: key and weight (of votes cast twice), and once more as passes read them.
_KEY_BYTES, _ROW_BYTES = 16, 19
_SAMPLE = 1 << 18
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_size(text: str | int) -> int:
    """Return a number of bytes that is written as a person would: ``2GB``, ``512 MiB``, ``4e9``."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]i?)?b?\s*", str(text), re.IGNORECASE)
    try:
        number = float(match[1]) if match else -1.0
    except ValueError:
        number = -1.0
    if match is None or number < 0:
        raise ParameterError(f"{text!r} is no amount of memory; write 2GB or 512MB")
    return int(number * _UNITS[(match[2] or "").lower()])


@dataclass(frozen=True)
class StoragePlan:
    """What storing some votes will take, known before it begins."""

    table: ParquetFiles
    source: str
    folder: Path
    memory: int
    scratch_bytes: int

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.table)

    @property
    def done(self) -> bool:
        """Whether the folder has these votes already."""
        return (self.folder / _MANIFEST).exists()

    @property
    def votes_in_memory(self) -> int:
        """How many votes of a part may be in memory at once."""
        return (self.memory - _PROCESS_BYTES) // _PART_BYTES


def plan_storage(
    path: str | os.PathLike[str],
    scratch: str | os.PathLike[str] | None = None,
    memory: str | int = "2GB",
) -> StoragePlan:
    """Find out what storing votes will take.

    Parameters
    ----------
    path : path-like
        A Parquet file in the canonical form, or a folder of them.
    scratch : path-like, optional
        Folder for the encoded votes; one of this user's own, in the cache, unless given.
    memory : str or int
        How much may be used, such as ``"2GB"``.

    Raises
    ------
    InputError
        If the files cannot be read, or the scratch folder is too small.
    ParameterError
        If so little memory is not enough.
    """
    allowed = parse_size(memory)
    if allowed < _LEAST_MEMORY:
        raise ParameterError(f"memory is {memory!r}; expected at least {_LEAST_MEMORY >> 20}MiB")
    if not is_parquet(path):
        convert = f"""python -c "import polars as pl; pl.scan_csv('{path}').sink_parquet('votes.parquet')\""""
        remedy = f"fits from disk read Parquet; convert the file first: {convert}"
        raise InputError("not a Parquet file or a folder of them", remedy, source=str(path))
    table = ParquetFiles.open(path)
    try:
        require_columns(list(table.columns))
    except InputError as error:
        raise error.within(str(path)) from None
    where = _where(scratch)
    needed = len(table) * (_KEY_BYTES + _ROW_BYTES)
    plan = StoragePlan(table, str(path), where / f"jamrank-{_fingerprint(table, allowed)}", allowed, needed)
    if os.path.lexists(plan.folder):
        check_private(plan.folder)
    nearest = next(parent for parent in (where, *where.absolute().parents) if parent.exists())
    free = shutil.disk_usage(nearest).free
    if not plan.done and free < needed:
        problem = f"the scratch folder has {free / 1e9:.1f} GB free, and these votes need about {needed / 1e9:.1f} GB"
        raise InputError(problem, "give another folder with --scratch", source=str(where))
    return plan


def _where(scratch: str | os.PathLike[str] | None) -> Path:
    """Return the folder for scratch folders: nobody else may read or change what will be there."""
    if scratch is None:
        return own_scratch()
    check_folder(scratch)
    where = Path(scratch).absolute()
    if where.exists():
        refuse_shared(where)
    return where


def _fingerprint(table: ParquetFiles, memory: int) -> str:
    """Return a name that changes with the files and with the size of the parts."""
    told = [f"{_VERSION} {memory}"]
    for file in table.files:
        about = file.stat()
        told.append(f"{file.resolve()} {about.st_size} {about.st_mtime_ns}")
    return hashlib.blake2b("\n".join(told).encode(), digest_size=8).hexdigest()


def store_comparisons(
    path: str | os.PathLike[str],
    scratch: str | os.PathLike[str] | None = None,
    memory: str | int = "2GB",
    progress: Progress | None = None,
) -> StoredComparisons:
    """Encode votes that do not fit into memory, for models to fit from disk.

    Parameters
    ----------
    path : path-like
        A Parquet file in the canonical form (see :func:`jamrank.read_comparisons`), or a folder of them.
    scratch : path-like, optional
        Folder for the encoded votes; one of this user's own, in the cache, unless given. What an earlier call left
        there of the same files is used again, unless it is damaged.
    memory : str or int
        How much may be used, such as ``"2GB"``.
    progress : callable, optional
        Told what is being done, how many rows are, and of how many.

    Returns
    -------
    StoredComparisons
        For the ``fit`` of JAM, CrowdBT and BradleyTerry.
    """
    plan = plan_storage(path, scratch, memory)
    return store(plan, progress)


def store(plan: StoragePlan, progress: Progress | None = None) -> StoredComparisons:
    """Do what a plan says, unless it was done before.

    Raises
    ------
    InputError
        If something in the files is not as it should be, or the scratch folder is not safe from other users.
    """
    private_folder(plan.folder)
    lock = hold(plan.folder / _LOCK)
    if plan.done:
        try:
            return StoredComparisons.open(plan.folder, plan.votes_in_memory, lock, verify=True)
        except ScratchError as error:
            warn(f"{error}; the scratch files of these votes are made anew", ScratchWarning)
    for left_over in plan.folder.iterdir():
        if left_over.name != _LOCK:
            _remove(left_over)
    try:
        _Writer(plan, progress or (lambda what, done, total: None)).write()
    except InputError as error:
        raise error if error.source else error.within(plan.source) from None
    return StoredComparisons.open(plan.folder, plan.votes_in_memory, lock)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@dataclass
class _Writer:
    """Writes the votes of a plan to its folder."""

    plan: StoragePlan
    progress: Progress

    def __post_init__(self) -> None:
        table = self.plan.table
        self.weighted = "weight" in table.columns
        self.asked = "question" in table.columns
        self.gaps = False
        self.files: dict[str, Stamp] = {}
        self.longest = int(np.clip((self.plan.memory - _PROCESS_BYTES) // _SLICE_BYTES, 10_000, 8_000_000))

    def write(self) -> None:
        try:
            packing, edges = self._collect_ids()
            n_missing = self._deal_out(packing, edges)
        except InputError as error:
            if error.row is None:
                raise
            file, before = self._at
            raise InputError(error.problem, error.remedy, source=str(file), row=error.row + before) from None
        parts = self._sort_parts(packing, len(edges) + 1, n_missing)
        counts = {name: self._write_ids(name, getattr(packing, name)) for name in _IDS}
        body = {
            "fingerprint": self.plan.folder.name,
            "files": self.files,
            "counts": counts,
            "n_missing": n_missing,
            "n_votes": self.plan.n_rows - n_missing,
            **parts,
        }
        write_manifest(self.plan.folder / _MANIFEST, _KIND, _VERSION, body)

    def _write_ids(self, name: str, ids: NDArray[Any]) -> int:
        """Write ids; return how many there are."""
        content = BytesIO()
        make_frame({"id": ids}, "polars").write_parquet(content)
        self.files[f"{name}.parquet"] = write_private(self.plan.folder / f"{name}.parquet", content.getvalue())
        return len(ids)

    def _slices(self, what: str, columns: list[str]) -> Iterator[pl.DataFrame]:
        done, total = 0, self.plan.n_rows
        for file, before, frame in self.plan.table.slices(columns, self.longest):
            self.progress(what, done, total)
            self._at = file, before
            yield frame
            done += frame.height
        self.progress(what, total, total)

    def _collect_ids(self) -> tuple[Packing, IntArray]:
        """Read the ids; return them with the keys of pairs at which parts begin."""
        names = ["left", "right", "annotator", *(["question"] if self.asked else [])]
        self.gaps = self.asked and any(
            first_missing(as_column(frame["question"])) is not None
            for _, _, frame in self.plan.table.slices(["question"], self.longest)
        )
        known: dict[str, list[Column]] = {"items": [], "annotators": [], "questions": []}
        sample: list[tuple[Column, Column]] = []
        every = max(self.plan.n_rows // _SAMPLE, 1)
        for frame in self._slices("reading ids", names):
            column = {name: as_column(frame[name]) for name in names}
            if self.asked:
                column["question"] = self._questions(frame)
            for name in names:
                refuse_missing(name, column[name])
                if name != "question":
                    refuse_empty(name, column[name])
            _merge(known["items"], distinct(column["left"]), distinct(column["right"]))
            _merge(known["annotators"], distinct(column["annotator"]))
            if self.asked:
                _merge(known["questions"], distinct(column["question"]))
            sample.append(
                (as_column(frame["left"].gather_every(every)), as_column(frame["right"].gather_every(every)))
            )
        ids = {
            name: encode(*columns)[0] if columns else np.array([""], dtype=object) for name, columns in known.items()
        }
        packing = Packing(**ids)
        if not packing.possible:
            told = ", ".join(f"{len(labels):,} {name}" for name, labels in ids.items())
            raise InputError(f"more ids than fits from disk can take ({told})", "fit a part of the votes")
        return packing, self._edges(packing, sample)

    def _edges(self, packing: Packing, sample: list[tuple[Column, Column]]) -> IntArray:
        """Return where parts after the first begin, from a sample of the pairs: never within a pair."""
        n_parts = -(-self.plan.n_rows // max(self.plan.votes_in_memory, 1))
        if n_parts == 1:
            return np.empty(0, dtype=np.int64)
        # A tenth more parts: those of a sample are not all of the same size.
        n_parts += -(-n_parts // 10)
        pairs = []
        for left, right in sample:
            a, b = codes_in(packing.items, left).astype(np.int64), codes_in(packing.items, right)
            pairs.append(np.minimum(a, b) << packing.bits[0] | np.maximum(a, b))
        ordered = np.sort(np.concatenate(pairs))
        at = np.linspace(0, len(ordered), n_parts + 1)[1:-1].astype(np.int64)
        return np.unique(ordered[at]) << packing.below_pair

    def _questions(self, frame: pl.DataFrame) -> Column:
        return fill_questions(as_column(frame["question"]), self.gaps)

    def _deal_out(self, packing: Packing, edges: IntArray) -> int:
        """Read the votes and write each to its part; return how many had no outcome."""
        optional = [name for name in ("question", "weight") if name in self.plan.table.columns]
        n_missing = 0
        for frame in self._slices("reading votes", ["annotator", "left", "right", "winner", *optional]):
            left, right = (codes_in(packing.items, as_column(frame[side])) for side in ("left", "right"))
            refuse_self_pairs(packing.items, left, right)
            who = codes_in(packing.annotators, as_column(frame["annotator"]))
            asked = codes_in(packing.questions, self._questions(frame)) if self.asked else None
            results = parse_winners(as_column(frame["winner"]))
            n_missing += int(np.count_nonzero(results == MISSING))
            keys = packing.pack(left, right, who, asked, results)
            weights = parse_weights(frame["weight"]) if self.weighted else None
            if weights is None:
                keys.sort()
            else:
                order = np.argsort(keys, kind="stable")
                keys, weights = keys[order], weights[order]
            cuts = [0, *np.searchsorted(keys, edges).tolist(), len(keys)]
            for part, (begin, end) in enumerate(itertools.pairwise(cuts)):
                append_array(self._unsorted(part, "keys"), keys[begin:end])
                if weights is not None:
                    append_array(self._unsorted(part, "weights"), weights[begin:end])
        return n_missing

    def _unsorted(self, part: int, what: str) -> Path:
        return self.plan.folder / f"unsorted-{part:05}.{what}"

    def _write_votes(self, part: int, what: str, values: NDArray[Any]) -> None:
        name = _votes_file(part, what)
        self.files[name] = write_array(self.plan.folder / name, values)

    def _sort_parts(self, packing: Packing, n_parts: int, n_missing: int) -> dict[str, Any]:
        """Sort and fold each part; return what is known of all votes then."""
        n_pairs, n_ties, done = [], 0.0, 0
        votes, decided = np.zeros(len(packing.annotators)), np.zeros(len(packing.annotators))
        for part in range(n_parts):
            self.progress("sorting votes", done, self.plan.n_rows)
            keys = read_array(self._unsorted(part, "keys"), np.int64)
            weights = read_array(self._unsorted(part, "weights"), np.float64) if self.weighted else None
            done += len(keys)
            keys, weight = sorted_keys(keys, weights)
            self._write_votes(part, "keys", keys)
            if len(weight):
                self._write_votes(part, "weights", weight)
            own = packing.unpack(keys, weight, len(keys), n_missing)
            n_pairs.append(own.n_pairs)
            n_ties += own.n_ties
            votes += own.annotator_weight
            decided += own.annotator_decided
            del keys, weights, weight, own
            for what in ("keys", "weights"):
                self._unsorted(part, what).unlink(missing_ok=True)
        self.progress("sorting votes", done, self.plan.n_rows)
        return {"pairs": np.array(n_pairs), "n_ties": n_ties, "votes": votes, "decided": decided}


def _merge(known: list[Column], *found: Column) -> None:
    """Add values to those known, in one column."""
    labels, _ = encode(*known, *found)
    known[:] = [as_column(labels)]


def _votes_file(part: int, what: str) -> str:
    return f"votes-{part:05}.{what}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoredComparisons(PartedComparisons):
    """Votes on disk, encoded; what :class:`jamrank.Comparisons` is in memory.

    Made by :func:`store_comparisons`. Attributes with one entry a pair are read from disk when they are asked for,
    and must fit into memory then.
    """

    place: ClassVar[str] = "from disk"

    folder: Path
    files: dict[str, Stamp]
    votes_in_memory: int
    lock: Any

    @classmethod
    def open(cls, folder: Path, votes_in_memory: int, lock: Any = None, *, verify: bool = False) -> StoredComparisons:
        """Return what lies in a scratch folder.

        Parameters
        ----------
        folder : Path
            The scratch folder.
        votes_in_memory : int
            How many votes may be in memory at once.
        lock : object, optional
            What holds the folder.
        verify : bool
            Whether to compare every file with its checksum: for what an earlier run left there.

        Raises
        ------
        ScratchError
            If it is not what was written there.
        """
        body = read_manifest(folder / _MANIFEST, _KIND, _VERSION)
        if body["fingerprint"] != folder.name:
            raise ScratchError("the manifest is that of other votes", source=str(folder))
        if verify:
            verify_files(folder, body["files"])
        items, annotators, questions = (_read_ids(folder, name, body["counts"][name]) for name in _IDS)
        return cls(
            folder=folder,
            files=body["files"],
            items=items,
            annotators=annotators,
            questions=questions,
            part_pairs=body["pairs"],
            n_votes=body["n_votes"],
            n_missing=body["n_missing"],
            n_ties=body["n_ties"],
            annotator_weight=body["votes"],
            annotator_decided=body["decided"],
            votes_in_memory=votes_in_memory,
            lock=lock,
        )

    def part(self, number: int) -> Comparisons:
        """Return the votes of one part; their ids are those of all."""
        keys = read_array(self.folder / _votes_file(number, "keys"), np.int64)
        weights = _votes_file(number, "weights")
        weight = read_array(self.folder / weights, np.float64) if weights in self.files else np.empty(0)
        if (len(keys) and (keys[0] < 0 or (keys[1:] <= keys[:-1]).any())) or len(weight) not in (0, len(keys)):
            raise ScratchError("a scratch file is damaged (its votes are in no order)", source=str(self.folder))
        part = self.packing.unpack(keys, weight, len(keys), self.n_missing)
        refuse_beyond(part.pair_first, self.n_items, "an item", self.folder)
        refuse_beyond(part.pair_second, self.n_items, "an item", self.folder)
        refuse_beyond(part.pair_question, len(self.questions), "a question", self.folder)
        refuse_beyond(part.vote_annotator, self.n_annotators, "an annotator", self.folder)
        if part.n_pairs != self.part_pairs[number]:
            raise ScratchError("a scratch file is damaged (it has other pairs)", source=str(self.folder))
        return part

    def delete(self) -> None:
        """Remove the scratch folder; the votes can no longer be read then."""
        # While it is locked: who waits for the lock must not find the folder half removed.
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.lock is not None:
            self.lock.close()

    @property
    def _where(self) -> str:
        return f"in {str(self.folder)!r}"


def _read_ids(folder: Path, name: str, count: int) -> NDArray[Any]:
    path = folder / f"{name}.parquet"
    try:
        with private_open(path, "rb") as file:
            ids = encode(as_column(pl.read_parquet(BytesIO(file.read()))["id"]))[0]
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ScratchError(f"the ids cannot be read ({error})", source=str(path)) from None
    if len(ids) != count:
        raise ScratchError(f"there are {len(ids):,} ids of {count:,}", source=str(path))
    return ids
