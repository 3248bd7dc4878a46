"""One fused pass over all pairs of 4,898 items judged by six annotators, beside a first trial of it in numba.

The pass is margin, posterior, likelihood, sums by pattern and gradient by item; with curvature, also that of each
pair and by item. The trial is the file that ``JAMRANK_TRIAL`` names, with the functions ``indexed`` and ``walk``;
where it or numba is missing there is no comparison.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks.machine import copy_bandwidth
from benchmarks.measure import in_turn
from benchmarks.report import HERE, say, table
from jamrank.engines.passes import expectation
from jamrank.kernels import default_threads
from jamrank.rows import Rows

SEED, ROUNDS, FLIPS = 0, 15, np.arange(1, 7) / 20
N_ITEMS, QUICK = 4898, 500
TRIAL = Path(os.environ.get("JAMRANK_TRIAL") or HERE.parents[1] / "shared" / "trial_kernel.py")
OURS, THEIRS = "jamrank", "trial in numba"
WALK, INDEX = "all pairs walked", "index arrays"
BENT = "with curvature"
# Bytes that a pass must move for each pair: pattern, with an index the second item, and curvature where it is wanted.
BYTES = {WALK: 1, INDEX: 1 + 2, f"{WALK}, {BENT}": 1 + 4, f"{INDEX}, {BENT}": 1 + 2 + 4}


def contenders(n_items: int) -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(SEED)
    first, second = (side.astype(np.int32) for side in np.triu_indices(n_items, 1))
    scores = rng.normal(size=n_items)
    said = rng.integers(0, 2, (len(first), len(FLIPS)), dtype=np.int8)
    found = {}
    for how, rows in ((WALK, len(first)), (INDEX, len(first) - 1)):
        # Without its last pair the table is no longer all pairs, and needs an index.
        plain, bent = our_passes(first[:rows], second[:rows], said[:rows], scores)
        found |= {f"{OURS}, {how}": plain, f"{OURS}, {how}, {BENT}": bent}
    trial = load_trial()
    if trial is None:
        return found
    pattern = (said << np.arange(len(FLIPS))).sum(axis=1).astype(np.uint8)
    ratio, threads = np.exp(rng.normal(size=2 ** len(FLIPS))), default_threads()
    start = np.concatenate([[0], np.cumsum(np.arange(n_items - 1, 0, -1))])
    return {
        **found,
        f"{THEIRS}, {WALK}": lambda: trial.walk(pattern, start, scores, ratio, n_items, threads),
        f"{THEIRS}, {INDEX}": lambda: trial.indexed(first, second, pattern, scores, ratio, n_items, threads),
    }


def our_passes(
    first: np.ndarray, second: np.ndarray, said: np.ndarray, scores: np.ndarray
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return the pass as a fit runs it, without and with curvature, which goes into room that is there."""
    rows = Rows.per_pair(jr.Comparisons.from_matrix(first, second, said))
    wrong, right = np.log(FLIPS), np.log1p(-FLIPS)
    # By annotator, what was said, and the truth.
    log_emission = np.stack([np.stack([right, wrong], axis=1), np.stack([wrong, right], axis=1)], axis=1)
    none, all_of_them = np.empty(0, dtype=np.float32), np.empty(len(rows), dtype=np.float32)
    plain, bent = (
        partial(expectation, rows, scores, log_emission, room, np.empty(0), default_threads())
        for room in (none, all_of_them)
    )
    return plain, bent


def load_trial() -> ModuleType | None:
    if not TRIAL.exists() or importlib.util.find_spec("numba") is None:
        return None
    # Its threads would otherwise spin while they wait, and take the cores from whoever is measured next.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    spec = importlib.util.spec_from_file_location("trial", TRIAL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(quick: bool) -> dict[str, Any]:
    n_items = QUICK if quick else N_ITEMS
    say(f"passes over all pairs of {n_items:,} items\n")
    seconds, _ = in_turn(contenders(n_items), ROUNDS)
    bandwidth = copy_bandwidth()
    rows = n_items * (n_items - 1) // 2
    shares = {f"{OURS}, {how}": each * rows / seconds[f"{OURS}, {how}"] / bandwidth for how, each in BYTES.items()}
    trial = f"{THEIRS}, {WALK}" in seconds
    return {
        "pairs": rows,
        "seconds": seconds,
        "nanoseconds a pair": {name: 1e9 * value / rows for name, value in seconds.items()},
        "share of copy bandwidth": shares,
        "copy bandwidth, GB/s": bandwidth / 1e9,
        "times the trial": {
            how: seconds[f"{OURS}, {how}"] / seconds[f"{THEIRS}, {how.removesuffix(f', {BENT}')}"] for how in BYTES
        }
        if trial
        else {},
    }


def as_markdown(found: dict[str, Any]) -> list[str]:
    shares = found["share of copy bandwidth"]
    rows = [
        [
            name,
            f"{value:.4f}",
            f"{found['nanoseconds a pair'][name]:.2f}",
            f"{shares[name]:.0%}" if name in shares else "",
        ]
        for name, value in found["seconds"].items()
    ]
    return [
        f"## One fused pass over {found['pairs']:,} pairs, six annotators",
        "",
        "Margin, posterior, likelihood, sums by pattern and gradient by item; with curvature, also that of each pair",
        "and by item. The trial computes no likelihood.",
        "",
        *table(["", "seconds", "ns a pair", "share of copy bandwidth"], rows),
        f"Copying large arrays on all cores moves {found['copy bandwidth, GB/s']:.1f} GB/s.",
        "",
    ]
