"""The same votes under other names and in another order: the same answer."""

# ruff: noqa: E501
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hostile.base import RIGHT, WRONG, Ending, attempt

__all__ = ["case"]

# Draws take a second; most cases compare what needs none.
_QUICK = ["WinRate", "Borda", "Copeland", "BradleyTerry", "RankCentrality", "HodgeRank", "MajorityVote", "AmElo", "CrowdBT", "JAM", "DawidSkene", "MixedBT"]  # fmt: skip
_DRAWN = ["CrowdBT", "JAM"]
_SAME = 1e-6


def case(rng: random.Random, folder: Path) -> Ending:
    """Fit votes twice, with other names and another order the second time."""
    import jamrank as jr

    n_items, n_people, rows = rng.randrange(2, 7), rng.randrange(1, 5), rng.randrange(1, 40)
    votes = []
    for _ in range(rows):
        left, right = rng.sample(range(n_items), 2)
        truth = 1.0 if left < right else 0.0
        votes.append((left, right, rng.randrange(n_people), rng.choice([truth, truth, truth, 1 - truth, 0.5]), rng.choice([1.0, 1.0, 2.5])))  # fmt: skip
    items, people = _names(rng, n_items, "item"), _names(rng, n_people, "who")
    drawn = rng.random() < 0.01
    name = rng.choice(_DRAWN if drawn else _QUICK)

    def fitted(item_names: list[str], who: list[str], order: list[int]) -> dict[str, Any]:
        chosen = [votes[k] for k in order]
        columns = zip(*((item_names[v[0]], item_names[v[1]], who[v[2]], v[3], v[4]) for v in chosen), strict=True)
        model = getattr(jr, name)().fit(jr.Comparisons.from_arrays(*map(list, columns)))
        if drawn:
            ranking = model.ranking_
            return {str(r["item"]): (r["score"], r["score_se"]) for r in ranking.to_dicts()}
        return dict(zip(map(str, model.result_.votes.items.tolist()), model.scores_.tolist(), strict=True))

    plain = [f"i{k}" for k in range(n_items)]
    one, ended = attempt(lambda: fitted(plain, [f"w{k}" for k in range(n_people)], list(range(rows))))
    if ended is not None:
        return ended[0], f"{name}: {ended[1]}"
    other, ended = attempt(lambda: fitted(items, people, rng.sample(range(rows), rows)))
    if ended is not None:
        return WRONG, f"{name}, renamed: {ended[1]}"
    for k in range(n_items):
        if plain[k] in one and not np.allclose(
            one[plain[k]], other[items[k]], rtol=_SAME, atol=_SAME, equal_nan=True
        ):
            return WRONG, f"{name}: {one} and {other} of {votes}"
    return RIGHT, name


def _names(rng: random.Random, count: int, stem: str) -> list[str]:
    kind = rng.randrange(3)
    if kind == 0:
        return [f"{stem}{number}" for number in rng.sample(range(1000), count)]
    if kind == 1:
        return [chr(0x4E00 + number) for number in rng.sample(range(5000), count)]
    return [f"{rng.randrange(10**9)}-{k}" for k in range(count)]
