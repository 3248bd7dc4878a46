"""Tasks of cluster workers on Parquet files: find them, read ids, encode, sort and count votes.

Every task depends only on its arguments, so that lost results can be recomputed by another worker.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.data.ids import Column, as_column, codes_in, distinct, encode
from jamrank.data.packing import Packing, sorted_keys
from jamrank.data.parsing import (
    fill_questions,
    parse_weights,
    parse_winners,
    refuse_empty,
    refuse_missing,
    refuse_self_pairs,
)
from jamrank.data.storage import MISSING
from jamrank.errors import InputError
from jamrank.kernels import kernels
from jamrank.typing import FloatArray, IntArray

# Sorted, distinct votes as integers, and their weights (empty: all 1).
Keys = tuple[IntArray, FloatArray]

_SUFFIXES = (".parquet", ".pq")
# Rows that are read at once.
_SLICE_ROWS = 1 << 20


@dataclass(frozen=True)
class FileChunk:
    """Some row groups of a Parquet file, and the number of rows before them."""

    file: str
    groups: tuple[int, ...]
    before: int
    rows: int


@dataclass(frozen=True)
class FoundIds:
    """The distinct ids of some rows, a sample of their pairs, and other results of the first pass."""

    items: list[Column]
    annotators: list[Column]
    questions: list[Column]
    sample: list[tuple[Column, Column]]
    gaps: bool
    n_missing: int


def packing_of(found: FoundIds, asked: bool) -> Packing:
    """Return how votes with these ids are packed."""
    questions = np.array([""], dtype=object)
    if asked:
        columns = found.questions
        if found.gaps:
            columns = [fill_questions(column, gaps=True) for column in columns]
            columns.append(pl.Series([""], dtype=pl.String))
        questions = encode(*columns)[0]
    packing = Packing(encode(*found.items)[0], encode(*found.annotators)[0], questions)
    refuse_too_many(packing)
    return packing


def refuse_too_many(packing: Packing) -> None:
    """Raise if there are so many ids that a vote does not fit into 64 bits."""
    if not packing.possible:
        ids = {"items": packing.items, "annotators": packing.annotators, "questions": packing.questions}
        found = ", ".join(f"{len(labels):,} {name}" for name, labels in ids.items())
        raise InputError(f"more ids than fits on a cluster can take ({found})", "fit a part of the votes")


def find_files(path: str) -> list[str]:
    """Return the Parquet files of a folder, sorted by name, or the single file of a path."""
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


def describe_file(file: str) -> tuple[dict[str, str], list[int]]:
    """Return the columns of a file and the number of rows of its row groups."""
    with _opened(file) as table:
        columns = {field.name: str(field.type) for field in table.schema_arrow}
        return columns, [table.metadata.row_group(number).num_rows for number in range(table.num_row_groups)]


def cut_file(file: str, rows: list[int]) -> Iterator[FileChunk]:
    """Yield chunks of a file, each of about the same number of rows."""
    groups: list[int] = []
    before = taken = 0
    for number, own in enumerate(rows):
        groups.append(number)
        taken += own
        if taken >= _SLICE_ROWS or number == len(rows) - 1:
            if taken:
                yield FileChunk(file, tuple(groups), before, taken)
            before, taken, groups = before + taken, 0, []


@contextlib.contextmanager
def _read(chunk: FileChunk, names: list[str]) -> Iterator[pl.DataFrame]:
    """Read columns of some rows; errors name the row within the file."""
    with _opened(chunk.file) as table:
        frame = pl.DataFrame(
            pl.from_arrow(table.read_row_groups(list(chunk.groups), columns=names, use_threads=False))
        )
    try:
        yield frame
    except InputError as error:
        row = None if error.row is None else error.row + chunk.before
        raise InputError(error.problem, error.remedy, source=chunk.file, row=row) from None


def ids_of(chunk: FileChunk, names: list[str], every: int) -> FoundIds:
    """Read the ids of some rows, and check that the other columns can be read."""
    with _read(chunk, names) as frame:
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
        return merge_found(
            FoundIds(
                [distinct(column["left"]), distinct(column["right"])],
                [distinct(column["annotator"])],
                questions,
                [(next(sides), next(sides))],
                gaps,
                n_missing,
            )
        )


def merge_found(*found: FoundIds) -> FoundIds:
    """Merge what was found in several chunks."""

    def together(name: str) -> list[Column]:
        columns = [column for own in found for column in getattr(own, name)]
        return [as_column(encode(*columns)[0])] if columns else []

    return FoundIds(
        together("items"),
        together("annotators"),
        together("questions"),
        [sample for own in found for sample in own.sample],
        any(own.gaps for own in found),
        sum(own.n_missing for own in found),
    )


def keys_of(chunk: FileChunk, shared: tuple[Packing, bool, bool, bool]) -> Keys:
    """Read some votes and encode them; return them sorted, none folded."""
    packing, gaps, weighted, asked = shared
    optional = [name for name, there in (("question", asked), ("weight", weighted)) if there]
    with _read(chunk, ["annotator", "left", "right", "winner", *optional]) as frame:
        left, right = (codes_in(packing.items, as_column(frame[side])) for side in ("left", "right"))
        refuse_self_pairs(packing.items, left, right)
        who = codes_in(packing.annotators, as_column(frame["annotator"]))
        questions = fill_questions(as_column(frame["question"]), gaps) if asked else None
        question = None if questions is None else codes_in(packing.questions, questions)
        keys = packing.pack(left, right, who, question, parse_winners(as_column(frame["winner"])))
        if weighted:
            order = np.argsort(keys, kind="stable")
            return keys[order], parse_weights(frame["weight"])[order]
        kernels.sort_keys(keys, np.empty(len(keys), dtype=np.int64), int(keys.max(initial=0)).bit_length(), 1)
        return keys, np.empty(0)


def keys_between(keys: Keys, low: int, high: int | None) -> Keys:
    """Return a range of sorted keys with their weights: from ``low`` up to below ``high``."""
    key, weight = keys
    begin, end = (len(key) if edge is None else int(np.searchsorted(key, edge)) for edge in (low, high))
    return key[begin:end].copy(), weight[begin:end].copy()


def sort_keys(*keys: Keys) -> Keys:
    """Sort votes and fold equal ones."""
    key, weight = (np.concatenate(columns) for columns in zip(*keys, strict=True))
    return sorted_keys(key, weight if len(weight) else None)


def count_part(keys: Keys, shared: tuple[Packing]) -> tuple[FloatArray, FloatArray, float, IntArray]:
    """Return the weight of each annotator's votes and of their decided votes, that of all ties, and the pairs."""
    key, weight = keys
    own = Comparisons.unpack(shared[0], key, weight, len(key), 1)
    return own.annotator_weight, own.annotator_decided, own.n_ties, np.array([own.n_pairs])


def concatenate_counts(*counts: tuple[FloatArray, FloatArray, float, IntArray]) -> Any:
    """Add up the counts of parts; pairs are listed by part."""
    votes, decided, n_ties, n_pairs = zip(*counts, strict=True)
    return sum(votes), sum(decided), sum(n_ties), np.concatenate(n_pairs)
