"""Speed of JAM on every pair of red wine, as ratios within one run.

Run it with ``make benchmark``; it prints a table and writes ``results.md`` and ``results.json`` beside this file.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import jamrank as jr
from benchmarks.machine import commit, processor, versions
from benchmarks.numpy_jam import blocks_and_patterns, whole_arrays
from jamrank.kernels import compiled, default_threads

HERE = Path(__file__).parent
SEED, REPEATS = 0, 7
FLIPS = np.arange(1, 7) / 20


def items() -> tuple[np.ndarray, np.ndarray, str]:
    """Return features and quality of red wine or, where it is not at hand, of a made-up table of its shape."""
    folder = Path(os.environ.get("JAMRANK_DATA") or HERE.parents[1] / "shared" / "data")
    path = folder / "wine_quality" / "winequality-red.csv"
    if path.exists():
        table = np.genfromtxt(path, delimiter=";", skip_header=1)
        return table[:, :-1], table[:, -1], "red wine"
    rng = np.random.default_rng(SEED)
    features = rng.standard_normal((1599, 11))
    quality = np.clip(np.round(5.6 + 0.8 * (features[:, :3].sum(axis=1) + rng.standard_normal(1599)) / 2), 3, 8)
    return features, quality, "a made-up table of the shape of red wine"


def draw() -> tuple[np.ndarray, ...]:
    features, quality, _ = items()
    first, second = (side.astype(np.int32) for side in np.triu_indices(len(quality), 1))
    different = quality[first] != quality[second]
    first, second = first[different], second[different]
    rng = np.random.default_rng(SEED)
    truth = quality[first] > quality[second]
    said = (truth[:, None] ^ (rng.random((len(first), len(FLIPS))) < FLIPS)).astype(np.int8)
    return first, second, said, features, truth


def measure() -> dict[str, dict[str, float]]:
    first, second, said, features, truth = draw()
    votes = jr.Comparisons.from_matrix(first, second, said)
    wide = said.astype(np.int64)
    contenders = {
        "jamrank JAM().fit": lambda: jr.JAM().fit(votes, features),
        "jamrank, with encoding the votes": lambda: jr.JAM().fit(
            jr.Comparisons.from_matrix(first, second, said), features
        ),
        "jamrank MajorityVote().fit": lambda: jr.MajorityVote().fit(votes),
        "numpy, whole arrays": lambda: whole_arrays(first, second, said, features),
        "numpy, blocks and patterns": lambda: blocks_and_patterns(first, second, wide, features),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    results = {}
    contenders["jamrank JAM().fit"]()
    for _ in range(REPEATS):
        for name, fit in contenders.items():
            begin = time.perf_counter()
            results[name] = fit()
            seconds[name].append(time.perf_counter() - begin)
    ours = statistics.median(seconds["jamrank JAM().fit"])
    table = {}
    for name, result in results.items():
        flips = result.flip_ if name.startswith("jamrank") else result.flips
        posterior = result.posterior_ if name.startswith("jamrank") else result.posterior
        table[name] = {
            "seconds": statistics.median(seconds[name]),
            "ratio": statistics.median(seconds[name]) / ours,
            "iterations": result.n_iter_ if name.startswith("jamrank") else result.n_iter,
            "largest error of a flip": float(np.abs(flips - FLIPS).max()),
            "accuracy": float(np.where(posterior == 0.5, 0.5, (posterior > 0.5) == truth).mean()),
        }
    return table


def machine() -> dict[str, str]:
    return {
        "data": items()[2],
        "seed": str(SEED),
        "repeats": f"{REPEATS}, interleaved; medians",
        "commit": commit(),
        "machine": f"{processor()}, {default_threads()} cores",
        "versions": versions("numpy", "jamrank"),
        "kernels": "compiled" if compiled else "numpy",
    }


def as_markdown(table: dict[str, dict[str, float]], about: dict[str, str]) -> str:
    lines = [
        "# JAM on every pair of different quality, six annotators",
        "",
        "jamrank fits the EM loop *and* a score for each item; the numpy loops only do the former. All in one run.",
        "Votes are encoded once and kept for the next fit; the second line does it every time.",
        "",
        "| | seconds | times jamrank | iterations | largest error of a flip | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in table.items():
        lines.append(
            f"| {name} | {row['seconds']:.3f} | {row['ratio']:.1f} | {row['iterations']:.0f} "
            f"| {row['largest error of a flip']:.4f} | {row['accuracy']:.2%} |"
        )
    return "\n".join([*lines, "", *(f"- {key}: {value}" for key, value in about.items()), ""])


if __name__ == "__main__":
    measured, about = measure(), machine()
    text = as_markdown(measured, about)
    (HERE / "results.md").write_text(text)
    (HERE / "results.json").write_text(json.dumps({"about": about, "results": measured}, indent=1) + "\n")
    sys.stdout.write(text)
