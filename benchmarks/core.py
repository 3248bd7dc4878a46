"""Speed of JAM on every pair of red and of white wine, as ratios within one run.

Run it with ``make benchmark``; it prints tables and writes ``results.md`` and ``results.json`` beside this file.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import jamrank as jr
from benchmarks.machine import commit, processor, versions
from benchmarks.numpy_jam import blocks_and_patterns, whole_arrays
from jamrank.kernels import compiled, default_threads

HERE = Path(__file__).parent
SEED, FLIPS = 0, np.arange(1, 7) / 20
# Rounds, in each of which every contender has its turn.
ROUNDS = {"red": 7, "white": 3}
SHAPES = {"red": (1599, 11), "white": (4898, 11)}
FIT, WHOLE = "jamrank, votes encoded before", "jamrank, from the matrix of votes"


def items(colour: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return features and quality of the wines or, where they are not at hand, of a made-up table of their shape."""
    folder = Path(os.environ.get("JAMRANK_DATA") or HERE.parents[1] / "shared" / "data")
    path = folder / "wine_quality" / f"winequality-{colour}.csv"
    if path.exists():
        table = np.genfromtxt(path, delimiter=";", skip_header=1)
        return table[:, :-1], table[:, -1], f"{colour} wine"
    rng = np.random.default_rng(SEED)
    features = rng.standard_normal(SHAPES[colour])
    signal = features[:, :3].sum(axis=1) + rng.standard_normal(len(features))
    return features, np.clip(np.round(5.6 + 0.4 * signal), 3, 8), f"a made-up table of the shape of {colour} wine"


def draw(colour: str) -> tuple[np.ndarray, ...]:
    features, quality, _ = items(colour)
    first, second = (side.astype(np.int32) for side in np.triu_indices(len(quality), 1))
    different = quality[first] != quality[second]
    first, second = first[different], second[different]
    rng = np.random.default_rng(SEED)
    truth = quality[first] > quality[second]
    said = np.empty((len(first), len(FLIPS)), dtype=np.int8)
    for k, flip in enumerate(FLIPS):
        said[:, k] = truth ^ (rng.random(len(first)) < flip)
    return first, second, said, features, truth


def measure(colour: str) -> dict[str, dict[str, float]]:
    first, second, said, features, truth = draw(colour)
    votes = jr.Comparisons.from_matrix(first, second, said)
    contenders: dict[str, Callable] = {
        FIT: lambda: jr.JAM().fit(votes, features),
        WHOLE: lambda: jr.JAM().fit(jr.Comparisons.from_matrix(first, second, said), features),
        "jamrank MajorityVote, from the matrix": lambda: jr.MajorityVote().fit(
            jr.Comparisons.from_matrix(first, second, said)
        ),
        "numpy, whole arrays": lambda: whole_arrays(first, second, said, features),
        "numpy, blocks and patterns": lambda: blocks_and_patterns(first, second, said, features),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    results = {}
    contenders[FIT]()
    for _ in range(ROUNDS[colour]):
        for name, fit in contenders.items():
            begin = time.perf_counter()
            results[name] = fit()
            seconds[name].append(time.perf_counter() - begin)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    table = {}
    for name, result in results.items():
        ours = name.startswith("jamrank")
        flips, posterior = (result.flip_, result.posterior_) if ours else (result.flips, result.posterior)
        table[name] = {
            "seconds": median[name],
            "times the fit": median[name] / median[FIT],
            "times the whole": median[name] / median[WHOLE],
            "iterations": result.n_iter_ if ours else result.n_iter,
            "largest error of a flip": float(np.abs(flips - FLIPS).max()),
            "accuracy": float(np.where(posterior == 0.5, 0.5, (posterior > 0.5) == truth).mean()),
        }
    return table


def machine() -> dict[str, str]:
    return {
        "seed": str(SEED),
        "rounds": ", ".join(f"{number} for {colour}" for colour, number in ROUNDS.items()) + ", interleaved; medians",
        "commit": commit(),
        "machine": f"{processor()}, {default_threads()} cores",
        "versions": versions("numpy", "jamrank"),
        "kernels": "compiled" if compiled else "numpy",
    }


def as_markdown(tables: dict[str, dict[str, dict[str, float]]], about: dict[str, str]) -> str:
    lines = [
        "# JAM on every pair of different quality, six annotators",
        "",
        "jamrank fits the EM loop *and* a score for each item; the numpy loops only do the former. All in one run.",
        "",
    ]
    for colour, table in tables.items():
        lines += [
            f"## {items(colour)[2].capitalize()}",
            "",
            f"| | seconds | times {FIT.split(', ')[1]} | times {WHOLE.split(', ')[1]} | iterations "
            "| largest error of a flip | accuracy |",
            "|---|---|---|---|---|---|---|",
        ]
        for name, row in table.items():
            lines.append(
                f"| {name} | {row['seconds']:.3f} | {row['times the fit']:.1f} | {row['times the whole']:.1f} "
                f"| {row['iterations']:.0f} | {row['largest error of a flip']:.4f} | {row['accuracy']:.2%} |"
            )
        lines.append("")
    return "\n".join([*lines, *(f"- {key}: {value}" for key, value in about.items()), ""])


if __name__ == "__main__":
    measured, about = {colour: measure(colour) for colour in ROUNDS}, machine()
    text = as_markdown(measured, about)
    (HERE / "results.md").write_text(text)
    (HERE / "results.json").write_text(json.dumps({"about": about, "results": measured}, indent=1) + "\n")
    sys.stdout.write(text)
