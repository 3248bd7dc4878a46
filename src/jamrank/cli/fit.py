"""``jamrank fit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import votes_options
from jamrank.cli.results import MODEL_FILE, OUTPUTS
from jamrank.cli.types import ANCHOR, FINITE, SCALE, SPREADSHEET_SAFE

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.cli.request import FitRequest
    from jamrank.cli.run import FitOutcome


@click.command(
    epilog="""\b
Examples:
  jamrank fit votes.csv
  jamrank fit votes.csv --out results
  jamrank fit votes.parquet --features items.csv --model VRJAM --out results
  jamrank fit votes.csv --model JAM --noise two-coin --ties davidson
  jamrank fit votes.csv --features items.csv --model JAM --scorer linear+objects
  jamrank fit battles.json.gz --format chatbot-arena
  jamrank fit a.csv b.csv --map left=first,right=second,winner=better,annotator=who
  jamrank fit votes.csv --map question=prompt
  jamrank fit pairs.csv --map left=arg1,right=arg2,winner=label,annotator=worker --winner a1=left,a2=right,equal=tie
  jamrank fit votes.csv --json --quiet | jq .ranking
  jamrank fit votes.csv --scale elo --anchor gpt-4 --out results --export markdown
  jamrank fit votes.csv --by language
  jamrank fit votes.csv --gold known.csv
  jamrank fit votes.csv --model FamilyBT
  jamrank fit votes.csv --families families.csv
  jamrank fit votes.csv --covariates len_diff,same_family,side
  jamrank fit votes.csv --without ann,bob
  jamrank fit votes.csv --skip-bad-rows
  jamrank fit votes.csv --show pictures/ --out results
  jamrank fit votes.csv more-votes.csv --start results/model.jamrank --out results
  jamrank fit folder-of-parquet --memory 2GB --scratch /large/disk --out results
  jamrank fit folder-of-parquet --engine dask --scheduler tcp://10.0.0.1:8786 --out results

Exit code 0 when done, 2 when the input cannot be used."""
)
@votes_options
@click.option(
    "--features", metavar="FILE", help="Features of the items: CSV or Parquet, with the ids in column 'item'."
)
@click.option(
    "--model",
    "model_name",
    default="auto",
    show_default=True,
    help="auto (chosen by held-out votes), MajorityVote (mv), IAM, JAM, VRJAM, KernelJAM, BradleyTerry (bt), "
    "CovariateBT, MixedBT, CrowdBT, FamilyBT, TasteBT, AmElo, DawidSkene, Borda, Copeland, HodgeRank, RankCentrality "
    "or WinRate.",
)
@click.option("--out", metavar="DIR", help=f"Write {OUTPUTS} to that folder.")
@click.option(
    "--scorer",
    metavar="NAME",
    help="How scores are modelled: objects, linear, kernel, linear+objects or kernel+objects.",
)
@click.option(
    "--noise",
    type=click.Choice(["flip", "two-coin", "difficulty"]),
    help="Error model of the annotators; two-coin has one error rate for each side, difficulty has hard pairs.",
)
@click.option("--ties", type=click.Choice(["auto", "davidson", "half", "leave out"]), help="How to treat tie votes.")
@SPREADSHEET_SAFE
@click.option(
    "--export",
    metavar="KINDS",
    help="With --out, also write: parquet, json, preferences, dpo, markdown (comma-separated).",
)
@click.option("--by", metavar="COLUMN", help="Also fit a ranking for each value of this column.")
@SCALE
@ANCHOR
@click.option(
    "--show",
    metavar="DIR|FILE",
    help="Show items in the report: a folder of pictures or texts named after the items, or a table with columns "
    "item and text (FILE:COLUMN for another column).",
)
@click.option("--gold", metavar="FILE", help="Gold pairs, whose truth is known: columns left, right, winner.")
@click.option(
    "--start",
    metavar="MODEL",
    help=f"Start from the {MODEL_FILE} of an earlier fit; faster after new votes were added.",
)
@click.option(
    "--families",
    metavar="FILE",
    help="Families of annotators who think alike: columns annotator, family. Fits FamilyBT.",
)
@click.option(
    "--covariates",
    metavar="COLUMNS",
    help="Take the effects of these columns on votes out of the ranking: numbers, left minus right, comma-separated; "
    "side for the side itself. Fits CovariateBT.",
)
@click.option("--reference", metavar="ANNOTATOR", help="With --covariates: an annotator whom they do not sway.")
@click.option("--max-iter", type=int, help="Maximum number of EM iterations.")
@click.option("--tol", type=FINITE, help="Convergence tolerance.")
@click.option(
    "--engine",
    metavar="NAME",
    help="Where the fit runs: memory, gpu, disk, dask or auto (by the number of votes and the hardware).",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a dask cluster; without it, dask runs on this machine."
)
@click.option("--workers", type=click.IntRange(min=1), help="Number of dask worker processes on this machine.")
@click.option("--memory", metavar="SIZE", help="Fit Parquet from disk with this much memory, such as 2GB.")
@click.option("--scratch", metavar="DIR", help="Folder for the temporary files of a fit from disk.")
@click.option("--keep-scratch", is_flag=True, help="Keep these files for the next fit of the same votes.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="Print no tables, notes or progress.")
def fit(**options: Any) -> None:
    """Rank the items of VOTES, one file or several, and assess the annotators.

    VOTES has the columns annotator, left, right and winner (left, right or tie), and optionally weight and question;
    or it is a file of crowd-kit, Chatbot Arena, Argilla, Label Studio or another known format (see the docs).
    Unless --model names a model, it is chosen by how well it predicts held-out votes, and the reason is printed.
    IAM, VRJAM, KernelJAM and MixedBT need --features.

    With --gold, pairs whose winner is known determine the direction of the ranking. With --by, each value of a column
    also gets its own ranking.

    With --memory, votes that do not fit into memory stay on disk: JAM, CrowdBT and BradleyTerry fit them part by
    part. Repeat the command to continue a fit that was killed.

    With --engine dask, votes are fitted on a cluster, which needs jamrank[cluster]. Its workers must be able to read
    VOTES.
    """
    from rich.console import Console

    from jamrank.cli.request import FitRequest
    from jamrank.cli.run import run_fit

    request = FitRequest.parse(options)
    console = Console(stderr=True)
    outcome = run_fit(request, console)
    written = _write(outcome, request, console)
    _print(outcome, request, written)
    if not request.keep_scratch:
        _delete_scratch(outcome)


def _write(outcome: FitOutcome, request: FitRequest, console: Console) -> list[str]:
    """Write the requested files; return their names."""
    from jamrank.cli.display import stage
    from jamrank.cli.messages import note
    from jamrank.cli.results import publish_fit

    if request.out is None:
        return []
    with stage(console, f"writing to {request.out}", request.quiet):
        written, removed = publish_fit(outcome, request)
    if removed:
        note(f"removed {' and '.join(removed)} of an earlier fit from {request.out}", request.quiet)
    return written


def _print(outcome: FitOutcome, request: FitRequest, written: list[str]) -> None:
    """Print JSON or tables."""
    from rich.console import Console

    from jamrank.cli.display import print_groups, print_summary
    from jamrank.cli.messages import say
    from jamrank.cli.results import fit_json

    if request.as_json:
        click.echo(fit_json(outcome, request.by))
        return
    if request.quiet:
        return
    console = Console()
    if outcome.reason:
        say(console, f"Model: {outcome.reason}")
    print_summary(console, outcome.analysis, outcome.seconds)
    if request.by is not None and outcome.side_by_side is not None:
        where = f"{request.out}/by.csv" if request.out else "by.csv, with --out DIR,"
        print_groups(console, request.by, outcome.side_by_side, list(outcome.groups), where)
    done = f"Wrote {', '.join(written)} to {request.out}." if request.out else f"Add --out DIR to write {OUTPUTS}."
    say(console, done)


def _delete_scratch(outcome: FitOutcome) -> None:
    from jamrank.io.out_of_core.store import StoredComparisons

    if isinstance(outcome.votes, StoredComparisons):
        outcome.votes.delete()
