"""Votes that do not fit into memory, encoded once and kept in a scratch folder.

Two readings of the Parquet files: the first collects the ids, the second turns votes into integers that sort by pair,
question and annotator (:class:`jamrank.data.comparisons.Packing`) and deals them out to parts, each a range of pairs
that fits into memory. Then every part is sorted and folded by itself. Passes go over one part after another.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from jamrank.data.comparisons import (
    Comparisons,
    Packing,
    make_frame,
    parse_weights,
    parse_winners,
    refuse_missing,
    refuse_self_pairs,
    require_columns,
    sorted_keys,
)
from jamrank.data.ids import Column, as_column, codes_in, distinct, encode
from jamrank.data.storage import MISSING
from jamrank.errors import FormatError, InputError, ParameterError
from jamrank.io.documents import check_folder, ensure_folder, read_document, write_document
from jamrank.io.out_of_core.arrays import append_array, read_array, write_array
from jamrank.io.out_of_core.parted import PartedComparisons, Votes
from jamrank.io.parquet import ParquetFiles, is_parquet
from jamrank.typing import FloatArray, IntArray

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

_KIND, _VERSION = "scratch", 1
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
        Folder for the encoded votes; the system's folder for temporary files unless given.
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
    where = Path(scratch) if scratch is not None else Path(tempfile.gettempdir())
    check_folder(where)
    needed = len(table) * (_KEY_BYTES + _ROW_BYTES)
    plan = StoragePlan(table, str(path), where / f"jamrank-{_fingerprint(table, allowed)}", allowed, needed)
    nearest = next(parent for parent in (where, *where.absolute().parents) if parent.exists())
    free = shutil.disk_usage(nearest).free
    if not plan.done and free < needed:
        problem = f"the scratch folder has {free / 1e9:.1f} GB free, and these votes need about {needed / 1e9:.1f} GB"
        raise InputError(problem, "give another folder with --scratch", source=str(where))
    return plan


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
        Folder for the encoded votes; the system's folder for temporary files unless given. What an earlier call left
        there of the same files is used again.
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
    """Do what a plan says, unless it was done before."""
    ensure_folder(plan.folder)
    lock = _lock(plan.folder / _LOCK)
    if not plan.done:
        for left_over in plan.folder.iterdir():
            if left_over.name != _LOCK:
                shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
        try:
            _Writer(plan, progress or (lambda what, done, total: None)).write()
        except InputError as error:
            raise error if error.source else error.within(plan.source) from None
    return StoredComparisons.open(plan.folder, plan.votes_in_memory, lock)


def _lock(path: Path) -> Any:
    """Hold a file as long as the result lives: two runs must not write to one folder."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        problem = "another run is using this scratch folder"
        raise InputError(problem, "wait for it, or give another with --scratch", source=str(path.parent)) from None
    return file


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
        for name in _IDS:
            make_frame({"id": getattr(packing, name)}, "polars").write_parquet(self.plan.folder / f"{name}.parquet")
        body = {"weighted": self.weighted, "n_missing": n_missing, "n_votes": self.plan.n_rows - n_missing, **parts}
        write_document(self.plan.folder / _MANIFEST, _KIND, _VERSION, body)

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
            frame["question"].null_count() for _, _, frame in self.plan.table.slices(["question"], self.longest)
        )
        known: dict[str, list[Column]] = {"items": [], "annotators": [], "questions": []}
        sample: list[tuple[Column, Column]] = []
        every = max(self.plan.n_rows // _SAMPLE, 1)
        for raw in self._slices("reading ids", names):
            frame = self._filled(raw)
            column = {name: as_column(frame[name]) for name in names}
            for name in names:
                refuse_missing(name, column[name])
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

    def _filled(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col("question").cast(pl.String).fill_null("")) if self.gaps else frame

    def _deal_out(self, packing: Packing, edges: IntArray) -> int:
        """Read the votes and write each to its part; return how many had no outcome."""
        optional = [name for name in ("question", "weight") if name in self.plan.table.columns]
        n_missing = 0
        for raw in self._slices("reading votes", ["annotator", "left", "right", "winner", *optional]):
            frame = self._filled(raw)
            left, right = (codes_in(packing.items, as_column(frame[side])) for side in ("left", "right"))
            refuse_self_pairs(packing.items, left, right)
            who = codes_in(packing.annotators, as_column(frame["annotator"]))
            asked = codes_in(packing.questions, as_column(frame["question"])) if self.asked else None
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
            write_array(_votes_file(self.plan.folder, part, "keys"), keys)
            if len(weight):
                write_array(_votes_file(self.plan.folder, part, "weights"), weight)
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


class Journal:
    """What passes said, on disk, found again by what they were asked.

    A fit is the same from run to run, to the last bit: one that was killed and is begun anew asks the same questions,
    and gets the answers that are here at once.

    Parameters
    ----------
    folder : Path
        Where the answers are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def recall(self, run: Callable[[], FloatArray], what: str, *asked: FloatArray) -> FloatArray:
        """Return the answer to a question, from an earlier run where there is one."""
        question = hashlib.blake2b(what.encode(), digest_size=16)
        for array in asked:
            question.update(np.ascontiguousarray(array).tobytes())
        path = self.folder / f"{question.hexdigest()}.sums"
        known = self._read(path)
        if known is not None:
            return known
        answer = run()
        self.folder.mkdir(exist_ok=True)
        write_array(path, np.concatenate([_checksum(answer), answer]))
        return answer

    def _read(self, path: Path) -> FloatArray | None:
        """Return an answer that is there and whole."""
        if not path.exists():
            return None
        content = read_array(path, np.float64)
        checksum, answer = content[:2], content[2:]
        return answer if checksum.tobytes() == _checksum(answer).tobytes() else None


def _checksum(answer: FloatArray) -> FloatArray:
    return np.frombuffer(hashlib.blake2b(answer.tobytes(), digest_size=16).digest(), dtype=np.float64)


def _merge(known: list[Column], *found: Column) -> None:
    """Add values to those known, in one column."""
    labels, _ = encode(*known, *found)
    known[:] = [as_column(labels)]


def _votes_file(folder: Path, part: int, what: str) -> Path:
    return folder / f"votes-{part:05}.{what}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoredComparisons(PartedComparisons):
    """Votes on disk, encoded; what :class:`jamrank.Comparisons` is in memory.

    Made by :func:`store_comparisons`. Attributes with one entry a pair are read from disk when they are asked for,
    and must fit into memory then.
    """

    place: ClassVar[str] = "from disk"

    folder: Path
    votes_in_memory: int
    lock: Any

    @classmethod
    def open(cls, folder: Path, votes_in_memory: int, lock: Any = None) -> StoredComparisons:
        """Return what lies in a scratch folder."""
        try:
            body = read_document(folder / _MANIFEST, _KIND, _VERSION)
            items, annotators, questions = (
                encode(as_column(pl.read_parquet(folder / f"{name}.parquet")["id"]))[0] for name in _IDS
            )
        except (FormatError, OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"the scratch folder is damaged ({error})", "delete it", source=str(folder)) from None
        return cls(
            folder=folder,
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
        keys = read_array(_votes_file(self.folder, number, "keys"), np.int64)
        weights = _votes_file(self.folder, number, "weights")
        weight = read_array(weights, np.float64) if weights.exists() else np.empty(0)
        return self.packing.unpack(keys, weight, len(keys), self.n_missing)

    def delete(self) -> None:
        """Remove the scratch folder; the votes can no longer be read then."""
        if self.lock is not None:
            self.lock.close()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    @property
    def _where(self) -> str:
        return f"in {str(self.folder)!r}"
