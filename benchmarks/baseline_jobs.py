"""What is timed for an earlier commit and for this one: each job in a process of its own, with either's Python.

``python -m benchmarks.baseline_jobs JOB RECORD SIZE`` writes a record in JSON: the least wall-clock and CPU seconds
of its runs, after one to warm up. Only names are used that both commits have.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks import passes, wine
from benchmarks.votes import draw, draw_jury

Call = Callable[[], Any]
SEED, JURY_FLIPS = 0, np.array([0.1, 0.15, 0.2, 0.25, 0.3])
# A job is run again until it has run so often, or for so long.
RUNS, SECONDS = 7, 3.0
USUAL, CROWD, RELIABILITY = (200, 50, 500_000), (5_000, 200, 5_000_000), (100, 200, 200_000)
QUICK_DIVISOR = 50


def joint(model: str) -> Any:
    """Return a model of flips fitted jointly, as the earlier commit fits them, also where the default has changed."""
    made = getattr(jr, model)
    return made(flips="joint") if "flips" in made().get_params() else made()


def from_arrays(model: str, shape: tuple[int, int, int], quick: bool) -> Call:
    votes = drawn(shape, quick)
    columns = votes.left, votes.right, votes.annotator, votes.left_won
    return lambda: joint(model).fit(jr.Comparisons.from_arrays(*columns)).scores_


def drawn(shape: tuple[int, int, int], quick: bool) -> Any:
    n_items, n_annotators, n_votes = shape
    return draw(n_items, n_annotators, n_votes // QUICK_DIVISOR if quick else n_votes, SEED)[0]


def from_text(kind: str, quick: bool) -> Call:
    votes = drawn(USUAL, quick)
    columns = [as_text(kind, prefix, codes) for prefix, codes in text_columns(votes).items()]
    return lambda: joint("CrowdBT").fit(jr.Comparisons.from_arrays(*columns, votes.left_won)).scores_


def text_columns(votes: Any) -> dict[str, np.ndarray]:
    return {"left-": votes.left, "right-": votes.right, "annotator-": votes.annotator}


def as_text(kind: str, prefix: str, codes: np.ndarray) -> Any:
    """Return names of codes as users have them; both sides name items alike."""
    prefix = "item-" if prefix in ("left-", "right-") else prefix
    names = np.array([f"{prefix}{code}" for code in range(int(codes.max()) + 1)])[codes]
    if kind == "numpy text":
        return names
    listed = names.tolist()
    if kind == "lists":
        return listed
    if kind == "numpy objects":
        return np.array(listed, dtype=object)
    if kind == "polars":
        import polars as pl

        return pl.Series(listed)
    import pandas as pd

    return pd.Series(listed)


def wines(colour: str, call: Callable[..., Any], quick: bool) -> Call:
    found = wine.draw(colour, quick)
    return lambda: call(found.first, found.second, found.said, found.features)


def jam_of_wine(first: Any, second: Any, said: Any, features: Any) -> Any:
    return joint("JAM").fit(jr.Comparisons.from_matrix(first, second, said), features).posterior_


def majority_of_wine(first: Any, second: Any, said: Any, features: Any) -> Any:
    return jr.MajorityVote().fit(jr.Comparisons.from_matrix(first, second, said))


def of_jury(model: str, quick: bool) -> Call:
    jury = draw_jury(60 if quick else 900, None, 16, JURY_FLIPS, SEED)
    votes = jr.Comparisons.from_matrix(jury["first"], jury["second"], jury["said"])
    return lambda: (jr.VRJAM() if model == "VRJAM" else joint(model)).fit(votes, jury["features"]).scores_


def reliability(quick: bool) -> Call:
    """Return a fit with the verdicts of its annotators."""
    votes = drawn(RELIABILITY, quick)
    encoded = jr.Comparisons.from_arrays(votes.left, votes.right, votes.annotator, votes.left_won)
    return lambda: joint("JAM").fit(encoded).annotators_


def fused(how: str, quick: bool) -> Call:
    n_items = passes.QUICK if quick else passes.N_ITEMS
    return passes.contenders(n_items)[f"{passes.OURS}, {how}"]


JOBS: dict[str, Callable[[bool], Call]] = {
    "CrowdBT, 500,000 votes from arrays": lambda quick: from_arrays("CrowdBT", USUAL, quick),
    "BradleyTerry, 500,000 votes from arrays": lambda quick: from_arrays("BradleyTerry", USUAL, quick),
    **{
        f"CrowdBT, 500,000 votes from {kind}": lambda quick, kind=kind: from_text(kind, quick)
        for kind in ("lists", "numpy text", "numpy objects", "pandas", "polars")
    },
    "CrowdBT, 5 million crowd votes": lambda quick: from_arrays("CrowdBT", CROWD, quick),
    "JAM, 5 million crowd votes": lambda quick: from_arrays("JAM", CROWD, quick),
    f"fused pass, {passes.WALK}": lambda quick: fused(passes.WALK, quick),
    f"fused pass, {passes.INDEX}": lambda quick: fused(passes.INDEX, quick),
    "JAM, red wine": lambda quick: wines("red", jam_of_wine, quick),
    "JAM, white wine": lambda quick: wines("white", jam_of_wine, quick),
    "MajorityVote, white wine": lambda quick: wines("white", majority_of_wine, quick),
    "JAM, jury of 5 with features": lambda quick: of_jury("JAM", quick),
    "VRJAM, jury of 5 with features": lambda quick: of_jury("VRJAM", quick),
    "JAM with verdicts, 200 annotators": reliability,
}


def measure(call: Call) -> dict[str, float]:
    call()
    wall, cpu, begun = [], [], time.perf_counter()
    while len(wall) < RUNS and (not wall or time.perf_counter() - begun < SECONDS):
        start, start_cpu = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return {"wall": min(wall), "cpu": min(cpu)}


if __name__ == "__main__":
    name, out, size = sys.argv[1:]
    warnings.simplefilter("ignore")
    Path(out).write_text(json.dumps(measure(JOBS[name](size == "quick"))))
