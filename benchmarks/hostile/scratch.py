"""Damaged scratch files of the disk engine: made again or refused, never other votes or scores."""

from __future__ import annotations

import atexit
import functools
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.hostile.base import RIGHT, WRONG, Ending, attempt
from benchmarks.hostile.ids import counted

__all__ = ["case"]


@functools.cache
def _kept() -> tuple[Path, Path, Any, list[float]]:
    """Return votes as Parquet, a kept scratch folder of a fit of them, the votes in it and the scores."""
    import jamrank as jr

    home = Path(tempfile.mkdtemp(prefix="jamrank-fuzz-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    votes = jr.simulate(6, 4, 120, random_state=1).votes.to_frame()
    pl.DataFrame(votes).write_parquet(home / "votes.parquet")
    stored = jr.store_comparisons(home / "votes.parquet", home / "scratch")
    known, scores = counted(stored), _scores(stored)
    stored.lock.close()
    shutil.copytree(home / "scratch", home / "kept")
    return home / "votes.parquet", home / "kept", known, scores


def _scores(stored: Any) -> list[float]:
    import jamrank as jr

    return [float(score) for score in jr.BradleyTerry(max_iter=3).fit(stored).scores_]


def case(rng: random.Random, folder: Path) -> Ending:
    """Damage files of a kept scratch folder and fit from it."""
    import jamrank as jr

    votes, kept, known, scores = _kept()
    place = votes.parent / "scratch"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kept, place)
    told = [_damage(rng, place) for _ in range(rng.choice([1, 1, 1, 3]))]

    def run() -> tuple[Any, Any]:
        stored = jr.store_comparisons(votes, place)
        try:
            return counted(stored), _scores(stored)
        finally:
            if stored.lock is not None:
                stored.lock.close()

    found, ended = attempt(run)
    if ended is not None:
        return ended[0], f"{told}: {ended[1]}"
    return (RIGHT, "") if found == (known, scores) else (WRONG, f"{told}: {found} and not {known, scores}")


def _damage(rng: random.Random, place: Path) -> str:
    files = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        return "nothing left"
    path, how = rng.choice(files), rng.randrange(8)
    data = path.read_bytes()
    if how < 3 and data:
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    elif how == 3:
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif how == 4:
        path.unlink()
    elif how == 5:
        path.write_bytes(data + rng.randbytes(8))
    elif how == 6:
        path.write_bytes(rng.choice(files).read_bytes())
    else:
        path.unlink()
        path.symlink_to(rng.choice(["/etc/passwd", "/nowhere", str(rng.choice(files))]))
    return f"{path.name} {how}"
