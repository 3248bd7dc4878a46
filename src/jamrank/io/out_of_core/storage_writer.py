"""From Parquet files to sorted votes in a scratch folder, part by part.

The files are read twice. The first reading collects the ids; the second turns votes into integers that sort by pair,
question and annotator (:class:`jamrank.data.packing.Packing`) and writes them to parts, each a range of pairs that
fits into memory. Then every part is sorted and folded by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.frames import make_frame
from jamrank.data.ids import Column, as_column, codes_in, distinct, encode, first_missing
from jamrank.data.packing import Packing, sorted_keys
from jamrank.data.parsing import (
    fill_questions,
    parse_weights,
    parse_winners,
    refuse_empty,
    refuse_missing,
    refuse_self_pairs,
)
from jamrank.data.soft import refuse_graded
from jamrank.data.storage import MISSING
from jamrank.errors import InputError
from jamrank.io.out_of_core.arrays import Stamp, append_array, read_array, write_array, write_private
from jamrank.io.out_of_core.storage_plan import KIND, MANIFEST, VERSION, StoragePlan
from jamrank.io.scratch import write_manifest
from jamrank.typing import IntArray

Progress = Callable[[str, int, int], None]

IDS = ("items", "annotators", "questions")
# Pairs from which the bounds of the parts are taken.
_SAMPLE = 1 << 18


@dataclass
class StorageWriter:
    """Writes the votes of a plan to its folder."""

    plan: StoragePlan
    progress: Progress

    def __post_init__(self) -> None:
        table = self.plan.table
        refuse_graded(table.columns)
        self.weighted = "weight" in table.columns
        self.asked = "question" in table.columns
        self.gaps = False
        self.files: dict[str, Stamp] = {}
        self.longest = self.plan.rows_in_slice

    def write(self) -> None:
        """Write the votes, and last of all the manifest, which marks the folder as complete."""
        try:
            packing, edges = self._collect_ids()
            n_missing = self._distribute(packing, edges)
        except InputError as error:
            if error.row is None:
                raise
            file, before = self._at
            raise InputError(error.problem, error.remedy, source=str(file), row=error.row + before) from None
        parts = self._sort_parts(packing, len(edges) + 1, n_missing)
        counts = {name: self._write_ids(name, getattr(packing, name)) for name in IDS}
        body = {
            "fingerprint": self.plan.folder.name,
            "files": self.files,
            "counts": counts,
            "n_missing": n_missing,
            "n_votes": self.plan.n_rows - n_missing,
            **parts,
        }
        write_manifest(self.plan.folder / MANIFEST, KIND, VERSION, body)

    def _write_ids(self, name: str, ids: NDArray[Any]) -> int:
        """Write ids; return their number."""
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
        """Read the ids; return them, and the keys of the pairs at which parts begin."""
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
            found = ", ".join(f"{len(labels):,} {name}" for name, labels in ids.items())
            raise InputError(f"more ids than fits from disk can take ({found})", "fit a part of the votes")
        return packing, self._edges(packing, sample)

    def _edges(self, packing: Packing, sample: list[tuple[Column, Column]]) -> IntArray:
        """Return the keys at which parts after the first begin, from a sample of the pairs; no pair is split."""
        n_parts = -(-self.plan.n_rows // max(self.plan.votes_in_memory, 1))
        if n_parts == 1:
            return np.empty(0, dtype=np.int64)
        # A tenth more parts, since a sample does not make them all of the same size.
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

    def _distribute(self, packing: Packing, edges: IntArray) -> int:
        """Read the votes and write each to its part; return the number of votes without an outcome."""
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
        name = votes_file(part, what)
        self.files[name] = write_array(self.plan.folder / name, values)

    def _sort_parts(self, packing: Packing, n_parts: int, n_missing: int) -> dict[str, Any]:
        """Sort and fold each part; return counts over all votes."""
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
            own = Comparisons.unpack(packing, keys, weight, len(keys), n_missing)
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
    """Add distinct values to a column of them."""
    labels, _ = encode(*known, *found)
    known[:] = [as_column(labels)]


def votes_file(part: int, what: str) -> str:
    """Return the name of a file of a part."""
    return f"votes-{part:05}.{what}"
