"""Votes that do not fit into memory: encoded once, kept in a scratch folder, and read part by part."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import as_column, encode
from jamrank.errors import InputError, ScratchError, ScratchWarning, warn
from jamrank.io.given import require_path
from jamrank.io.out_of_core.arrays import Stamp, read_array
from jamrank.io.out_of_core.parted import PartedComparisons
from jamrank.io.out_of_core.storage_plan import KIND, MANIFEST, VERSION, StoragePlan, plan_storage
from jamrank.io.out_of_core.storage_writer import IDS, Progress, StorageWriter, votes_file
from jamrank.io.private import hold, private_folder, private_open
from jamrank.io.scratch import read_manifest, refuse_beyond, verify_files

_LOCK = "lock"


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
        Folder for the encoded votes; by default a private one in the user's cache. Files of an earlier call for
        the same votes are reused unless damaged.
    memory : str or int
        How much memory may be used, such as ``"2GB"``.
    progress : callable, optional
        Called with the name of the step, the number of rows done, and their total.

    Returns
    -------
    StoredComparisons
        For the ``fit`` of JAM, CrowdBT and BradleyTerry.
    """
    require_path(path, "store_comparisons")
    plan = plan_storage(path, scratch, memory)
    return store(plan, progress)


def store(plan: StoragePlan, progress: Progress | None = None) -> StoredComparisons:
    """Store the votes of a plan, unless that was done before.

    Raises InputError: If the files are invalid, or the scratch folder is not safe from other users.
    """
    private_folder(plan.folder)
    lock = hold(plan.folder / _LOCK)
    if plan.done:
        try:
            return StoredComparisons.open(plan.folder, plan.votes_in_memory, lock, verify=True)
        except ScratchError as error:
            warn(f"{error}; the scratch files of these votes are recreated", ScratchWarning)
    for left_over in plan.folder.iterdir():
        if left_over.name != _LOCK:
            _remove(left_over)
    try:
        StorageWriter(plan, progress or (lambda what, done, total: None)).write()
    except InputError as error:
        raise error if error.source else error.within(plan.source) from None
    return StoredComparisons.open(plan.folder, plan.votes_in_memory, lock)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoredComparisons(PartedComparisons):
    """Encoded votes on disk; the counterpart of :class:`jamrank.Comparisons`.

    Made by :func:`store_comparisons`. Attributes with one entry for each pair are read from disk when they are used,
    and must fit into memory.
    """

    place: ClassVar[str] = "from disk"

    folder: Path
    files: dict[str, Stamp]
    votes_in_memory: int
    lock: Any

    @classmethod
    def open(cls, folder: Path, votes_in_memory: int, lock: Any = None, *, verify: bool = False) -> StoredComparisons:
        """Open a scratch folder.

        Parameters
        ----------
        folder : Path
            The scratch folder.
        votes_in_memory : int
            How many votes may be in memory at once.
        lock : object, optional
            The open lock file of the folder.
        verify : bool
            Whether to compare every file with its checksum: for folders of an earlier run.

        Raises
        ------
        ScratchError
            If a file has changed.
        """
        body = read_manifest(folder / MANIFEST, KIND, VERSION)
        if body["fingerprint"] != folder.name:
            raise ScratchError("the manifest belongs to other votes", source=str(folder))
        if verify:
            verify_files(folder, body["files"])
        items, annotators, questions = (_read_ids(folder, name, body["counts"][name]) for name in IDS)
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
        keys = read_array(self.folder / votes_file(number, "keys"), np.int64)
        weights = votes_file(number, "weights")
        weight = read_array(self.folder / weights, np.float64) if weights in self.files else np.empty(0)
        if (len(keys) and (keys[0] < 0 or (keys[1:] <= keys[:-1]).any())) or len(weight) not in (0, len(keys)):
            raise ScratchError("a scratch file is damaged (its votes are not sorted)", source=str(self.folder))
        part = Comparisons.unpack(self.packing, keys, weight, len(keys), self.n_missing)
        refuse_beyond(part.pair_first, self.n_items, "an item", self.folder)
        refuse_beyond(part.pair_second, self.n_items, "an item", self.folder)
        refuse_beyond(part.pair_question, len(self.questions), "a question", self.folder)
        refuse_beyond(part.vote_annotator, self.n_annotators, "an annotator", self.folder)
        if part.n_pairs != self.part_pairs[number]:
            raise ScratchError(
                "a scratch file is damaged (it has a different number of pairs)", source=str(self.folder)
            )
        return part

    def delete(self) -> None:
        """Remove the scratch folder; the votes can no longer be read then."""
        # While it is locked, so that a waiting process does not find the folder half removed.
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
