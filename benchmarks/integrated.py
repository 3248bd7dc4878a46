"""What it costs to integrate the scores out when flips are fitted: processor time in that of a joint fit.

By default they are integrated out where items have at most 100 votes each, or where there are many items for the
votes of an annotator.

``python -m benchmarks.integrated`` prints it.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from scipy.special import expit

import jamrank as jr
from benchmarks import report

SEED, N_VOTES, QUICK_VOTES, ROUNDS = 0, 20_000_000, 200_000, 2
# By default scores are integrated out of the first two.
ITEMS = (500_000, 20_000, 1_000)
ASKED = 1.5


def draw(n_items: int, n_votes: int) -> tuple[jr.Comparisons, np.ndarray[Any, Any]]:
    """Draw votes on random pairs by 50 annotators: flips of .05 to .45, two who toss coins and an adversary."""
    rng = np.random.default_rng(SEED)
    scores = rng.normal(size=n_items)
    flips = np.concatenate([rng.uniform(0.05, 0.45, 47), [0.5, 0.5, 0.8]])
    left, who = (rng.integers(n, size=n_votes, dtype=np.int32) for n in (n_items, len(flips)))
    right = ((left + rng.integers(1, n_items, size=n_votes, dtype=np.int32)) % n_items).astype(np.int32)
    won = (rng.random(n_votes) < expit(scores[left] - scores[right])) ^ (rng.random(n_votes) < flips[who])
    votes = jr.Comparisons.from_arrays(left, right, who, won.astype(np.float64))
    return votes, flips[np.asarray(votes.annotators, dtype=np.int64)]


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return for each number of items the processor time of fits, in turn, and the mean errors of the flips."""
    n_votes, found = QUICK_VOTES if quick else N_VOTES, []
    for n_items in ITEMS:
        n_items = n_items * n_votes // N_VOTES
        votes, flips = draw(n_items, n_votes)
        taken: dict[str, list[float]] = {"joint": [], "marginal": [], "auto": []}
        errors = {}
        for _ in range(1 if quick else ROUNDS):
            for how, own in taken.items():
                begun = time.process_time()
                fitted = jr.CrowdBT(flips=how).fit(votes)
                own.append(time.process_time() - begun)
                errors[how] = float(np.abs(fitted.flip_ - flips).mean())
        seconds = {how: statistics.median(own) for how, own in taken.items()}
        found.append({"votes": n_votes, "items": n_items, "seconds": seconds, "errors": errors})
        report.say(f"{line(found[-1])}\n")
    return found


def line(one: dict[str, Any]) -> str:
    """Return what is behind a ratio."""
    seconds, errors = one["seconds"], one["errors"]
    return (
        f"{one['votes']:,} votes; {report.seconds(seconds['auto'])} s / {report.seconds(seconds['joint'])} s of the "
        f"processor, mean error of flips {errors['auto']:.4f} / {errors['joint']:.4f}; integrated out in any case: "
        f"{report.seconds(seconds['marginal'])} s, {errors['marginal']:.4f}"
    )


if __name__ == "__main__":
    given = report.arguments(report.parser("integrated", __doc__ or ""))
    measure(given.quick)
