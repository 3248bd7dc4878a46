"""``jamrank compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import VotesRequest, report_readings, votes_options
from jamrank.errors import FeatureError, InputError
from jamrank.text import in_percent

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.selection import Comparison

_TITLES = {
    "vote": "Single votes held out (other votes on the pair may be known)",
    "pair": "All votes on a pair held out together",
    "time": "Later votes, predicted from earlier ones",
}
_POOLED = ", annotators pooled"


@click.command(
    epilog="""\b
Examples:
  jamrank compare votes.csv
  jamrank compare votes.csv --features items.csv
  jamrank compare votes.csv --model CrowdBT --model bt --folds 10
  jamrank compare votes.csv --json --quiet > comparison.json
  jamrank compare votes.csv --out comparison.csv

Exit code 0 when done, 2 when the input cannot be used."""
)
@votes_options
@click.option("--features", metavar="FILE", help="Features of the items: CSV or Parquet, ids in column 'item'.")
@click.option("--model", "models", multiple=True, help="Compare this model; repeat for more. By default all.")
@click.option("--folds", default=5, show_default=True, help="Number of folds, each held out in turn.")
@click.option(
    "--max-votes", default=1_000_000, show_default=True, help="With more votes, compare on a sample of this size."
)
@click.option(
    "--out", metavar="FILE", help="Write the table to that file: CSV, or everything as JSON, by its suffix."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="Print no tables, notes or progress.")
def compare(
    features: str | None,
    models: tuple[str, ...],
    folds: int,
    max_votes: int,
    out: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Compare models by how well they predict held-out VOTES, and report whether modelling annotators helps.

    With five folds, each model is fitted to four fifths of the votes and predicts the last fifth, for each fifth in
    turn. The loss of a vote is its negative log-probability in nats; random guessing has 0.693, and lower is better.
    """
    from rich.console import Console

    from jamrank.cli.display import counting, stage
    from jamrank.io import read_features, write_atomically
    from jamrank.report.csv_text import csv_text
    from jamrank.selection import compare as hold_out

    console = Console(stderr=True)
    with stage(console, f"reading {features}", quiet or features is None):
        known = None if features is None else read_features(features)
    request = VotesRequest(**given)
    with stage(console, f"reading {request.source}", quiet):
        table = request.read()
    report_readings(table, quiet)
    try:
        with counting(console, quiet) as progress:
            found = hold_out(table, known, models or None, folds=folds, max_votes=max_votes, progress=progress)
    except InputError as error:
        raise error.within(features if features and isinstance(error, FeatureError) else request.source) from None
    if out is not None:
        write_atomically(out, as_text(found) if out.endswith(".json") else csv_text(found.table))
    if as_json:
        click.echo(as_text(found, ascii_only=True))
    elif not quiet:
        _print(Console(), found, out)


def _print(console: Console, found: Comparison, out: str | None) -> None:
    from jamrank.cli.display import columns_that_fit, print_table
    from jamrank.cli.messages import say

    for sentence in found.sentences:
        say(console, sentence)
    ties = "tie_loss" in found.table.columns
    columns = ["model", "loss", "difference", "± (95 %)", "accuracy", *(["ties"] if ties else []), "calibration"]
    cut: set[str] = set()
    for split in found.held_out:
        rows = [_row(row) for row in found.table.iter_rows(named=True) if row["split"] == split]
        kept = columns_that_fit(console, columns, rows)
        cut.update(name for k, name in enumerate(columns[kept:], kept) if any(row[k] for row in rows))
        print_table(console, _TITLES[split], columns[:kept], [row[:kept] for row in rows], ends=False)
    if cut:
        left_out = ", ".join(name for name in columns if name in cut)
        say(console, f"too narrow for all columns ({left_out}): --out FILE writes them all")
    if any(_POOLED in name for name in found.table["model"]):
        say(console, "pooled: all annotators treated as equally reliable")
    for name, reason in found.left_out.items():
        say(console, f"{name} left out: {reason}")
    if out:
        say(console, f"Wrote {out}.")


def _row(row: dict[str, Any]) -> list[str]:
    behind = (
        [f"{row['behind']:.4f}", f"{(row['behind_high'] - row['behind_low']) / 2:.4f}"] if row["behind"] else ["", ""]
    )
    return [
        row["model"].replace(_POOLED, ", pooled"),
        f"{row['log_loss']:.4f}",
        *behind,
        in_percent(row["accuracy"]),
        *([_tie_loss(row["tie_loss"])] if "tie_loss" in row else []),
        f"{row['calibration_error']:.3f}",
    ]


def _tie_loss(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.4f}"


def as_text(found: Comparison, ascii_only: bool = False) -> str:
    """Return a comparison as JSON."""
    import json
    import math

    def finite(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    def rows(frame: Any) -> list[dict[str, Any]]:
        return [{name: finite(value) for name, value in row.items()} for row in frame.to_dicts()]

    content = {
        "choice": found.choice,
        "sentences": found.sentences,
        "votes": found.n_votes,
        "votes_compared": found.n_compared,
        "left_out": found.left_out,
        "models": rows(found.table),
        "reliability": rows(found.reliability),
    }
    return json.dumps(content, indent=1, ensure_ascii=ascii_only, allow_nan=False)
