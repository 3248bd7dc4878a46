"""``jamrank export``."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["export"]


@click.command(
    epilog="""\b
Examples:
  jamrank export results/model.jamrank --to markdown
  jamrank export results/model.jamrank --to markdown --scale elo --anchor gpt-4
  jamrank export results/model.jamrank --to preferences --least 0.8
  jamrank export results/model.jamrank --to parquet,json --out elsewhere

\b
Kinds:
  parquet      ranking.parquet, annotators.parquet, pairs.parquet
  json         results.json: everything
  preferences  preferences.csv: chosen, rejected, votes, confidence, weight; for training reward models
  markdown     leaderboard.md

Exit code 0 if done, 2 if the model cannot be used."""
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--to", "kinds", metavar="KINDS", required=True, help="What to write: one or more kinds, comma-separated."
)
@click.option("--out", metavar="DIR", help="Folder to write to; by default that of MODEL.")
@click.option(
    "--scale", type=click.Choice(["logit", "elo"]), default="logit", show_default=True, help="Scale of the scores."
)
@click.option(
    "--anchor", metavar="ITEM", help="The item with score 0 (logit) or 1000 (elo); by default the mean of all items."
)
@click.option("--least", type=float, default=0.6, show_default=True, help="Smallest confidence of a preference.")
@click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="Make CSV files safe to open in a spreadsheet: no text becomes a formula.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def export(
    model: str,
    kinds: str,
    out: str | None,
    scale: str,
    anchor: str | None,
    least: float,
    spreadsheet_safe: bool,
    quiet: bool,
) -> None:
    """Write the results of a fit for other programs; MODEL is the model file from jamrank fit."""
    from rich.console import Console

    from jamrank.cli.messages import say
    from jamrank.cli.request import export_kinds
    from jamrank.io import check_folder, ensure_folder, recover_run, write_together
    from jamrank.models import load
    from jamrank.report.exports import exported
    from jamrank.report.result_tables import ResultTables

    wanted = export_kinds(kinds)
    folder = str(Path(model).parent) if out is None else out
    check_folder(folder)
    recover_run(Path(model).parent)
    tables = ResultTables(load(model).result_, scale=scale, anchor=anchor)
    files = exported(tables, wanted, least=least, spreadsheet_safe=spreadsheet_safe)
    write_together(ensure_folder(folder), files)
    if not quiet:
        say(Console(), f"Wrote {', '.join(files)} to {folder}.")
