"""From ids that are text, as users have them, to scores: CrowdBT and BradleyTerry beside evalica, same objects.

``python -m benchmarks.text_ids`` prints the lines that ``make benchmark`` has in ``results.md``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks.baseline_jobs import as_text, joint, text_columns
from benchmarks.report import say, seconds
from benchmarks.votes import draw

KINDS = (
    "lists",
    "numpy text",
    "numpy objects",
    "pandas objects",
    "pandas strings",
    "pandas categories",
    "pandas arrow",
    "polars",
)
# Votes, and rounds in each of which every contender has its turn.
ROUNDS = {20_000: 7, 500_000: 3, 5_000_000: 1}
QUICK_VOTES, ITEMS, ANNOTATORS, SEED = 2_000, 200, 50, 0
RIVAL, ASKED = "evalica BT", {"CrowdBT": 0.5, "BradleyTerry": 0.25}


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return the seconds of processor time of each model and of the rival, by kind of object and number of votes."""
    if find_spec("evalica") is None:
        return []
    sizes = {QUICK_VOTES: 1} if quick else ROUNDS
    return [one(kind, n_votes, rounds) for n_votes, rounds in sizes.items() for kind in KINDS]


def judged(found: list[dict[str, Any]]) -> list[tuple[str, float, float, str]]:
    """Return what each ratio is, its value, the most that it may be, and what is behind it."""
    lines = []
    for one in found:
        theirs, at = one["seconds"][RIVAL], f"{one['votes']:,} votes, ids as text in {one['kind']}"
        for model, asked in ASKED.items():
            ours = one["seconds"][model]
            why = f"processor time; {seconds(ours)} s / {seconds(theirs)} s"
            lines.append((f"{model} / {RIVAL}, {at}", ours / theirs, asked, why))
    return lines


def one(kind: str, n_votes: int, rounds: int) -> dict[str, Any]:
    import evalica

    votes, _ = draw(ITEMS, ANNOTATORS, n_votes, SEED)
    left, right, annotator = (as_given(kind, prefix, codes) for prefix, codes in text_columns(votes).items())
    winners = np.where(votes.left_won, np.uint8(1), np.uint8(2))

    def fit(model: str) -> Callable[[], Any]:
        return lambda: joint(model).fit(jr.Comparisons.from_arrays(left, right, annotator, votes.left_won)).scores_

    say(f"{n_votes:,} votes with text ids from {kind}\n")
    calls = {model: fit(model) for model in ASKED}
    calls[RIVAL] = lambda: evalica.bradley_terry(left, right, winners)
    return {"kind": kind, "votes": n_votes, "seconds": processor_in_turn(calls, rounds)}


def as_given(kind: str, prefix: str, codes: np.ndarray) -> Any:
    """Return names of codes as users have them, pandas' in each way that it has for text."""
    if not kind.startswith("pandas"):
        return as_text(kind, prefix, codes)
    import pandas as pd

    of = {
        "pandas objects": object,
        "pandas strings": pd.StringDtype("python"),
        "pandas categories": "category",
        "pandas arrow": pd.StringDtype("pyarrow"),
    }
    return pd.Series(as_text("lists", prefix, codes), dtype=of[kind])


def processor_in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the least processor time of each call, all threads together, which other processes disturb least."""
    least: dict[str, float] = {}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            taken = time.process_time() - begin
            if turn:  # the first fills the caches
                least[name] = min(taken, least.get(name, taken))
    return least


if __name__ == "__main__":
    for what, value, asked, why in judged(measure(quick=False)):
        say(f"{what}: {value:.2f} (asked {asked:g}; {why})\n")
