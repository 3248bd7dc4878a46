"""What it costs to read and encode 50 million votes, beside fitting them.

``make benchmark-encoding`` writes the same votes as Parquet and as CSV, with ids as text, reads each into encoded
votes and fits them, and writes ``encoding.md`` and ``encoding.json`` beside this file.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jamrank as jr
from benchmarks import report
from benchmarks.machine import about, commit
from benchmarks.measure import alone, timed
from benchmarks.votes import draw

SEED, VOTES, QUICK_VOTES, ROUNDS = 0, 50_000_000, 50_000, 3
ITEMS, ANNOTATORS = 10_000, 1_000
MODELS = ("CrowdBT", "JAM")
PEAK = "peak bytes a vote, reading"


def write_votes(folder: Path, n_votes: int) -> dict[str, Path]:
    """Write the votes in the canonical columns."""
    votes, _ = draw(ITEMS, ANNOTATORS, n_votes, SEED)

    def named(prefix: str, codes: np.ndarray, number: int) -> pl.Series:
        names = pl.Series([f"{prefix}{code}" for code in range(number)])
        return names.gather(codes)

    frame = pl.DataFrame(
        {
            "annotator": named("annotator-", votes.annotator, ANNOTATORS),
            "left": named("item-", votes.left, ITEMS),
            "right": named("item-", votes.right, ITEMS),
            "winner": pl.Series(["right", "left"]).gather(votes.left_won.astype(np.int64)),
        }
    )
    paths = {"Parquet": folder / "votes.parquet", "CSV": folder / "votes.csv"}
    frame.write_parquet(paths["Parquet"])
    frame.write_csv(paths["CSV"])
    return paths


def measure(path: str, model: str) -> dict[str, float]:
    """Time one reading and one fit, in a process of their own."""
    votes, reading = timed(lambda: jr.read_comparisons(path))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fitted, fitting = timed(lambda: getattr(jr, model)().fit(votes))
    return {
        "reading": reading,
        "fitting": fitting,
        "passes": fitted.result_.convergence.n_passes,
        "pairs": votes.n_pairs,
        "peak": peak,
    }


def as_markdown(rows: list[dict[str, Any]], made_with: dict[str, str]) -> str:
    head = [
        "# Reading and encoding compared with fitting",
        "",
        "Reading is from the file, with text ids, to encoded votes; fitting is from there to scores and flips. Each",
        "is timed in a new process, with the file in the system's cache. Required: reading takes no longer than",
        "fitting. ",
    ]
    table = report.table(
        [
            "file",
            "votes",
            "distinct pairs",
            "model",
            "reading s",
            "fitting s",
            "passes",
            "reading / fitting",
            "met",
            PEAK,
        ],
        [
            [
                row["file"],
                f"{row['votes']:,}",
                f"{row['pairs']:,}",
                row["model"],
                report.seconds(row["reading"]),
                report.seconds(row["fitting"]),
                str(row["passes"]),
                f"{row['reading'] / row['fitting']:.2f}",
                "yes" if row["reading"] <= row["fitting"] else "no",
                f"{row['peak'] / row['votes']:.0f}",
            ]
            for row in rows
        ],
    )
    return "\n".join([*head, *table, *report.made_with(made_with)])


def main() -> None:
    given = report.arguments(report.parser("encoding", __doc__ or ""))
    begun_at = commit()
    n_votes, rounds = (QUICK_VOTES, 1) if given.quick else (VOTES, ROUNDS)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        paths = alone(write_votes, Path(folder), n_votes)
        for model in MODELS:
            for kind, path in paths.items():
                report.say(f"{kind}, {model}\n")
                trials = [alone(measure, str(path), model) for _ in range(rounds)]
                middle = {key: statistics.median(trial[key] for trial in trials) for key in trials[0]}
                rows.append({"file": kind, "model": model, "votes": n_votes, **middle})
                rows[-1] |= {"passes": int(middle["passes"]), "pairs": int(middle["pairs"])}
    made_with = {"seed": str(SEED), "rounds": f"{rounds}; medians", **about(begun_at, "polars")}
    report.write(given.out, "encoding", as_markdown(rows, made_with), {"about": made_with, "results": rows})


if __name__ == "__main__":
    main()
