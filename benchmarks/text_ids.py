"""From ids that are text, as users have them, to scores: CrowdBT and BradleyTerry beside evalica, same objects."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import jamrank as jr
from benchmarks.baseline_jobs import as_text, joint, text_columns
from benchmarks.measure import in_turn
from benchmarks.report import say
from benchmarks.votes import draw

KINDS = ("lists", "numpy text", "pandas", "polars")
# Votes, and rounds in each of which every contender has its turn.
ROUNDS = {20_000: 7, 500_000: 3, 5_000_000: 1}
QUICK_VOTES, ITEMS, ANNOTATORS, SEED = 2_000, 200, 50, 0
RIVAL, ASKED = "evalica BT", {"CrowdBT": 0.5, "BradleyTerry": 0.25}


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return the median seconds of each model and of the rival, by kind of object and number of votes."""
    if find_spec("evalica") is None:
        return []
    sizes = {QUICK_VOTES: 1} if quick else ROUNDS
    return [one(kind, n_votes, rounds) for n_votes, rounds in sizes.items() for kind in KINDS]


def one(kind: str, n_votes: int, rounds: int) -> dict[str, Any]:
    import evalica

    votes, _ = draw(ITEMS, ANNOTATORS, n_votes, SEED)
    left, right, annotator = (as_text(kind, prefix, codes) for prefix, codes in text_columns(votes).items())
    winners = np.where(votes.left_won, np.uint8(1), np.uint8(2))

    def fit(model: str) -> Callable[[], Any]:
        return lambda: joint(model).fit(jr.Comparisons.from_arrays(left, right, annotator, votes.left_won)).scores_

    say(f"{n_votes:,} votes with text ids from {kind}\n")
    calls = {model: fit(model) for model in ASKED}
    seconds, _ = in_turn({**calls, RIVAL: lambda: evalica.bradley_terry(left, right, winners)}, rounds)
    return {"kind": kind, "votes": n_votes, "seconds": seconds}
