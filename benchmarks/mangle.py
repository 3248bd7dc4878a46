"""Files as they should not be: a sample, written and then damaged."""

# ruff: noqa: E501
from __future__ import annotations

import copy
import gzip
import random
from collections.abc import Callable
from typing import Any

from benchmarks.samples import Sample, write_records

__all__ = ["mangled", "zstd"]

Record = dict[str, Any]

JUNK: list[Any] = [
    None, "", " ", "nan", "NaN", "inf", "left", "LEFT", "Right", "right", "Tie", "tie", "draw", "both_bad", "abstain", "?", "0", "1", "2", "-1",
    "0.5", "1.5", 0, 1, 2, -1, 0.5, 1.25, 1e308, 1e-300, float("nan"), 10**30, -(10**18), 9007199254740993, True, False, [], {},
    "ü", "名前", "a\nb", 'say "hi"', "a,b", "'", "\t", "\u2028", "\u0000", "x" * 300, [1, 2], {"a": 1}, "model_a", "model_b", "007", "1e5",
]  # fmt: skip
NAMES = [
    "judge",
    "annotator",
    "worker",
    "winner",
    "label",
    "weight",
    "question",
    "prompt",
    "Topic",
    "left",
    "id",
    "turn",
    "tstamp",
    "extra",
    "",
]


def mangled(sample: Sample, rng: random.Random) -> tuple[bytes, str, bool]:
    """Return the content and the name of a damaged file, and whether the damage leaves its meaning as it was."""
    records = copy.deepcopy(sample.records)
    kind = rng.choice(sample.kinds)
    if rng.random() < 0.25:
        return *_harmless(records, kind, rng), True
    if rng.random() < 0.6:
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            records = rng.choice(RECORD_DAMAGE)(records, rng)
        data, kind = _written(records, kind)
    else:
        data = sample.write(kind)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            data = rng.choice(BYTE_DAMAGE)(data, rng)
    return data, rng.choice([f"votes.{kind}"] * 4 + ["votes", "votes.csv", "votes.json"]), False


def _written(records: list[Record], kind: str) -> tuple[bytes, str]:
    try:
        if kind == "parquet" and str(10**30) in repr(records):
            kind = "jsonl"  # polars would write integers of 128 bits, which pyarrow cannot read
        return write_records(records, kind), kind
    except Exception:  # Parquet and CSV cannot hold everything
        return write_records(records, "jsonl"), "jsonl"


def _harmless(records: list[Record], kind: str, rng: random.Random) -> tuple[bytes, str]:
    """Return a file that says the same in another way."""
    names = list(records[0])
    rng.shuffle(names)
    records = [{name: record.get(name) for name in names} for record in records]
    if rng.random() < 0.5:
        rng.shuffle(records)
    data = write_records(records, kind)
    suffix = f".{kind}"
    if kind != "parquet":
        if kind in ("csv", "tsv", "jsonl") and rng.random() < 0.3:
            data = data.replace(b"\n", b"\r\n") if b'"' not in data or kind == "jsonl" else data
        if rng.random() < 0.3:
            data = b"\xef\xbb\xbf" + data
        if rng.random() < 0.3:
            data = data.rstrip(b"\r\n") if rng.random() < 0.5 else data + b"\n\n"
    if rng.random() < 0.3:
        data, suffix = (gzip.compress(data), suffix + ".gz") if rng.random() < 0.5 else (zstd(data), suffix + ".zst")
    return data, f"votes{suffix}"


def zstd(data: bytes) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue().to_pybytes())


def _leaf(value: Any, rng: random.Random, new: Any) -> Any:
    """Return a value with one thing in it replaced, at any depth."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        if rng.random() < 0.1:
            return {key: inner for key, inner in value.items() if key != name}
        return {**value, name: _leaf(value[name], rng, new)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _leaf(value[at], rng, new), *value[at + 1 :]]
    return new


def _cell(records: list[Record], rng: random.Random) -> list[Record]:
    if not records:
        return records
    at = rng.randrange(len(records))
    records[at] = _leaf(records[at], rng, copy.deepcopy(rng.choice(JUNK)))
    return [record if isinstance(record, dict) else {} for record in records]


def _swap(records: list[Record], rng: random.Random) -> list[Record]:
    names = [name for record in records for name in record]
    if len(names) > 1:
        one, other = rng.sample(names, 2)
        at = rng.randrange(len(records))
        records[at][one], records[at][other] = records[at].get(other), records[at].get(one)
    return records


def _drop_column(records: list[Record], rng: random.Random) -> list[Record]:
    names = [name for record in records for name in record]
    gone = rng.choice(names) if names else None
    return [{name: value for name, value in record.items() if name != gone} for record in records]


def _rename_column(records: list[Record], rng: random.Random) -> list[Record]:
    names = [name for record in records for name in record]
    old = rng.choice(names) if names else None
    new = rng.choice([*NAMES, f"{old} ", str(old).upper(), f"{old}x"])
    return [{new if name == old else name: value for name, value in record.items()} for record in records]


def _add_column(records: list[Record], rng: random.Random) -> list[Record]:
    name = rng.choice(NAMES)
    return [{**record, name: copy.deepcopy(rng.choice(JUNK))} for record in records]


def _rows(records: list[Record], rng: random.Random) -> list[Record]:
    if not records:
        return records
    how = rng.randrange(4)
    if how == 0:
        return []
    if how == 1:
        return records[: rng.randrange(len(records) + 1)]
    if how == 2:
        return [*records, copy.deepcopy(rng.choice(records))]
    return [*records, {}]


RECORD_DAMAGE: list[Callable[[list[Record], random.Random], list[Record]]] = [
    _cell, _cell, _cell, _cell, _swap, _drop_column, _rename_column, _add_column, _rows,
]  # fmt: skip


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    what = rng.choice(
        [b'"', b"'", b",", b"\t", b"\n", b"\r", b"\0", b"\xff", b"{", b"]", b"\\", b";", b"\xef\xbb\xbf", b"1", b" "]
    )
    return data[:at] + what + data[at:]


def _delete(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice([1, 1, 2, 10]) :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _encode(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(["utf-16", "utf-16-le", "utf-32", "utf-7", "cp037"]), "replace")


def _latin(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"a", b"\xe4", rng.choice([1, -1]))


def _random(data: bytes, rng: random.Random) -> bytes:
    return rng.choice(
        [b"", b"\n", b"[]", b"{}", b"[[]]", b"null", b"1", b"PAR1", b"PK\x03\x04", rng.randbytes(100), b"[" * 5000]
    )


def _pack(data: bytes, rng: random.Random) -> bytes:
    packed = gzip.compress(data) if rng.random() < 0.5 else zstd(data)
    return packed if rng.random() < 0.5 else packed[: rng.randrange(1, len(packed))]


def _twice(data: bytes, rng: random.Random) -> bytes:
    return data + data


def _replace(data: bytes, rng: random.Random) -> bytes:
    old, new = rng.choice(
        [
            (b",", b";"),
            (b",", b"\t"),
            (b",", b"|"),
            (b"\n", b"\r"),
            (b'"', b"'"),
            (b"\n", b"\r\n"),
            (b":", b"="),
            (b",", b", "),
        ]
    )
    return data.replace(old, new, rng.choice([1, -1]))


BYTE_DAMAGE: list[Callable[[bytes, random.Random], bytes]] = [
    _flip, _flip, _insert, _insert, _delete, _cut, _encode, _latin, _random, _pack, _twice, _replace,
]  # fmt: skip
