"""``jamrank export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from jamrank.models import RankingModel

__all__ = ["export", "kinds_of", "shown_ranking"]


def shown_ranking(model: RankingModel, scale: str, anchor: str | None) -> Any:
    """Return the ranking as it is, or on the scale that was asked for."""
    return model.ranking_ if (scale, anchor) == ("logit", None) else model.ranking_on(scale, anchor)


def kinds_of(told: str | None) -> list[str]:
    """Return the exports that a comma-separated option names."""
    from jamrank.report.exports import EXPORTS

    kinds = [kind.strip().lower() for kind in (told or "").split(",") if kind.strip()]
    unknown = [kind for kind in kinds if kind not in EXPORTS]
    if unknown or (told is not None and not kinds):
        raise ParameterError(f"no export {unknown[0] if unknown else told!r}; there are {', '.join(EXPORTS)}")
    return kinds


@click.command(
    epilog="""\b
Examples:
  jamrank export results/model.json --to markdown
  jamrank export results/model.json --to markdown --scale elo --anchor gpt-4
  jamrank export results/model.json --to preferences --least 0.8
  jamrank export results/model.json --to parquet,json --out elsewhere
  jamrank export ledger.db
  jamrank export postgresql://ann@host/votes --to parquet --out elsewhere

\b
Kinds:
  parquet      ranking.parquet, annotators.parquet, pairs.parquet
  json         results.json: all of it
  preferences  preferences.csv: chosen, rejected, votes, confidence, weight; for training reward models
  markdown     leaderboard.md
Of a ledger, the votes with time, order and how each pair was chosen:
  csv          votes.csv (the default)
  parquet      votes.parquet

Exit code 0 when done, 2 when the model cannot be used."""
)
@click.argument("model", metavar="MODEL")
@click.option("--to", "kinds", metavar="KINDS", help="What to write: one or more, with commas.")
@click.option("--out", metavar="DIR", help="Where to write; beside MODEL unless given.")
@click.option(
    "--scale", type=click.Choice(["logit", "elo"]), default="logit", show_default=True, help="Of the scores."
)
@click.option("--anchor", metavar="ITEM", help="The item whose score is 0 (logit) or 1000 (elo); else their mean.")
@click.option("--least", type=float, default=0.6, show_default=True, help="Least confidence of a preference.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def export(
    model: str, kinds: str | None, out: str | None, scale: str, anchor: str | None, least: float, quiet: bool
) -> None:
    """Write what a MODEL found in the forms that other programs take; MODEL is a model.json from jamrank fit.

    Or the votes of a ledger: a file or the URL of a database to which jamrank jury or jamrank studio has written.
    """
    from jamrank.io import check_folder, ensure_folder, write_together
    from jamrank.io.sources import is_source, is_url

    where = ("." if is_url(model) else str(Path(model).parent)) if out is None else out
    check_folder(where)
    if is_source(model):
        files = _votes(model, kinds or "csv")
    else:
        from jamrank.models import load
        from jamrank.report.exports import exported

        if kinds is None:
            raise ParameterError("--to is missing; say what to write, such as --to markdown")
        wanted = kinds_of(kinds)
        fitted = load(model)
        files = exported(fitted, wanted, ranking=shown_ranking(fitted, scale, anchor), least=least)
    write_together(ensure_folder(where), files)
    if not quiet:
        click.echo(f"Wrote {', '.join(files)} to {where}.")


def _votes(ledger: str, kinds: str) -> dict[str, str | bytes]:
    """Return the votes of a ledger as files, by name."""
    from jamrank.io.sources import load_source
    from jamrank.report.exports import parquet_bytes

    wanted = [kind.strip().lower() for kind in kinds.split(",") if kind.strip()]
    unknown = [kind for kind in wanted if kind not in ("csv", "parquet")]
    if unknown or not wanted:
        raise ParameterError(f"no export {unknown[0] if unknown else kinds!r} of a ledger; there are csv, parquet")
    votes = load_source(ledger)
    files: dict[str, str | bytes] = {"votes.csv": votes.write_csv()} if "csv" in wanted else {}
    return files | ({"votes.parquet": parquet_bytes(votes)} if "parquet" in wanted else {})
