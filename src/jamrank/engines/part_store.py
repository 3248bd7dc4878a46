"""Rows on disk, part by part, and buffers in memory for one part at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.errors import ScratchError
from jamrank.io.out_of_core.arrays import read_into, write_array
from jamrank.io.scratch import refuse_beyond
from jamrank.rows import Patterns, RaggedVotes, Rows
from jamrank.typing import Float32Array, FloatArray, IntArray


@dataclass(frozen=True)
class StoredPart:
    """The rows of one part, as a pass needs them."""

    layout: tuple[IntArray, NDArray[np.integer]]
    weight: FloatArray
    ballots: Patterns | RaggedVotes
    pattern_weight: FloatArray
    n_items: int
    distinct: bool
    single_votes: bool
    about: str
    begin: IntArray | None
    sides: None = None
    """Sums by link and side are not stored."""

    @property
    def link_layout(self) -> tuple[IntArray, NDArray[np.integer]]:
        """The layout; where rows come in runs, that of the runs."""
        return self.layout

    def __len__(self) -> int:
        return len(self.layout[1]) if self.begin is None else int(self.begin[-1])

    def over_votes(self, values: FloatArray, power: int = 1) -> FloatArray:
        """Add up a value for each row over its votes, by confusion group and side."""
        return self.ballots.over_votes(values * self.weight if len(self.weight) else values, power)

    def as_rows(self) -> Rows:
        """Return these as :class:`Rows`, with first items spelled out."""
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


class PartStore:
    """The rows of all parts on disk, and buffers in memory for one part."""

    def __init__(self, folder: Path, n_items: int, parts: list[dict[str, Any]]) -> None:
        self.folder, self.n_items, self.parts = folder, n_items, parts
        self._buffers: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self.parts)

    @staticmethod
    def put(folder: Path, number: int, rows: Rows) -> dict[str, Any]:
        """Write the rows of a part; return the rest of its description, for the manifest."""
        rows = rows if rows.sides is None else replace(rows, sides=None)
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
        about: dict[str, Any] = {
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
            about |= {"list_start": ballots.start, "vote": ballots.vote, "vote_weight": ballots.weight}
            about["pattern_weight"] = rows.pattern_weight
        return about

    def load(self, number: int) -> StoredPart:
        """Read a part into the buffers, which overwrites the part before."""
        about = self.parts[number]
        ballots: Patterns | RaggedVotes
        if about["lists"]:
            list_start = self._starts(number, "count")
            vote = self._bounded(self._widened(number, "vote", np.int32), 2 * about["n_confusion_groups"], "a vote")
            self._refuse_other(int(list_start[-1]), len(vote))
            ballots = RaggedVotes(list_start, vote, self._column(number, "vote_weight"), about["n_confusion_groups"])
            pattern_weight = np.empty(0)
        else:
            pattern = self._column(number, "pattern")
            if pattern.dtype != np.uint8:
                pattern = self._widened(number, "pattern", np.int32)
            self._bounded(pattern, len(about["list_start"]) - 1, "a pattern")
            ballots = Patterns(
                pattern, about["list_start"], about["vote"], about["vote_weight"], about["n_confusion_groups"]
            )
            pattern_weight = about["pattern_weight"]
        begin = self._starts(number, "run") if "run" in about["columns"] else None
        if begin is not None:
            self._refuse_other(int(begin[-1]), self.n_rows(number))
        return StoredPart(
            self.layout(number),
            self._column(number, "weight"),
            ballots,
            pattern_weight,
            self.n_items,
            about["distinct"],
            about["single_votes"],
            about["about"],
            begin,
        )

    def layout(self, number: int) -> tuple[IntArray, NDArray[np.integer]]:
        """Read where the rows of each first item of a part begin, and the second items."""
        about = self.parts[number]
        start = np.zeros(self.n_items + 1, dtype=np.int64)
        low, own = about["low"], about["start"]
        start[low : low + len(own)] = own
        start[low + len(own) :] = own[-1]
        return start, self._bounded(self._column(number, "second"), self.n_items, "an item")

    def _bounded(self, codes: NDArray[Any], count: int, what: str) -> NDArray[Any]:
        """Return codes, once they were compared with their range."""
        refuse_beyond(codes, count, what, self.folder)
        return codes

    def _refuse_other(self, found: int, expected: int) -> None:
        if found != expected:
            problem = "a scratch file is damaged (lengths do not add up)"
            raise ScratchError(problem, "delete its folder and start again", source=str(self.folder))

    def n_rows(self, number: int) -> int:
        """Return the number of rows of a part."""
        columns = self.parts[number]["columns"]
        length: int = columns["pattern" if "pattern" in columns else "count"][1]
        return length

    def curvature_buffer(self, number: int) -> Float32Array:
        """Return the buffer for the curvature of a part."""
        length: int = self.parts[number]["columns"]["second"][1]
        return self._buffer("curvature", length, np.float32)

    def write_curvature(self, number: int) -> None:
        """Write the curvature of a part from its buffer to disk."""
        write_array(self.folder / _file(number, "curvature"), self.curvature_buffer(number))

    def read_curvature(self, number: int) -> None:
        """Read the curvature of a part into its buffer."""
        read_into(self.folder / _file(number, "curvature"), self.curvature_buffer(number))

    def _column(self, number: int, name: str) -> NDArray[Any]:
        kind, length = self.parts[number]["columns"][name]
        column = self._buffer(name, length, np.dtype(kind))
        if length:
            read_into(self.folder / _file(number, name), column)
        return column

    def _starts(self, number: int, name: str) -> IntArray:
        """Return where each list begins, and the end of the last, from a column of lengths."""
        lengths = self._column(number, name)
        starts = self._buffer(f"starts {name}", len(lengths) + 1, np.int64)
        starts[0] = 0
        np.cumsum(lengths, out=starts[1:])
        return starts

    def _widened(self, number: int, name: str, dtype: Any) -> NDArray[Any]:
        """Read a column into a buffer of a wider type."""
        small = self._column(number, name)
        wide = self._buffer(f"wide {name}", len(small), dtype)
        np.copyto(wide, small)
        return wide

    def _buffer(self, name: str, length: int, dtype: Any) -> NDArray[Any]:
        """Return a buffer, reused for every part: fresh memory costs more than the reading."""
        size = length * np.dtype(dtype).itemsize
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            buffer = self._buffers[name] = np.empty(max(size + size // 8, 8), dtype=np.uint8)
        return buffer[:size].view(dtype)


def _file(number: int, name: str) -> str:
    return f"{number:05}.{name}"


def _smallest(column: NDArray[Any]) -> NDArray[Any]:
    largest = int(column.max(initial=0))
    return column.astype(np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.int32)
