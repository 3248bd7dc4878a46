"""Large files of votes in jamrank's own form, coded part by part: the text of a part is dropped before the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.folding import EncodedVotes, fold
from jamrank.data.ids import as_objects
from jamrank.data.parsing import REQUIRED, WINNERS
from jamrank.data.storage import MISSING
from jamrank.io.canonical import integers
from jamrank.io.tables import is_text, plain_header
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import copied, extremes
from jamrank.typing import Int32Array

_PART = 1 << 24
# Annotators; items on the left and on the right; winners.
_KINDS = {"annotator": 0, "left": 1, "right": 1, "winner": 2}
_NEWLINE, _QUOTE = b"\n", ord('"')


def read_coded(path: str | os.PathLike[str]) -> Comparisons | None:
    """Return the votes of a CSV with the four columns of jamrank's own form and nothing odd in it.

    Returns: The votes; None where anything is wrong or in doubt, which :func:`jamrank.io.reader.read_comparisons`
        then finds with all of the table before it.
    """
    try:
        with Path(path).open("rb") as file:
            if not file.seekable():
                return None
            head = file.readline(_PART)
            found = plain_header(head, str(path))
            if found is None or sorted(found[0]) != sorted(REQUIRED):
                return None
            header, delimiter = found
            codes = kernels.FieldCodes(ord(delimiter), [_KINDS[name] for name in header])
            columns: dict[str, list[NDArray[Any]]] = {name: [] for name in header}
            for part in _parts(file):
                if not is_text(part) or not _add(codes, part, columns):
                    return None
    except OSError:
        return None
    return _votes(codes, columns) if columns["left"] else None


def _parts(file: Any) -> Iterator[bytes]:
    """Yield the rest of a file in parts of whole lines; a part without an end is the last."""
    rest = b""
    while more := file.read(_PART):
        data = rest + more
        end = _end_of_lines(data)
        rest = data[end:]
        if end:
            yield data[:end]
        elif len(rest) > 4 * _PART:
            break
    if rest:
        yield rest + _NEWLINE


def _end_of_lines(data: bytes) -> int:
    """Return where the last line ends that ends outside quotes."""
    end = data.rfind(_NEWLINE) + 1
    while end and b'"' in data and np.count_nonzero(np.frombuffer(data, np.uint8, end) == _QUOTE) % 2:
        end = data.rfind(_NEWLINE, 0, end - 1) + 1
    return end


def _add(codes: Any, part: bytes, columns: dict[str, list[NDArray[Any]]]) -> bool:
    """Code the lines of a part; False where these are not regular, or an id is missing."""
    threads = default_threads()
    n_lines = codes.scan(np.frombuffer(part, np.uint8), threads)
    if n_lines < 0:
        return False
    for place, (name, parts) in enumerate(columns.items()):
        own = np.empty(n_lines, dtype=np.int32)
        codes.column(place, own, threads)
        low, high = extremes(own)
        if (high >= len(WINNERS)) if name == "winner" else (low < 0):
            return False
        parts.append(copied(own, np.int8) if name == "winner" else own)
    return True


def _votes(codes: Any, columns: dict[str, list[NDArray[Any]]]) -> Comparisons | None:
    said = codes.words(_KINDS["winner"])
    if not set(said) <= set(WINNERS):
        return None
    # The last one stands for an empty field, whose code is -1.
    meaning = np.array([*(WINNERS[word] for word in said), MISSING], np.int8)
    results = np.concatenate([meaning[part] for part in columns.pop("winner")])
    annotators, (who,) = _ranked(codes, columns, "annotator")
    items, (left, right) = _ranked(codes, columns, "left", "right")
    if kernels.any_equal(left, right, default_threads()):
        return None
    votes = EncodedVotes(items, annotators, np.array([""], dtype=object), left, right, who, None, results, None)
    return Comparisons(votes.items, votes.annotators, votes.questions, *fold(votes))


def _ranked(codes: Any, columns: dict[str, list[NDArray[Any]]], *names: str) -> tuple[NDArray[Any], list[Int32Array]]:
    """Return the distinct ids of some columns, sorted, and the place of each vote's id among them."""
    words = pl.Series(codes.words(_KINDS[names[0]]), dtype=pl.String)
    whole = integers(words)
    known = words if whole is None else whole
    order = known.arg_sort().to_numpy()
    labels = as_objects(known.gather(order)) if whole is None else whole.to_numpy()[order]
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return labels, [_joined(columns.pop(name), rank) for name in names]


def _joined(parts: list[NDArray[Any]], rank: Int32Array) -> Int32Array:
    """Return the ranks of codes that came in parts, which are dropped on the way."""
    found, begin = np.empty(sum(map(len, parts)), dtype=np.int32), 0
    for part in _taken(parts):
        kernels.code_ids(part, 0, rank, found[begin : begin + len(part)], default_threads())
        begin += len(part)
    return found


def _taken(parts: list[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    parts.reverse()
    while parts:
        yield parts.pop()
