"""What it costs to integrate the scores out when flips are fitted: processor time in that of an earlier joint fit.

By default they are integrated out where items have at most 100 votes each, or where there are many items for the
votes of an annotator.

``python -m benchmarks.integrated`` prints it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from typing import Any

import numpy as np
from scipy.special import expit

import jamrank as jr
from benchmarks import baseline, report

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


def seconds(votes: jr.Comparisons, **how: Any) -> tuple[float, jr.CrowdBT]:
    """Return the processor time of a fit, and the fit."""
    begun = time.process_time()
    fitted = jr.CrowdBT(**how).fit(votes)
    return time.process_time() - begun, fitted


def before(n_items: int, n_votes: int) -> float:
    """Return the processor time of a fit as by default at an earlier commit, which fitted flips jointly."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    python = str(baseline.build(baseline.COMMIT))
    command = [python, "-m", "benchmarks.integrated", "--votes", str(n_votes), "--items", str(n_items)]
    done = subprocess.run(
        command, cwd=report.HERE.parent, env=environment, capture_output=True, check=True, text=True
    )
    return float(json.loads(done.stdout))


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return for each number of items the processor time of fits, in turn, and the mean errors of the flips."""
    n_votes, found = QUICK_VOTES if quick else N_VOTES, []
    for n_items in ITEMS:
        n_items = n_items * n_votes // N_VOTES
        votes, flips = draw(n_items, n_votes)
        taken: dict[str, list[float]] = {"before": [], "joint": [], "marginal": [], "auto": []}
        errors = {}
        for _ in range(1 if quick else ROUNDS):
            taken["before"].append(before(n_items, n_votes))
            for how in ("joint", "marginal", "auto"):
                own, fitted = seconds(votes, flips=how)
                taken[how].append(own)
                errors[how] = float(np.abs(fitted.flip_ - flips).mean())
        medians = {how: statistics.median(own) for how, own in taken.items()}
        found.append({"votes": n_votes, "items": n_items, "seconds": medians, "errors": errors})
        report.say(f"{line(found[-1])}\n")
    return found


def line(one: dict[str, Any]) -> str:
    """Return what is behind a ratio."""
    taken, errors = {how: report.seconds(own) for how, own in one["seconds"].items()}, one["errors"]
    return (
        f"{one['votes']:,} votes; {taken['auto']} s / {taken['before']} s of the processor; now jointly "
        f"{taken['joint']} s, integrated out in any case {taken['marginal']} s; mean error of flips "
        f"{errors['auto']:.4f}, jointly {errors['joint']:.4f}, integrated {errors['marginal']:.4f}"
    )


if __name__ == "__main__":
    asked = report.parser("integrated", __doc__ or "")
    asked.add_argument("--votes", type=int, help="only print the processor time of one fit as by default")
    asked.add_argument("--items", type=int, help="with so many items")
    given = report.arguments(asked)
    if given.votes:
        drawn, _ = draw(given.items, given.votes)
        print(min(seconds(drawn)[0] for _ in range(2)))
    else:
        measure(given.quick)
