"""The votes of a crowd as rows that are made on a GPU: the host only checks the votes and packs them for the copy."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import VoteTable
from jamrank.engines.gpu_layout import THREADS, GpuLayout, GpuPart, RowForm, free_memory
from jamrank.kernels import kernels
from jamrank.kernels.gpu_device import GpuDevice
from jamrank.rows import ROWS_BY, RUN_PAYS, Rows, few_patterns, few_repeats, single_patterns
from jamrank.typing import Int32Array

# Bytes on the device of a vote and of a pair, curvature and posterior included, while rows are made.
_VOTE_BYTES, _PAIR_BYTES, _CELL_BYTES = 4 + 4 + 8, 4 + 8 + 8 + 4 + 8, 4
# Kinds of up to so many bits leave room, in two bytes and in four, for how often a vote is counted.
_FEW_KIND_BITS, _MOST_KIND_BITS = 12, 24


def rows_on_device(votes: Comparisons, row: str, device: GpuDevice, memory: int | None = None) -> GpuCrowd | None:
    """Return the rows of a crowd, made on the device; None where they have to be made in memory.

    That is so for ties and questions, for weights that do not only mean a few repeated votes, for juries, whose
    patterns are found in memory, and where not everything fits on the device at once.
    """
    table = votes.storage
    if row not in ("pair", "vote") or not isinstance(table, VoteTable) or votes.has_questions or votes.n_ties:
        return None
    n_votes, n_pairs, kind_bits = len(table.result), votes.n_pairs, (2 * votes.n_annotators - 1).bit_length()
    size = _VOTE_BYTES * n_votes + _PAIR_BYTES * n_pairs + _CELL_BYTES * votes.n_items**2 // 2
    fits = size <= (free_memory(device) if memory is None else memory) and n_votes < 1 << 31
    if not fits or not n_pairs or kind_bits > _MOST_KIND_BITS or (row == "pair" and few_patterns(votes)):
        return None
    word, kind = ("Near", np.uint16) if kind_bits <= _FEW_KIND_BITS else ("unsigned", np.uint32)

    def pack(own: slice, words: NDArray[Any]) -> int:
        weight = table.weight[own] if len(table.weight) else table.weight
        packed: int = kernels.pack_kinds(table.annotator[own], table.result[own], weight, kind_bits, words)
        return packed

    words, counts = device.filled(n_votes, kind, pack)
    if min(counts) < 0 or not few_repeats(sum(counts), n_votes):
        return None
    start, lengths, empty = _starts(table, device), device.empty(n_pairs, np.int32), device.empty(1, np.int64)
    device.fill(empty, 0)
    given = -(-n_pairs // THREADS), THREADS, n_pairs, start, words, kind_bits
    device.launch(f"count_votes<{word}>", *given, lengths, empty)
    begin, codes = device.begins(lengths, np.int64), device.empty(sum(counts), np.int32)
    device.launch(f"spell_out<{word}>", *given, begin, codes)
    if device.read(empty)[0]:
        return None
    return GpuCrowd(votes, row, device, begin, codes)


def _starts(table: VoteTable, device: GpuDevice) -> Any:
    """Copy where the votes on each pair begin: as a byte a pair, if that is enough."""

    def find(own: slice, lengths: NDArray[np.uint8]) -> bool:
        found: bool = kernels.run_lengths(table.start[own.start : own.stop + 1], lengths)
        return found

    lengths, short = device.filled(len(table.start) - 1, np.uint8, find)
    return device.begins(lengths, np.int32) if all(short) else device.put(table.start, np.int32)


class GpuCrowd(GpuLayout):
    """Rows of a crowd on a GPU, with repeated votes spelled out: one for each pair, or one for each vote.

    votes, row: What the rows are made of, and how.
    begin, codes: On the device: where the votes on each pair begin, and the kind of each.
    """

    def __init__(self, votes: Comparisons, row: str, device: GpuDevice, begin: Any, codes: Any) -> None:
        self._votes, self._row = votes, row
        in_runs, n_votes = row == "vote", float(len(codes))
        form = RowForm(
            n_items=votes.n_items,
            n_rows=len(codes) if in_runs else votes.n_pairs,
            n_links=votes.n_pairs,
            n_confusion_groups=votes.n_annotators,
            patterns=single_patterns(votes.n_annotators) if in_runs else None,
            single_votes=in_runs,
            distinct=not in_runs,
            in_runs=in_runs,
            each_vote_bends=len(codes) < RUN_PAYS * votes.n_pairs,
            total_weight=n_votes,
            most_weight=n_votes if in_runs else min(float(votes.n_pairs), votes.n_items - 1.0),
        )
        super().__init__(form, votes.pair_first, device)
        part = GpuPart(0, votes.n_pairs, {}, 0, int(votes.pair_first[0]), int(votes.pair_first[-1]) + 1)
        second = device.put(votes.pair_second, np.uint16 if self.narrow else None)
        names = ("begin", "codes") if in_runs else ("vote_start", "vote")
        part.resident = {"second": second, **dict(zip(names, (begin, codes), strict=True))}
        part.resident["curvature"] = self._room_for_curvature(part)
        self.parts = [part]
        self._make_room()
        device.fill(self.sums, 0)
        self._count(codes, 2 * votes.n_annotators)
        self.vote_counts = self.fetch_sums(2 * votes.n_annotators).astype(np.float64).reshape(-1, 2)
        self.pattern_weight = self.vote_counts.ravel()
        # Counted exactly: this need not be done in memory again.
        vars(votes).setdefault("annotator_weight", self.vote_counts.sum(axis=1))

    @cached_property
    def rows(self) -> Rows:
        """The rows in memory, made when they are first asked for."""
        return replace(ROWS_BY[self._row](self._votes, None), least_run=1)

    @property
    def pairs(self) -> tuple[Int32Array, Int32Array]:
        """The pairs of the votes."""
        return self._votes.pair_first, self._votes.pair_second
