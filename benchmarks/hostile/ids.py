"""Ids of different kinds in different columns: the same ids are the same items, or the votes are refused."""

# ruff: noqa: E501
from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.hostile.base import RIGHT, WRONG, Ending, attempt

__all__ = ["case", "counted"]

_POOLS: list[list[Any]] = [
    [1, 2, 3, 10, 7], [0, -1, 5, 100], [2**53, 2**53 + 1, 2**53 + 2], [2**62, 2**63 - 1, 3], ["07", "7", "x"], ["1.0", "1", "b"],
    ["a", "A", "a "], ["é", "e\u0301", "z"], ["1", "01", " 1"], ["True", "1", "t"], ["1e5", "100000", "q"], ["-0", "0", "r"], ["nan", "NA", "k"],
]  # fmt: skip
_ROLES = ("left", "right", "annotator")


def case(rng: random.Random, folder: Path) -> Ending:
    """Write the same votes with ids of drawn kinds, and read them."""
    items, people = rng.choice(_POOLS), rng.choice(_POOLS)
    rows = []
    for _ in range(rng.randrange(2, 9)):
        left, right = rng.sample(items, 2)
        rows.append((left, right, rng.choice(people), rng.choice(["left", "right", "tie"])))
    columns = {role: [row[k] for row in rows] for k, role in enumerate(_ROLES)}
    kinds = {role: rng.choice(list(KINDS)) for role in _ROLES}
    carrier = rng.choice(list(CARRIERS))
    written = {role: KINDS[kinds[role]](values) for role, values in columns.items()}
    if any(values is None for values in written.values()):
        return RIGHT, "no such kind of these ids"
    winner = [row[3] for row in rows]
    votes, ended = attempt(lambda: CARRIERS[carrier](written, winner, folder))
    told = f"{carrier}, {kinds}, {items}"
    if ended is not None:
        return ended[0], f"{told}: {ended[1]}"
    known = Counter(oriented(str(row[0]), str(row[1]), str(row[2]), row[3]) for row in rows)
    found = counted(votes)
    return (RIGHT, told) if found == known else (WRONG, f"{told}: {dict(found)} and not {dict(known)}")


def oriented(left: str, right: str, who: str, winner: str) -> tuple[str, str, str, str]:
    """Return a vote with the smaller id first."""
    if left > right:
        left, right, winner = right, left, {"left": "right", "right": "left"}.get(winner, winner)
    return left, right, who, winner


def counted(votes: Any) -> Counter[tuple[str, str, str, str]]:
    """Return how often each vote occurs, with ids as text."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    parts = [votes.part(k) for k in range(len(votes.part_pairs))] if hasattr(votes, "part_pairs") else [votes]
    for part in parts:
        frame = part.to_frame()
        for row in frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_dict("records"):
            vote = oriented(_text(row["left"]), _text(row["right"]), _text(row["annotator"]), row["winner"])
            found[vote] += row["weight"]
    return found


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _whole(values: list[Any], dtype: Any) -> Any:
    if not all(isinstance(value, int) for value in values):
        return None
    try:
        return np.array(values, dtype=dtype)
    except OverflowError:
        return None


def _float(values: list[Any]) -> Any:
    return np.array(values, np.float64) if all(isinstance(v, int) and abs(v) < 2**53 for v in values) else None


def _mixed(values: list[Any]) -> Any:
    return np.array([value if k % 2 else str(value) for k, value in enumerate(values)], dtype=object)


KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "as they are": lambda values: _whole(values, np.int64) if isinstance(values[0], int) else list(values),
    "text": lambda values: [str(value) for value in values],
    "int8": lambda values: _whole(values, np.int8) if all(isinstance(v, int) and -129 < v < 128 for v in values) else None,
    "uint64": lambda values: _whole(values, np.uint64) if all(isinstance(v, int) and v >= 0 for v in values) else None,
    "float": _float,
    "categorical": lambda values: pl.Series([str(value) for value in values], dtype=pl.Categorical),
    "mixed": _mixed,
}  # fmt: skip


def _frame(columns: dict[str, Any], winner: list[str]) -> pl.DataFrame:
    return pl.DataFrame({**{name: _series(values) for name, values in columns.items()}, "winner": winner})


def _series(values: Any) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray) and values.dtype == object:
        return pl.Series(list(values), dtype=pl.Object)
    return pl.Series(values)


def _plain(values: Any) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _stored(columns: dict[str, Any], winner: list[str]) -> pl.DataFrame:
    """Return a table that Parquet can hold: objects as text."""
    frame = _frame(columns, winner)
    mixed = {name: pl.Series(list(map(str, columns[name]))) for name in columns if frame[name].dtype == pl.Object}
    return frame.with_columns(**mixed)


def _read(path: Path, data: bytes) -> Any:
    import jamrank as jr

    path.write_bytes(data)
    return jr.read_comparisons(path)


def _csv(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow([*columns, "winner"])
    whole = [[_text(value) for value in _plain(values)] for values in columns.values()]
    writer.writerows(zip(*whole, winner, strict=True))
    return _read(folder / "votes.csv", text.getvalue().encode())


def _json(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    rows = zip(*map(_plain, columns.values()), winner, strict=True)
    records = [dict(zip([*columns, "winner"], row, strict=True)) for row in rows]
    return _read(folder / "votes.json", json.dumps(records).encode())


def _parquet(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    content = io.BytesIO()
    _stored(columns, winner).write_parquet(content)
    return _read(folder / "votes.parquet", content.getvalue())


def _two_files(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    import jamrank as jr

    frame, half = _stored(columns, winner), len(winner) // 2
    frame[:half].write_parquet(folder / "one.parquet")
    other = pl.String() if frame["left"].dtype.is_integer() else frame["left"].dtype
    frame[half:].with_columns(pl.col("left").cast(other)).write_parquet(folder / "two.parquet")
    return jr.read_comparisons([folder / "one.parquet", folder / "two.parquet"])


def _pandas(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    import pandas as pd

    import jamrank as jr

    whole = {name: values.to_list() if isinstance(values, pl.Series) else values for name, values in columns.items()}
    return jr.Comparisons.from_frame(pd.DataFrame({**whole, "winner": winner}))


def _arrays(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    import jamrank as jr

    said = [{"left": 1.0, "right": 0.0, "tie": 0.5}[word] for word in winner]
    return jr.Comparisons.from_arrays(columns["left"], columns["right"], columns["annotator"], said)


def _polars(columns: dict[str, Any], winner: list[str], folder: Path) -> Any:
    import jamrank as jr

    return jr.Comparisons.from_frame(_frame(columns, winner))


CARRIERS: dict[str, Callable[[dict[str, Any], list[str], Path], Any]] = {
    "CSV": _csv, "JSON": _json, "Parquet": _parquet, "two files": _two_files, "pandas": _pandas, "arrays": _arrays, "polars": _polars,
}  # fmt: skip
