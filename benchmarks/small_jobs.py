"""Processor time of small jobs: of VRJAM in that of JAM, and of a command in that with one thread of BLAS."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks.baseline_jobs import JURY_FLIPS, RELIABILITY
from benchmarks.votes import draw_jury
from jamrank.cli import demo

SEED, N_JURY, N_FEATURES = 0, 900, 16
N_DIGITS = 10
BLAS = "jamrank fit --out, BLAS as it is"
ONE_THREAD = "with one thread of BLAS"


def demo_votes() -> tuple[jr.Comparisons, dict[str, np.ndarray]]:
    """Return the votes of ``jamrank demo`` on its images, and the pixels that differ among these as features."""
    from sklearn.datasets import load_digits

    known, rng = load_digits(), np.random.default_rng(SEED)
    chosen = rng.permutation(
        np.concatenate(
            [
                rng.choice(np.flatnonzero(known.target == digit), demo._OF_EACH, replace=False)
                for digit in range(N_DIGITS)
            ]
        )
    )
    names = [f"image {place:02d}" for place in range(len(chosen))]
    votes = demo._vote(known.target[chosen].astype(np.int64), names, SEED)
    pixels = known.data[chosen]
    return votes, dict(zip(names, pixels[:, np.ptp(pixels, axis=0) > 0], strict=True))


def jury_votes(n_items: int) -> tuple[jr.Comparisons, np.ndarray]:
    """Return a jury's votes on all pairs of items, and features."""
    jury = draw_jury(n_items, None, N_FEATURES, JURY_FLIPS, SEED)
    return jr.Comparisons.from_matrix(jury["first"], jury["second"], jury["said"]), jury["features"]


def clustered(rounds: int, quick: bool) -> list[dict[str, Any]]:
    """Return the processor time of VRJAM and of JAM on each of two kinds of votes with features."""
    found = []
    for name, (votes, features) in {
        "votes of the demo": demo_votes(),
        "a jury of five": jury_votes(60 if quick else N_JURY),
    }.items():
        calls = {
            model.__name__: lambda model=model, votes=votes, features=features: model().fit(votes, features).scores_
            for model in (jr.JAM, jr.VRJAM)
        }
        found.append({"votes": name, "pairs": votes.n_pairs, "seconds": busy_in_turn(calls, rounds)})
    return found


def busy_in_turn(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median processor seconds of each call, of all threads together."""
    busy: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):  # the first warms up
        for name, call in calls.items():
            begin = time.process_time()
            call()
            if turn:
                busy[name].append(time.process_time() - begin)
    return {name: statistics.median(own) for name, own in busy.items()}


def threads_of_blas(jamrank: str, folder: Path, rounds: int, quick: bool) -> dict[str, float]:
    """Return the processor seconds of a command with the threads of BLAS as they are, and with one of them."""
    n_items, n_annotators, n_votes = RELIABILITY
    votes, out = folder / "crowd.csv", folder / "crowd"
    drawn = jr.simulate(n_items, n_annotators, n_votes // (50 if quick else 1), random_state=SEED)
    drawn.frame.write_csv(votes)
    command = [jamrank, "fit", str(votes), "--out", str(out)]
    busy: dict[str, list[float]] = {BLAS: [], ONE_THREAD: []}
    for turn in range(rounds + 1):
        for name, own in busy.items():
            taken = busy_of(command, {"OPENBLAS_NUM_THREADS": "1"} if name == ONE_THREAD else {})
            if turn:
                own.append(taken)
    return {name: statistics.median(own) for name, own in busy.items()}


def busy_of(command: list[str], variables: Mapping[str, str]) -> float:
    """Return the processor seconds of a command, which may keep what it compiles of its modules, as users' do."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, env={**environment, **variables})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
