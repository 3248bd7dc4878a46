"""``jamrank fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import named, parse_map, read_votes, tell, votes_options
from jamrank.errors import FeatureError, GoldError, InputError, ParameterError, UnknownItemError

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.comparisons import Comparisons
    from jamrank.io.store import StoredComparisons, Votes
    from jamrank.models import RankingModel

__all__ = ["command_line", "fit", "fitted_files"]

_MEMORY = "2GB"
_OUTPUTS = "ranking.csv, annotators.csv, pairs.csv, model.json and report.html (with features: features.csv)"


@click.command(
    epilog="""\b
Examples:
  jamrank fit votes.csv
  jamrank fit votes.csv --out results
  jamrank fit votes.parquet --features items.csv --model VRJAM --out results
  jamrank fit votes.csv --model JAM --noise two-coin --ties davidson
  jamrank fit battles.json.gz --format chatbot-arena
  jamrank fit a.csv b.csv --map left=first,right=second,winner=better,annotator=who
  jamrank fit votes.csv --json --quiet | jq .ranking
  jamrank fit votes.csv --scale elo --anchor gpt-4 --out results --export markdown
  jamrank fit votes.csv --by language
  jamrank fit votes.csv --gold known.csv
  jamrank fit more-votes.csv --start results/model.json --out results
  jamrank fit folder-of-parquet --memory 2GB --scratch /large/disk --out results

Exit code 0 when done, 2 when the input cannot be used."""
)
@votes_options
@click.option("--features", metavar="FILE", help="Features of the items: CSV or Parquet, ids in column 'item'.")
@click.option(
    "--model",
    "model_name",
    default="auto",
    show_default=True,
    help="auto (chosen by held-out votes), MajorityVote (mv), IAM, JAM, VRJAM, BradleyTerry (bt), CrowdBT, AmElo, "
    "DawidSkene, Borda, Copeland, HodgeRank, RankCentrality or WinRate.",
)
@click.option("--out", metavar="DIR", help=f"Write {_OUTPUTS} there.")
@click.option("--noise", type=click.Choice(["flip", "two-coin"]), help="How annotators err: two-coin knows sides.")
@click.option("--ties", type=click.Choice(["leave out", "davidson"]), help="What to do with tie votes.")
@click.option("--export", metavar="KINDS", help="With --out, also write: parquet, json, preferences, markdown.")
@click.option("--by", metavar="COLUMN", help="Rank the votes of each value of that column too, side by side.")
@click.option(
    "--scale", type=click.Choice(["logit", "elo"]), default="logit", show_default=True, help="Of the scores."
)
@click.option("--anchor", metavar="ITEM", help="The item whose score is 0 (logit) or 1000 (elo); else their mean.")
@click.option(
    "--gold", metavar="FILE", help="Pairs of known truth: columns left, right, winner. They settle the sign."
)
@click.option("--start", metavar="MODEL", help="Start from an earlier fit's model.json: quicker after new votes.")
@click.option("--max-iter", type=int, help="Most EM iterations.")
@click.option("--tol", type=float, help="Stop this close to the limit.")
@click.option("--memory", metavar="SIZE", help="Fit Parquet from disk with so much memory, such as 2GB.")
@click.option("--scratch", metavar="DIR", help="Where a fit from disk keeps its files while it runs.")
@click.option("--keep-scratch", is_flag=True, help="Leave these files for the next fit of the same votes.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="Print no tables, notes or progress.")
def fit(
    votes: tuple[str, ...],
    form: str | None,
    mapping: tuple[str, ...],
    features: str | None,
    model_name: str,
    out: str | None,
    noise: str | None,
    ties: str | None,
    export: str | None,
    by: str | None,
    scale: str,
    anchor: str | None,
    gold: str | None,
    start: str | None,
    max_iter: int | None,
    tol: float | None,
    memory: str | None,
    scratch: str | None,
    keep_scratch: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rank the items of VOTES, one file or several, and judge the annotators.

    VOTES has the columns annotator, left, right and winner (left, right or tie), and if need be weight and question;
    or it is a file of crowd-kit, Chatbot Arena, Argilla, Label Studio or another form that is known (see the docs).
    Unless --model names one, the model is chosen by how well it foretells votes that are held out from it, and the
    output says which and why. Without --features, JAM gives every item a score of its own; IAM and VRJAM need
    features.

    With --gold, pairs whose winner you know are taken for certain and settle which way the votes as a whole point.
    With --by, the votes of each value of a further column are ranked on their own too.

    With --memory, votes that are too many for memory stay on disk: JAM, CrowdBT and BradleyTerry fit them part by
    part. A run that was killed goes on where it was when the same command is given again.
    """
    from time import perf_counter

    from rich.console import Console

    from jamrank.cli.display import print_groups, print_summary, stage
    from jamrank.cli.export import kinds_of, shown_ranking
    from jamrank.io import (
        StoredComparisons,
        check_folder,
        ensure_folder,
        exported,
        read_features,
        read_gold,
        read_groups,
        write_together,
    )
    from jamrank.models import fit_groups, load, side_by_side

    progress = Console(stderr=True)
    asked = {"noise": noise, "ties": ties, "max_iter": max_iter, "tol": tol}
    earlier = None if start is None else load(start)
    if earlier is not None and model_name == "auto":
        model_name = type(earlier).__name__
    model = _make_model(model_name, asked, verbose=progress.is_terminal and not quiet)
    kinds = kinds_of(export)
    if kinds and out is None:
        raise ParameterError("--export needs --out DIR to write to")
    if by is not None and (memory or scratch):
        raise ParameterError("--by needs the votes in memory; leave out --memory and --scratch")
    if out is not None:
        check_folder(out)
    truths = None if gold is None else read_gold(gold)
    groups: dict[str, Comparisons] = {}
    with stage(progress, f"reading {features}", quiet or features is None):
        known = None if features is None else read_features(features)
    table: Votes
    if memory is None and scratch is None:
        with stage(progress, f"reading {named(votes)}", quiet):
            if by is None:
                table = read_votes(votes, form, mapping)
            else:
                table, groups = read_groups(votes, by, form, parse_map(mapping))
        tell(table, quiet)
    elif len(votes) > 1 or form or mapping:
        raise ParameterError("--memory and --scratch take one Parquet file or folder in jamrank's own form")
    else:
        table = _store(votes[0], scratch, memory or _MEMORY, progress, quiet)
    if known is not None and model._takes_features == "ignored" and not quiet:
        click.echo(f"note: {type(model).__name__} uses no features", err=True)
    begin = perf_counter()
    try:
        model, known, reason = _settle(model, table, known, truths is not None, progress, quiet)
        model._place_anchor(scale, anchor, table.items)
        model.fit(table, known, gold=truths, start=earlier)
        fitted = fit_groups(model, groups, known, truths)
    except InputError as error:
        to_blame = {FeatureError: features, GoldError: gold}.get(type(error))
        raise error.within(to_blame or named(votes)) from None
    seconds = perf_counter() - begin
    ranking = shown_ranking(model, scale, anchor)
    rankings = {name: _group_ranking(name, own, scale, anchor) for name, own in fitted.items()}
    files: dict[str, str | bytes] = {}
    if out is not None:
        with stage(progress, f"writing to {out}", quiet):
            facts = _facts(model, table, votes, features, seconds, reason)
            files = fitted_files(model, table, named(votes), facts, ranking)
            files |= exported(model, kinds, title=Path(votes[0]).stem, ranking=ranking)
            if by is not None:
                files["by.csv"] = side_by_side(ranking, rankings).write_csv()
            write_together(ensure_folder(out), files)
    if as_json:
        click.echo(_as_json(model, reason, ranking, by, rankings))
    elif not quiet:
        console = Console()
        if reason:
            console.print(f"Model chosen by held-out votes: {reason}", highlight=False, soft_wrap=True)
        print_summary(console, model, table, seconds, ranking)
        if by is not None:
            print_groups(console, by, side_by_side(ranking, rankings), list(rankings))
        where = f"Wrote {', '.join(files)} to {out}." if out else f"Add --out DIR to write {_OUTPUTS}."
        console.print(where, highlight=False, soft_wrap=True)
    if isinstance(table, StoredComparisons) and not keep_scratch:
        table.delete()


def _store(votes: str, scratch: str | None, memory: str, console: Console, quiet: bool) -> StoredComparisons:
    """Encode votes to the scratch folder, after saying how much room that takes."""
    from jamrank.cli.display import counting
    from jamrank.io.store import plan_storage, store

    plan = plan_storage(votes, scratch, memory)
    if not quiet and plan.done:
        click.echo(f"note: {plan.folder} has these votes already; going on from there", err=True)
    elif not quiet:
        size = f"{plan.scratch_bytes / 1e9:.2g} GB"
        click.echo(f"note: {plan.n_rows:,} votes need about {size} in {plan.folder}, until the fit is done", err=True)
    with counting(console, quiet) as progress:
        return store(plan, progress)


def _make_model(name: str, asked: dict[str, Any], verbose: bool) -> RankingModel:
    from jamrank.models.candidates import find_model

    model: RankingModel = find_model(name)()
    known = model.get_params()
    for option, value in asked.items():
        if value is not None and option not in known:
            raise ParameterError(f"--{option.replace('_', '-')} means nothing to {type(model).__name__}")
    given = {option: value for option, value in asked.items() if value is not None}
    return model.set_params(**given, **({"verbose": verbose} if "verbose" in known else {}))


def _settle(
    model: RankingModel, votes: Votes, features: Any, gold: bool, console: Console, quiet: bool
) -> tuple[RankingModel, Any, str | None]:
    """Return the model to fit, the features that it uses, and why it was chosen where nobody named it."""
    from jamrank.cli.display import stage
    from jamrank.models import Auto

    if not isinstance(model, Auto):
        return model, features, None
    with stage(console, "choosing a model by held-out votes", quiet):
        chosen = model.choose(votes, features, gold)
    return chosen, features if model.uses_features_ else None, model.reason_


def _facts(
    model: RankingModel,
    table: Votes,
    votes: tuple[str, ...],
    features: str | None,
    seconds: float,
    reason: str | None,
) -> dict[str, str]:
    from jamrank.kernels import compiled
    from jamrank.report import versions

    facts = {
        "Command": command_line(),
        "Votes": "; ".join(map(str, getattr(table, "readings", ()))) or named(votes),
        "Features": features or "none",
        "Model": repr(model),
        "Iterations": f"{model.n_iter_} ({model.n_passes_} passes over the votes)",
        "Seconds": f"{seconds:.2f}",
        "Intervals": "95 %, by a normal approximation at the fitted values",
        "Versions": versions(),
        "Kernels": "compiled" if compiled else "numpy",
    }
    if reason:
        facts["Chosen"] = reason
    if model.log_likelihood_ is not None:
        facts["Log-likelihood"] = f"{model.log_likelihood_:.4f}"
    return facts


def command_line() -> str:
    """Return the command that is running, as one would type it."""
    import shlex
    import sys

    return shlex.join(["jamrank", *sys.argv[1:]])


def fitted_files(
    model: RankingModel, votes: Votes, title: str, facts: dict[str, str], ranking: Any = None
) -> dict[str, str | bytes]:
    """Return the files that a fit leaves behind, by name; with ``ranking`` the scores of another scale."""
    import polars as pl

    from jamrank.report import describe, render

    report = describe(model, votes, f"Ranking from {title}", facts)
    files: dict[str, str | bytes] = {
        "ranking.csv": (report.ranking if ranking is None else pl.DataFrame(ranking)).write_csv(),
        "annotators.csv": report.annotators.write_csv(),
        "model.json": model.to_json(),
        "report.html": render(report),
    }
    if report.pairs is not None:
        files["pairs.csv"] = report.pairs.write_csv()
    if model.features_ is not None:
        files["features.csv"] = model.features_.write_csv()
    return files


def _group_ranking(name: str, model: RankingModel, scale: str, anchor: str | None) -> Any:
    from jamrank.cli.export import shown_ranking

    try:
        return shown_ranking(model, scale, anchor)
    except UnknownItemError:
        click.echo(f"note: {name} has no vote on {anchor}: its scores are around their mean", err=True)
        return shown_ranking(model, scale, None)


def _as_json(model: RankingModel, reason: str | None, ranking: Any, by: str | None, rankings: dict[str, Any]) -> str:
    import json

    import polars as pl

    from jamrank.io import results

    told = results(model, ranking) | {"chosen": reason}
    if by is not None:
        told["by"] = {"column": by, "groups": {k: pl.DataFrame(own).to_dicts() for k, own in rankings.items()}}
    return json.dumps(told, indent=1, default=str, allow_nan=False)
