"""What it costs to read and encode 50 million votes, beside fitting them.

``make benchmark-encoding`` writes the same votes with ids as text: as Parquet, as CSV in jamrank's own columns, and
as CSV in other columns with other words for the winner, quoted where fields have commas. It reads each
into encoded votes and fits them, and writes ``encoding.md`` and ``encoding.json`` beside this file. Only one of the
files exists at a time; ``--votes`` sets another number of votes.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
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
KINDS = ("Parquet", "CSV", "CSV, other columns, quoted")
PEAK, MOST_BYTES, MOST_TIME = "peak bytes a vote, reading", 60.0, 1.0


def write_votes(kind: str, folder: Path, n_votes: int) -> Path:
    """Write the votes in the canonical columns, or in those of Chatbot Arena; return the file."""
    votes, _ = draw(ITEMS, ANNOTATORS, n_votes, SEED)
    own = kind != KINDS[2]
    item = "item-" if own else "model, no. "

    def named(prefix: str, codes: np.ndarray, number: int) -> pl.Series:
        names = pl.Series([f"{prefix}{code}" for code in range(number)])
        return names.gather(codes)

    frame = pl.DataFrame(
        {
            "annotator": named("annotator-", votes.annotator, ANNOTATORS),
            "left": named(item, votes.left, ITEMS),
            "right": named(item, votes.right, ITEMS),
            "winner": pl.Series(["right", "left"] if own else ["model_b", "model_a"]).gather(
                votes.left_won.astype(np.int64)
            ),
        }
    )
    path = folder / ("votes.parquet" if kind == "Parquet" else "votes.csv")
    if kind == "Parquet":
        frame.write_parquet(path)
    elif own:
        frame.write_csv(path)
    else:
        language = pl.Series(["en", "de", "fr"]).gather(np.arange(n_votes) % 3).alias("language")
        theirs = frame.rename({"annotator": "judge", "left": "model_a", "right": "model_b"})
        theirs.with_columns(language).write_csv(path, quote_style="necessary")
    return path


def measure(path: str, model: str) -> dict[str, float]:
    """Time one reading and one fit, in a process of their own."""
    begin = time.process_time()
    votes, reading = timed(lambda: jr.read_comparisons(path))
    peak, read = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    fitted, fitting = timed(lambda: getattr(jr, model)().fit(votes))
    return {
        "reading": reading,
        "fitting": fitting,
        "reading processor": read - begin,
        "fitting processor": time.process_time() - read,
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
        f"fitting, and at most {MOST_BYTES:g} bytes of memory a vote, those of Python and its libraries included.",
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
            "the same in processor time",
            PEAK,
            "met",
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
                _met(row["reading"] / row["fitting"], MOST_TIME),
                f"{row['reading processor'] / row['fitting processor']:.2f}",
                f"{row['peak'] / row['votes']:.0f}",
                _met(row["peak"] / row["votes"], MOST_BYTES),
            ]
            for row in rows
        ],
    )
    return "\n".join([*head, *table, *report.made_with(made_with)])


def _met(found: float, asked: float) -> str:
    return "yes" if found <= asked else "no"


def main() -> None:
    parser = report.parser("encoding", __doc__ or "")
    parser.add_argument("--votes", type=int, help=f"how many votes; {VOTES:,} unless given")
    given = report.arguments(parser)
    begun_at = commit()
    n_votes, rounds = (QUICK_VOTES, 1) if given.quick else (VOTES, ROUNDS)
    n_votes = given.votes or n_votes
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            path = alone(write_votes, kind, Path(folder), n_votes)
            for model in MODELS:
                report.say(f"{kind}, {model}\n")
                trials = [alone(measure, str(path), model) for _ in range(rounds)]
                middle = {key: statistics.median(trial[key] for trial in trials) for key in trials[0]}
                rows.append({"file": kind, "model": model, "votes": n_votes, **middle})
                rows[-1] |= {"passes": int(middle["passes"]), "pairs": int(middle["pairs"])}
    made_with = {"seed": str(SEED), "rounds": f"{rounds}; medians", **about(begun_at, "polars")}
    report.write(given.out, "encoding", as_markdown(rows, made_with), {"about": made_with, "results": rows})


if __name__ == "__main__":
    main()
