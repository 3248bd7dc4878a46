"""Damaged files of every format, held against a second reader that shares no code with jamrank."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

from benchmarks import naive
from benchmarks.hostile.base import REFUSED, RIGHT, STRICT, WRONG, Ending
from benchmarks.mangle import mangled
from benchmarks.samples import SAMPLES, Sample
from jamrank.errors import JamrankError

__all__ = ["case", "judge", "same", "seen", "try_sample"]


def case(rng: random.Random, folder: Path) -> Ending:
    """Damage a sample of any format and read it."""
    return try_sample(rng.choice(list(SAMPLES)), rng, folder)


def try_sample(name: str, rng: random.Random, folder: Path) -> Ending:
    """Damage a sample and read it."""
    data, called, harmless = mangled(SAMPLES[name], rng)
    end, how = judge(SAMPLES[name], data, folder / called, harmless)
    (folder / called).unlink(missing_ok=True)
    return end, f"{name}: {how}"


def judge(sample: Sample, data: bytes, path: Path, harmless: bool) -> tuple[str, str]:
    """Return what became of a file: right, refused or wrong, and how."""
    import jamrank as jr

    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            votes = jr.read_comparisons(path)
    except JamrankError as error:
        line = str(error)
        if "\n" in line or not line.strip() or len(line) > 2000:
            return WRONG, f"not one line: {line!r}"
        if harmless:
            return WRONG, f"refused without need: {line}"
        return (STRICT if _second_reading(sample.format, data, path.name) is not None else REFUSED), line
    except BaseException as error:
        return WRONG, f"{type(error).__name__}: {error}"
    if harmless and votes.readings[0].format != sample.format:
        return WRONG, f"taken for {votes.readings[0].format}"
    found = seen(votes)
    loosely = "capitals in the column names were ignored" in str(votes.readings[0])
    known = _second_reading(votes.readings[0].format, data, path.name, loosely)
    if known is None and data.startswith(b"PAR1"):
        # pyarrow also refuses files for what it alone writes into them; then nothing may have changed.
        known = {(*vote[:4], vote[5]): float(vote[4]) for vote in sample.votes}, sample.missing
    if known is None:
        return WRONG, f"read as {votes.readings[0]}, though the second reader refuses it: {found}"
    if not same(found, known):
        return WRONG, f"read as {votes.readings[0]}: {found} and not {known}"
    return RIGHT, ""


def seen(votes: Any) -> naive.Found:
    """Return votes as the second reader does."""
    found: dict[tuple[str, str, str, str, str], float] = {}
    for row in votes.to_frame().to_dicts():
        who, left, right, said = (str(row[name]) for name in ("annotator", "left", "right", "winner"))
        if not votes.readings[0].sides and left > right:
            left, right, said = right, left, {"left": "right", "right": "left"}.get(said, said)
        question = str(row["question"]) if "question" in row else str(votes.questions[0])
        p = row.get("p_left")
        for word, share in [(said, 1.0)] if p is None else [("left", p), ("right", 1 - p)]:
            vote = (who, left, right, word, question)
            found[vote] = found.get(vote, 0.0) + share * row["weight"]
    return found, votes.n_missing


def same(one: naive.Found, other: naive.Found) -> bool:
    close = all(abs(one[0].get(vote, -1.0) - weight) <= 1e-9 * max(1.0, weight) for vote, weight in other[0].items())
    return close and len(one[0]) == len(other[0]) and one[1] == other[1]


def _second_reading(format: str, data: bytes, name: str, loosely: bool = False) -> naive.Found | None:
    try:
        records = naive.parse(data, name)
        if loosely:
            records = [{key.strip().lower(): value for key, value in record.items()} for record in records]
        return naive.read(format, records)
    except Exception:  # whatever it is, the second reader does not understand the file
        return None
