"""``jamrank export``."""

from __future__ import annotations

from pathlib import Path

import click

from jamrank.cli.types import ANCHOR, FINITE, SCALE, SPREADSHEET_SAFE
from jamrank.errors import ParameterError


@click.command(
    epilog="""\b
Examples:
  jamrank export results/model.jamrank --to markdown
  jamrank export results/model.jamrank --to markdown --scale elo --anchor gpt-4
  jamrank export results/model.jamrank --to preferences --least 0.8
  jamrank export results/model.jamrank --to parquet,json --out elsewhere
  jamrank export results/model.jamrank --to dpo --texts answers.csv --least 0.9
  jamrank export ledger.db
  jamrank export postgresql://ann@host/votes --to parquet --out elsewhere

\b
Kinds:
  parquet      ranking.parquet, annotators.parquet, pairs.parquet
  json         results.json: everything
  preferences  preferences.csv: chosen, rejected, votes, confidence, weight; for training reward models
  dpo          preferences.jsonl: prompt, chosen, rejected, probability, margin, votes; for DPO and reward models
  markdown     leaderboard.md
Of a ledger, the votes with time, order and how each pair was chosen:
  csv          votes.csv (the default)
  parquet      votes.parquet

Exit code 0 if done, 2 if the model cannot be used."""
)
@click.argument("model", metavar="MODEL")
@click.option("--to", "kinds", metavar="KINDS", help="What to write: one or more kinds, comma-separated.")
@click.option("--out", metavar="DIR", help="Folder to write to; by default that of MODEL.")
@SCALE
@ANCHOR
@click.option(
    "--texts", metavar="FILE|DIR", help="Texts of the items for dpo: a table with columns item and text, or a folder."
)
@click.option("--least", type=FINITE, default=0.6, show_default=True, help="Smallest confidence of a preference.")
@SPREADSHEET_SAFE
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def export(
    model: str,
    kinds: str | None,
    out: str | None,
    scale: str,
    anchor: str | None,
    texts: str | None,
    least: float,
    spreadsheet_safe: bool,
    quiet: bool,
) -> None:
    """Write the results of a fit for other programs; MODEL is the model file from jamrank fit.

    MODEL may also be a ledger, a file or database URL of jamrank jury or jamrank studio: then its votes are written.
    """
    from rich.console import Console

    from jamrank.cli.messages import say
    from jamrank.io import check_folder, ensure_folder, write_together
    from jamrank.io.sources import is_source, is_url

    folder = ("." if is_url(model) else str(Path(model).parent)) if out is None else out
    check_folder(folder)
    if is_source(model):
        files = _votes(model, kinds or "csv", spreadsheet_safe)
    else:
        files = _results(model, kinds, scale, anchor, texts, least, spreadsheet_safe)
    write_together(ensure_folder(folder), files)
    if not quiet:
        say(Console(), f"Wrote {', '.join(files)} to {folder}.")


def _results(
    model: str,
    kinds: str | None,
    scale: str,
    anchor: str | None,
    texts: str | None,
    least: float,
    spreadsheet_safe: bool,
) -> dict[str, str | bytes]:
    """Return the results of a fit as files, by name."""
    from jamrank.cli.request import export_kinds
    from jamrank.io import recover_run
    from jamrank.models import load
    from jamrank.report.exports import exported
    from jamrank.report.result_tables import ResultTables
    from jamrank.selection.judging import assessed

    if kinds is None:
        raise ParameterError("--to is missing; choose what to write, such as --to markdown")
    wanted = export_kinds(kinds)
    recover_run(Path(model).parent)
    tables = ResultTables(assessed(load(model)), scale=scale, anchor=anchor)
    if texts is not None and "dpo" not in wanted:
        raise ParameterError("--texts is for --to dpo")
    written = {} if texts is None else _texts(texts, tables.result.items.tolist())
    return exported(tables, wanted, least=least, texts=written, spreadsheet_safe=spreadsheet_safe)


def _texts(where: str, items: list[object]) -> dict[str, str]:
    """Return the text of every item."""
    from jamrank.errors import InputError
    from jamrank.io.item_files import read_item_files
    from jamrank.text import many

    found = read_item_files(where, items)
    missing = [str(item) for item in items if str(item) not in found]
    if missing:
        problem = f"no text of {many(len(missing), 'item')}, such as {missing[0]}"
        raise InputError(problem, "expected one for every item", source=where)
    try:
        return {name: content.decode("utf-8") for name, content in found.items()}
    except UnicodeDecodeError:
        raise InputError("a file that is not UTF-8 text", "expected texts", source=where) from None


def _votes(ledger: str, kinds: str, spreadsheet_safe: bool) -> dict[str, str | bytes]:
    """Return the votes of a ledger as files, by name."""
    from jamrank.io.sources import load_source
    from jamrank.report.csv_text import csv_text
    from jamrank.report.exports import parquet_bytes

    wanted = [kind.strip().lower() for kind in kinds.split(",") if kind.strip()]
    unknown = [kind for kind in wanted if kind not in ("csv", "parquet")]
    if unknown or not wanted:
        raise ParameterError(f"no export {unknown[0] if unknown else kinds!r} of a ledger; there are csv, parquet")
    votes = load_source(ledger)
    files: dict[str, str | bytes] = {"votes.csv": csv_text(votes, spreadsheet_safe)} if "csv" in wanted else {}
    return files | ({"votes.parquet": parquet_bytes(votes)} if "parquet" in wanted else {})
