"""``jamrank compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import named, read_votes, tell, votes_options
from jamrank.errors import FeatureError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.selection import Comparison

__all__ = ["compare"]

_TITLES = {
    "vote": "Votes held out one by one (others on the pair are known)",
    "pair": "Pairs held out with all their votes",
}
_ALIKE = ", annotators alike"


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
@click.option("--model", "models", multiple=True, help="Compare this model; repeat for more. All unless given.")
@click.option("--folds", default=5, show_default=True, help="Parts of which each is held out in turn.")
@click.option("--max-votes", default=1_000_000, show_default=True, help="Of more votes, compare on so many.")
@click.option("--out", metavar="FILE", help="Write the table there: CSV or, by its suffix, JSON with all there is.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="Print no tables, notes or progress.")
def compare(
    votes: tuple[str, ...],
    form: str | None,
    mapping: tuple[str, ...],
    words: tuple[str, ...],
    features: str | None,
    models: tuple[str, ...],
    folds: int,
    max_votes: int,
    out: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say which model foretells VOTES best that were held out from it, and whether modelling annotators helps.

    Each model is fitted to four fifths of the votes and asked how likely the others were, for each fifth in turn. The
    loss of a vote is minus the logarithm of its probability, in nats: 0.693 is a coin toss, lower is better.
    """
    from rich.console import Console

    from jamrank.cli.display import counting, stage
    from jamrank.io import read_features, write_atomically
    from jamrank.selection import compare as hold_out

    console = Console(stderr=True)
    with stage(console, f"reading {features}", quiet or features is None):
        known = None if features is None else read_features(features)
    with stage(console, f"reading {named(votes)}", quiet):
        table = read_votes(votes, form, mapping, words)
    tell(table, quiet)
    try:
        with counting(console, quiet) as progress:
            found = hold_out(table, known, models or None, folds=folds, max_votes=max_votes, progress=progress)
    except InputError as error:
        raise error.within(features if features and isinstance(error, FeatureError) else named(votes)) from None
    if out is not None:
        write_atomically(out, as_text(found) if out.endswith(".json") else found.table.write_csv())
    if as_json:
        click.echo(as_text(found))
    elif not quiet:
        _print(Console(), found, out)


def _print(console: Console, found: Comparison, out: str | None) -> None:
    from rich.markup import escape

    from jamrank.cli.display import fitting, plain, print_table

    for sentence in found.sentences:
        console.print(escape(plain(sentence, longest=1000)), highlight=False, soft_wrap=True)
    columns = ["method", "loss", "behind", "± (95 %)", "right", "calibration"]
    for split in found.held_out:
        rows = [_row(row) for row in found.table.iter_rows(named=True) if row["split"] == split]
        kept = fitting(console, columns, rows)
        print_table(console, _TITLES[split], columns[:kept], [row[:kept] for row in rows], ends=False)
    if any(_ALIKE in name for name in found.table["model"]):
        console.print("alike: as if all annotators were equally reliable", highlight=False, soft_wrap=True)
    for name, why in found.left_out.items():
        console.print(f"{name} left out: {why}", highlight=False, soft_wrap=True)
    if out:
        console.print(f"Wrote {out}.", highlight=False, soft_wrap=True)


def _row(row: dict[str, Any]) -> list[str]:
    behind = (
        [f"{row['behind']:.4f}", f"{(row['behind_high'] - row['behind_low']) / 2:.4f}"] if row["behind"] else ["", ""]
    )
    return [
        row["model"].replace(_ALIKE, ", alike"),
        f"{row['log_loss']:.4f}",
        *behind,
        f"{row['accuracy']:.1%}",
        f"{row['calibration_error']:.3f}",
    ]


def as_text(found: Comparison) -> str:
    """Return a comparison as JSON."""
    import json
    import math

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    def rows(frame: Any) -> list[dict[str, Any]]:
        return [{name: plain(value) for name, value in row.items()} for row in frame.to_dicts()]

    told = {
        "choice": found.choice,
        "sentences": found.sentences,
        "votes": found.n_votes,
        "votes_compared": found.n_compared,
        "left_out": found.left_out,
        "models": rows(found.table),
        "reliability": rows(found.reliability),
    }
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
