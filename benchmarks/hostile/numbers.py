"""Numbers at the end of what floats can hold: scores are finite, or the votes are refused."""

# ruff: noqa: E501
from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hostile.base import RIGHT, WRONG, Ending, attempt

__all__ = ["case"]

_EXTREME = [
    0.0, -0.0, 1.0, 1.0, 2.0, 5e-324, 1e-310, 1e-300, 1e-18, 1e9, 1e15, 1e16, 2.0**53, 1e17, 1e18, 1e19, 1e30, 1e100, 1e150, 1e160, 1e300, 1e308,
    -1.0, -1e18, -1e300, float("inf"), float("-inf"), float("nan"), 0.1, 1 / 3,
]  # fmt: skip
_MODELS = ["WinRate", "Borda", "Copeland", "BradleyTerry", "BradleyTerry", "RankCentrality", "HodgeRank", "MajorityVote", "AmElo", "CrowdBT", "DawidSkene"]  # fmt: skip
_SIZES = [
    "1e400GB",
    "-1GB",
    "1e-400",
    "NaN",
    "inf",
    "0",
    "1e",
    ".",
    "1" * 400,
    "2GB",
    "9e99TiB",
    "0x10",
    "１GB",
    "1 e9",
    "",
    "1e999999999",
    "512MiB",
]


def case(rng: random.Random, folder: Path) -> Ending:
    """Try one of the places that numbers go through."""
    return rng.choice([_weights, _weights, _file, _file, _features, _ratings, _sizes, _arrays])(rng, folder)


def _pairs(rng: random.Random, rows: int) -> tuple[list[str], list[str]]:
    if rng.random() < 0.2:  # a cycle
        return [("a", "b", "c")[k % 3] for k in range(rows)], [("b", "c", "a")[k % 3] for k in range(rows)]
    drawn = [rng.sample("abcd", 2) for _ in range(rows)]
    return [one for one, _ in drawn], [other for _, other in drawn]


def _extreme(rng: random.Random) -> float:
    how = rng.random()
    if how < 0.5:
        return 10.0 ** rng.uniform(-15, 12)
    return rng.choice(_EXTREME) if how < 0.9 else rng.uniform(-1, 1) * 10.0 ** rng.randrange(-320, 308)


def _fit(name: str, votes: Any, *given: Any) -> Any:
    import jamrank as jr

    model = getattr(jr, name)()
    if "max_iter" in model.get_params():
        model.set_params(max_iter=5)
    return model.fit(votes, *given)


def _finite(model: Any, told: str) -> Ending:
    scores = np.asarray(model.scores_, float)
    if not np.isfinite(scores).all():
        return WRONG, f"{told}: scores {scores.tolist()}"
    return RIGHT, told


def _weights(rng: random.Random, folder: Path) -> Ending:
    import jamrank as jr

    rows = rng.randrange(2, 8)
    left, right = _pairs(rng, rows)
    weight = [_extreme(rng) if rng.random() < 0.5 else 1.0 for _ in range(rows)]
    name, said = rng.choice(_MODELS), [rng.choice([0, 1, 0.5]) for _ in range(rows)]

    def run() -> Any:
        votes = jr.Comparisons.from_arrays(left, right, [f"w{k % 2}" for k in range(rows)], said, weight)
        return _fit(name, votes)

    model, ended = attempt(run)
    told = f"{name}, weights {weight}"
    return (ended[0], f"{told}: {ended[1]}") if ended is not None else _finite(model, told)


def _file(rng: random.Random, folder: Path) -> Ending:
    """Write weights or probabilities to a file: what is read is finite, and what was written."""
    import jamrank as jr

    rows = rng.randrange(1, 6)
    left, right = _pairs(rng, rows)
    numbers = [rng.choice([_extreme(rng), _extreme(rng), 10**18, 10**400, 2**63, True]) for _ in range(rows)]
    names = ["annotator", "left", "right", "winner", "weight"]
    records = [dict(zip(names, ("k", left[k], right[k], "left", numbers[k]), strict=True)) for k in range(rows)]
    if rng.random() < 0.5:
        path = folder / "votes.json"
        path.write_text(json.dumps(records))
    else:
        path = folder / "votes.csv"
        path.write_text("\n".join([",".join(names), *(",".join(map(str, record.values())) for record in records)]))
    votes, ended = attempt(lambda: jr.read_comparisons(path))
    if ended is not None:
        return ended[0], f"{numbers}: {ended[1]}"
    total = float(votes.annotator_weight.sum())
    known = float(sum(number for number in numbers))
    if not np.isfinite(total) or abs(total - known) > 1e-9 * abs(known):
        return WRONG, f"{path.suffix} {numbers}: weight {total}"
    return RIGHT, path.suffix


def _features(rng: random.Random, folder: Path) -> Ending:
    import jamrank as jr

    left, right = _pairs(rng, 6)
    votes = jr.Comparisons.from_arrays(left, right, ["k"] * 6, [rng.choice([0, 1]) for _ in range(6)])
    shape = (len(votes.items), rng.choice([1, 2, 5]))
    values = np.array([[_extreme(rng) for _ in range(shape[1])] for _ in range(shape[0])])
    name = rng.choice(["BradleyTerry", "JAM"])
    model, ended = attempt(lambda: _fit(name, votes, values))
    told = f"{name}, features {values.tolist()}"
    return (ended[0], f"{told}: {ended[1]}") if ended is not None else _finite(model, told)


def _ratings(rng: random.Random, folder: Path) -> Ending:
    import jamrank as jr

    ratings = [_extreme(rng) for _ in range(6)]
    votes, ended = attempt(lambda: jr.Comparisons.from_ratings(list("abcabc"), list("kkklll"), ratings))
    if ended is not None:
        return ended
    return (RIGHT, "ratings") if np.isfinite(votes.n_votes) else (WRONG, f"ratings {ratings}: {votes.n_votes}")


def _sizes(rng: random.Random, folder: Path) -> Ending:
    from jamrank.io.out_of_core.storage_plan import parse_size

    text = rng.choice(_SIZES) if rng.random() < 0.5 else "".join(rng.choice("0123456789.eEkKMGTib -+") for _ in range(rng.randrange(1, 12)))  # fmt: skip
    size, ended = attempt(lambda: parse_size(text))
    if ended is not None:
        return ended
    return (RIGHT, text) if isinstance(size, int) and 0 <= size < 2**63 else (WRONG, f"{text!r} is {size}")


def _arrays(rng: random.Random, folder: Path) -> Ending:
    """Give outcomes and ids that are no such."""
    import jamrank as jr

    outcome = [_extreme(rng) if rng.random() < 0.3 else rng.choice([0, 1, 0.5]) for _ in range(3)]
    ids: list[Any] = [
        rng.choice([1, "a", 2.5, float("nan"), None, b"x", True, 10**30, (1, 2), float("inf")]) for _ in range(6)
    ]
    votes, ended = attempt(lambda: jr.Comparisons.from_arrays(ids[:3], ids[3:], ["k"] * 3, outcome))
    if ended is not None:
        return ended
    return (RIGHT, "arrays") if votes.n_votes <= 3 else (WRONG, f"{ids}, {outcome}: {votes.n_votes} votes")
