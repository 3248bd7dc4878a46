"""Parquet files: damaged bytes, odd columns, other types in other files; in memory, from disk and by group."""

# ruff: noqa: E501
from __future__ import annotations

import datetime as dt
import io
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.hostile.base import RIGHT, WRONG, Ending, attempt
from benchmarks.hostile.ids import counted, oriented

__all__ = ["case"]

ROLES = ["annotator", "left", "right", "winner"]


def case(rng: random.Random, folder: Path) -> Ending:
    """Write votes as Parquet, damage them in one way, and read them in one way."""
    place = folder / "parquet"
    place.mkdir()
    try:
        if rng.random() < 0.6:
            return _bytes(rng, place)
        return _columns(rng, place)
    finally:
        shutil.rmtree(place)


def _votes(rng: random.Random) -> pl.DataFrame:
    items, rows = [f"item{k}" for k in range(4)], []
    for _ in range(rng.randrange(3, 40)):
        left, right = rng.sample(items, 2)
        rows.append(
            (f"w{rng.randrange(3)}", left, right, rng.choice(["left", "right", "tie"]), rng.choice(["x", "y"]))
        )
    return pl.DataFrame(rows, schema=[*ROLES, "group"], orient="row")


def _written(frame: pl.DataFrame, rng: random.Random) -> bytes:
    content = io.BytesIO()
    if rng.random() < 0.5:
        frame.write_parquet(
            content,
            compression=rng.choice(["uncompressed", "snappy", "zstd", "gzip", "lz4"]),
            row_group_size=rng.choice([None, 5]),
            statistics=rng.random() < 0.5,
        )
    else:
        table = pa.table({name: frame[name].to_list() for name in frame.columns})
        pq.write_table(
            table,
            content,
            compression=rng.choice(["none", "snappy", "zstd", "gzip"]),
            use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(["1.0", "2.0"]),
            row_group_size=rng.choice([100, 7]),
        )
    return content.getvalue()


def _damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice([1, 1, 2, 8])):
        if not data:
            break
        at, how = rng.randrange(len(data)), rng.randrange(6)
        if how < 3:
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        elif how == 3:
            size = rng.randrange(1, 20)
            data = data[:at] + rng.choice([b"\0", b"\xff"]) * size + data[at + size :]
        elif how == 4:
            data = data[:at] + data[at + rng.randrange(1, 9) :]
        else:
            data = data[: max(at, 4)]
    return data or b"PAR1"


def _bytes(rng: random.Random, folder: Path) -> Ending:
    frame = _votes(rng)
    path = folder / "votes.parquet"
    data = _damaged(_written(frame, rng), rng)
    path.write_bytes(data)
    way = rng.choice(["file", "folder", "disk", "group"])
    votes, ended = attempt(lambda: _read(way, path))
    if ended is not None:
        return ended[0], f"{way}: {ended[1]}"
    found = counted(votes)
    # Parquet has no checksums of its own here: what a second reader finds counts, or what was written.
    if found in (_known(frame), _second_reading(data), _second_reading(data, ROLES)):
        return RIGHT, way
    return WRONG, f"{way}: {dict(found)}"


def _read(way: str, path: Path) -> Any:
    import jamrank as jr

    if way == "file":
        return jr.read_comparisons(path)
    if way == "folder":
        return jr.read_comparisons(path.parent)
    if way == "group":
        return jr.read_groups(path, "group")[0]
    return jr.store_comparisons(path, path.parent / "scratch")


def _known(frame: pl.DataFrame) -> Counter[tuple[str, str, str, str]]:
    return Counter(
        oriented(str(left), str(right), str(who), str(said)) for who, left, right, said in frame.select(ROLES).iter_rows()
    )  # fmt: skip


def _second_reading(data: bytes, columns: list[str] | None = None) -> Counter[tuple[str, str, str, str]] | None:
    try:
        # Arrow's own copy of the schema, in which other readers have no interest, may be damaged too.
        plain = data.replace(b"ARROW:schema", b"-----:schema")
        records = [
            {name.lower(): value for name, value in record.items()}
            for record in pq.read_table(io.BytesIO(plain), columns=columns).to_pylist()
        ]
        return Counter(
            oriented(r["left"], r["right"], r.get("annotator", "unnamed"), r["winner"].lower())
            for r in records
            if r["winner"]
        )
    except Exception:  # whatever it is, the second reader does not understand the file
        return None


_ODD: dict[str, Any] = {
    "list": pl.Series([[1]], dtype=pl.List(pl.Int64)), "struct": pl.Series([{"a": 1}]), "binary": pl.Series([b"\xff"]),
    "duration": pl.Series([dt.timedelta(1)]), "date": pl.Series([dt.date(2020, 1, 1)]), "time": pl.Series([dt.time(1)]),
    "timestamp": pl.Series([dt.datetime(2020, 1, 1, 1, 1, 1, 5)]), "null": pl.Series([None], dtype=pl.Null), "bool": pl.Series([True]),
    "int": pl.Series([1]), "uint64": pl.Series([2**64 - 1], dtype=pl.UInt64), "float": pl.Series([1.5]), "nan": pl.Series([float("nan")]),
    "int128": pl.Series([10**30], dtype=pl.Int128), "decimal": pl.Series(["1.5"]).cast(pl.Decimal(10, 2)), "text": pl.Series(["item1"]),
    "empty": pl.Series([""]), "categorical": pl.Series(["item1"], dtype=pl.Categorical), "array": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
    "float32": pl.Series([1.5], dtype=pl.Float32), "missing": pl.Series([None], dtype=pl.String), "zone": pl.Series([dt.datetime(2020, 1, 1)], dtype=pl.Datetime("ns", "UTC")),
}  # fmt: skip


def _columns(rng: random.Random, folder: Path) -> Ending:
    """Give a column another type, in all files or in one of two."""
    frame = _votes(rng)
    name, odd = rng.choice([*ROLES, "weight", "question", "group"]), rng.choice(list(_ODD))
    values = _ODD[odd].new_from_index(0, frame.height).alias(name)
    way = rng.choice(["file", "folder", "disk", "group", "by"])
    changed = frame.with_columns(values)
    try:
        changed.write_parquet(folder / "votes.parquet")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return RIGHT, "Parquet cannot hold it"
    if way in ("folder", "disk") and rng.random() < 0.5:
        frame.write_parquet(folder / "more.parquet")
    votes, ended = attempt(lambda: _by(folder, name) if way == "by" else _read(way, folder / "votes.parquet"))
    if ended is not None:
        return ended[0], f"{way}, {name} as {odd}: {ended[1]}"
    if name == "group" and way not in ("by", "disk", "folder") and counted(votes) != _known(frame):
        return WRONG, f"{way}, {name} as {odd}: other votes"
    return RIGHT, f"{way}, {name} as {odd}"


def _by(folder: Path, name: str) -> Any:
    import jamrank as jr

    return jr.read_groups(folder / "votes.parquet", name)[0]
