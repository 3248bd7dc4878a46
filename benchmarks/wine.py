"""JAM on every pair of red and of white wine of different quality, beside the same loop in plain numpy."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks.measure import alone, in_turn, memory
from benchmarks.numpy_jam import blocks_and_patterns, whole_arrays
from benchmarks.report import HERE, say, table

SEED, FLIPS = 0, np.arange(1, 7) / 20
# Rounds, in each of which every contender has its turn.
ROUNDS = {"red": 7, "white": 3}
SHAPES = {"red": (1599, 11), "white": (4898, 11)}
# So many wines in a quick run.
QUICK = 300
ENCODED, MATRIX = "jamrank, votes encoded before", "jamrank, from the matrix of votes"
WHOLE, BLOCKS = "numpy, whole arrays", "numpy, blocks and patterns"


@dataclass(frozen=True)
class Wines:
    """Votes of six annotators on every pair of different quality, as a user would have them."""

    name: str
    first: np.ndarray
    second: np.ndarray
    said: np.ndarray
    features: np.ndarray
    truth: np.ndarray


def items(colour: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return features and quality of the wines or, where they are not at hand, of a made-up table of their shape."""
    folder = Path(os.environ.get("JAMRANK_DATA") or HERE.parents[1] / "shared" / "data")
    path = folder / "wine_quality" / f"winequality-{colour}.csv"
    if path.exists():
        found = np.genfromtxt(path, delimiter=";", skip_header=1)
        return found[:, :-1], found[:, -1], f"{colour} wine"
    rng = np.random.default_rng(SEED)
    features = rng.standard_normal(SHAPES[colour])
    signal = features[:, :3].sum(axis=1) + rng.standard_normal(len(features))
    return features, np.clip(np.round(5.6 + 0.4 * signal), 3, 8), f"a made-up table of the shape of {colour} wine"


def draw(colour: str, quick: bool) -> Wines:
    features, quality, name = items(colour)
    if quick:
        features, quality, name = features[:QUICK], quality[:QUICK], f"{QUICK} items of {name}"
    first, second = (side.astype(np.int32) for side in np.triu_indices(len(quality), 1))
    different = quality[first] != quality[second]
    first, second = first[different], second[different]
    rng = np.random.default_rng(SEED)
    truth = quality[first] > quality[second]
    said = np.empty((len(first), len(FLIPS)), dtype=np.int8)
    for k, flip in enumerate(FLIPS):
        said[:, k] = truth ^ (rng.random(len(first)) < flip)
    return Wines(name, first, second, said, features, truth)


def fit(first: np.ndarray, second: np.ndarray, said: np.ndarray, features: np.ndarray) -> Any:
    return jr.JAM().fit(jr.Comparisons.from_matrix(first, second, said), features)


def measure(colour: str, quick: bool) -> dict[str, Any]:
    wines = draw(colour, quick)
    inputs = wines.first, wines.second, wines.said
    votes = jr.Comparisons.from_matrix(*inputs)
    contenders: dict[str, Callable[[], Any]] = {
        ENCODED: lambda: jr.JAM().fit(votes, wines.features),
        MATRIX: lambda: fit(*inputs, wines.features),
        "jamrank MajorityVote, from the matrix": lambda: jr.MajorityVote().fit(jr.Comparisons.from_matrix(*inputs)),
        WHOLE: lambda: whole_arrays(*inputs, wines.features),
        BLOCKS: lambda: blocks_and_patterns(*inputs, wines.features),
    }
    say(f"{wines.name}: {len(contenders)} contenders, {ROUNDS[colour]} rounds\n")
    contenders[ENCODED]()
    median, results = in_turn(contenders, ROUNDS[colour], warm_up=False)
    rows = {}
    for name, result in results.items():
        ours = name.startswith("jamrank")
        flips, posterior = (result.flip_, result.posterior_) if ours else (result.flips, result.posterior)
        rows[name] = {
            "seconds": median[name],
            "times the fit": median[name] / median[ENCODED],
            "times the whole": median[name] / median[MATRIX],
            "iterations": result.n_iter_ if ours else result.n_iter,
            "largest error of a flip": float(np.abs(flips - FLIPS).max()),
            "accuracy": float(np.where(posterior == 0.5, 0.5, (posterior > 0.5) == wines.truth).mean()),
        }
    return {"name": wines.name, "pairs": len(wines.truth), "contenders": rows, "peak GB": peak(wines)}


def peak(wines: Wines) -> float:
    """Return the most memory that encoding and fitting take beyond the caller's arrays, in 10⁹ bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "second", "said", "features"):
            np.save(Path(folder) / f"{name}.npy", getattr(wines, name))
        return alone(peak_here, folder)


def peak_here(folder: str) -> float:
    arrays = [np.load(Path(folder) / f"{name}.npy") for name in ("first", "second", "said", "features")]
    before = memory("VmRSS")
    fit(*arrays)
    return (memory("VmHWM") - before) * (1 << 20) / 1e9


def as_markdown(found: dict[str, dict[str, Any]]) -> list[str]:
    lines = [
        "## JAM on every pair of different quality, six annotators",
        "",
        "jamrank fits the EM loop *and* a score for each item; the numpy loops only do the former.",
        "",
    ]
    header = ["", "seconds", f"times {ENCODED.split(', ')[1]}", f"times {MATRIX.split(', ')[1]}", "iterations"]
    header += ["largest error of a flip", "accuracy"]
    for one in found.values():
        lines += [f"### {one['name'].capitalize()}, {one['pairs']:,} pairs", ""]
        lines += table(header, [_cells(name, row) for name, row in one["contenders"].items()])
        lines += [f"Encoding and fit together take {one['peak GB']:.2f} GB beyond the caller's arrays.", ""]
    return lines


def _cells(name: str, row: dict[str, float]) -> list[str]:
    cells = [name, f"{row['seconds']:.3f}", f"{row['times the fit']:.1f}", f"{row['times the whole']:.1f}"]
    return [*cells, f"{row['iterations']}", f"{row['largest error of a flip']:.4f}", f"{row['accuracy']:.2%}"]
