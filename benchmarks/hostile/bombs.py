"""Small files that would take much memory or time: refused, or read within their bounds."""

# ruff: noqa: E501
from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from pathlib import Path

from benchmarks.hostile.base import RIGHT, Ending, attempt
from benchmarks.mangle import zstd

__all__ = ["case"]

_HEAD = b"annotator,left,right,winner\n"


def case(rng: random.Random, folder: Path) -> Ending:
    """Write a file that is larger than it looks, and read it."""
    import jamrank as jr

    name, data = rng.choice(BOMBS)(rng)
    path = folder / name
    path.write_bytes(data)
    _, ended = attempt(lambda: jr.load(path) if name.endswith(".jamrank") else jr.read_comparisons(path))
    return ended or (RIGHT, name)


def _gzip(rng: random.Random) -> tuple[str, bytes]:
    return "votes.csv.gz", gzip.compress(_HEAD + rng.choice([b" ", b"k,a,b,left\n", b"\n", b'"']) * 200_000_000)[:]


def _small_gzip(rng: random.Random) -> tuple[str, bytes]:
    return "votes.csv.gz", gzip.compress(
        _HEAD + rng.choice([b" ", b"k,a,b,left\n", b"\0"]) * rng.randrange(1, 3_000_000), 1
    )


def _members(rng: random.Random) -> tuple[str, bytes]:
    return "votes.csv.gz", gzip.compress(_HEAD) + gzip.compress(b"k,a,b,left\n" * 1000) * rng.randrange(1, 2000)


def _nested(rng: random.Random) -> tuple[str, bytes]:
    data = _HEAD + b"k,a,b,left\n" * 100_000
    for _ in range(rng.randrange(1, 4)):
        data = gzip.compress(data) if rng.random() < 0.5 else zstd(data)
    return "votes.csv.gz", data


def _zstd(rng: random.Random) -> tuple[str, bytes]:
    return "votes.csv.zst", zstd(_HEAD + rng.choice([b"\0", b" ", b"k,a,b,left\n"]) * rng.randrange(1, 5_000_000))


def _zip(rng: random.Random) -> tuple[str, bytes]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", rng.choice([b" ", b"[", b"0"]) * rng.randrange(1, 50_000_000))
    return "model.jamrank", content.getvalue()


def _huge_array(rng: random.Random) -> tuple[str, bytes]:
    shape = rng.choice([[10**9], [10**18], [2**62, 4], [-1], [10**5, 10**5], [0, 10**18]])
    array = {"npy": "a.npy", "dtype": rng.choice(["<f8", "O", "<U1000000", "V9999999"]), "shape": shape}
    header = {"format": "jamrank-model", "version": 2, "body": {"a": array}}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("a.npy", b"x" * rng.randrange(100))
    return "model.jamrank", content.getvalue()


def _deep(rng: random.Random) -> tuple[str, bytes]:
    depth = rng.randrange(1000, 300_000)
    return "votes.json", rng.choice(
        [b"[" * depth, b'{"a":' * depth, b"[" * depth + b"]" * depth, b'[{"a":' + b"[" * depth]
    )


def _keys(rng: random.Random) -> tuple[str, bytes]:
    count = rng.randrange(1000, 30_000)
    record = {"annotator": "k", "left": "a", "right": "b", "winner": "left", **{f"c{k}": k for k in range(count)}}
    return "votes.json", json.dumps([record]).encode()


def _own_keys(rng: random.Random) -> tuple[str, bytes]:
    count = rng.randrange(100, 3000)
    vote = {"annotator": "k", "left": "a", "right": "b", "winner": "left"}
    return "votes.json", json.dumps([{**vote, f"c{k}": k} for k in range(count)]).encode()


def _columns(rng: random.Random) -> tuple[str, bytes]:
    more = [f"c{k}" for k in range(rng.randrange(1000, 30_000))]
    head = ",".join(["annotator", "left", "right", "winner", *more])
    return "votes.csv", f"{head}\nk,a,b,left{',1' * len(more)}\n".encode()


def _cells(rng: random.Random) -> tuple[str, bytes]:
    return "votes.csv", b",".join([b"annotator", b"left", b"right", b"winner"]) + b"\n" + b"," * rng.randrange(10**6)


def _long_id(rng: random.Random) -> tuple[str, bytes]:
    long = "x" * rng.randrange(10**5, 3 * 10**6)
    return (
        "votes.csv",
        f"annotator,left,right,winner\nk,{long},b,left\n{long},a,b,{rng.choice(['left', long])}\n".encode(),
    )


def _raters(rng: random.Random) -> tuple[str, bytes]:
    """Many ratings of one set: pairs grow with the square."""
    count = rng.randrange(100, 1500)
    rows = "".join(f"k,i{k},{rng.randrange(5)}\n" for k in range(count))
    return "ratings.csv", f"annotator,item,rating\n{rows}".encode()


def _digits(rng: random.Random) -> tuple[str, bytes]:
    number = "9" * rng.randrange(5000, 200_000)
    vote = f'"annotator":"k","left":{number},"right":"b","winner":"left"'
    return "votes.json", f'[{{{vote},"weight":{rng.choice(["1", number])}}}]'.encode()


BOMBS = [
    _small_gzip, _members, _nested, _zstd, _zip, _huge_array, _deep, _keys, _own_keys, _columns, _cells, _long_id, _raters, _digits,
]  # fmt: skip
