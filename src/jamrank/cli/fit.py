"""``jamrank fit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.errors import FeatureError, InputError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.engines import Choice
    from jamrank.io.parted import Votes
    from jamrank.models import RankingModel

__all__ = ["fit", "fitted_files"]

_MEMORY = "2GB"
_ALIASES = {"mv": "MajorityVote", "bt": "BradleyTerry"}
_OUTPUTS = "ranking.csv, annotators.csv, pairs.csv, model.json and report.html (with features: features.csv)"


@click.command(
    epilog="""\b
Examples:
  jamrank fit votes.csv
  jamrank fit votes.csv --out results
  jamrank fit votes.parquet --features items.csv --model VRJAM --out results
  jamrank fit votes.csv --json --quiet | jq .ranking
  jamrank fit folder-of-parquet --memory 2GB --scratch /large/disk --out results
  jamrank fit folder-of-parquet --engine dask --scheduler tcp://10.0.0.1:8786 --out results

Exit code 0 when done, 2 when the input cannot be used."""
)
@click.argument("votes", metavar="VOTES")
@click.option("--features", metavar="FILE", help="Features of the items: CSV or Parquet, ids in column 'item'.")
@click.option(
    "--model",
    "model_name",
    default="JAM",
    show_default=True,
    help="MajorityVote (mv), IAM, JAM, VRJAM, BradleyTerry (bt), CrowdBT, Borda, Copeland, HodgeRank, RankCentrality "
    "or WinRate.",
)
@click.option("--out", metavar="DIR", help=f"Write {_OUTPUTS} there.")
@click.option("--max-iter", type=int, help="Most EM iterations.")
@click.option("--tol", type=float, help="Stop this close to the limit.")
@click.option(
    "--engine",
    metavar="NAME",
    help="Where the fit runs: memory, disk, dask or auto, by the votes and by what is there; auto unless given.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Fit on the dask cluster there; without it, dask on this machine."
)
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes of dask on this machine.")
@click.option("--memory", metavar="SIZE", help="Fit Parquet from disk with so much memory, such as 2GB.")
@click.option("--scratch", metavar="DIR", help="Where a fit from disk keeps its files while it runs.")
@click.option("--keep-scratch", is_flag=True, help="Leave these files for the next fit of the same votes.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="Print no tables, notes or progress.")
def fit(
    votes: str,
    features: str | None,
    model_name: str,
    out: str | None,
    max_iter: int | None,
    tol: float | None,
    engine: str | None,
    scheduler: str | None,
    workers: int | None,
    memory: str | None,
    scratch: str | None,
    keep_scratch: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rank the items of a file of VOTES and judge its annotators.

    VOTES has the columns annotator, left, right and winner (left, right or tie), and if need be weight and question.
    Without --features, JAM gives every item a score of its own; IAM and VRJAM need features.

    With --memory, votes that are too many for memory stay on disk: JAM, CrowdBT and BradleyTerry fit them part by
    part. A run that was killed goes on where it was when the same command is given again.

    With --engine dask they fit on a cluster, which needs jamrank[cluster]. Its workers must be able to read VOTES.
    """
    from time import perf_counter

    from rich.console import Console

    from jamrank.cli.display import print_summary, stage
    from jamrank.io import (
        check_folder,
        ensure_folder,
        read_features,
        write_together,
    )
    from jamrank.io.parted import PartedComparisons
    from jamrank.io.store import StoredComparisons

    progress = Console(stderr=True)
    model = _make_model(model_name, max_iter, tol, verbose=progress.is_terminal and not quiet)
    if out is not None:
        check_folder(out)
    with stage(progress, f"reading {features}", quiet or features is None):
        known = None if features is None else read_features(features)
    choice = _choose_engine(model, votes, engine, scheduler or workers, memory or scratch)
    if engine is None and choice.name != "memory" and not quiet:
        click.echo(f"note: engine {choice.name}: {choice.why}", err=True)
    options = {"scheduler": scheduler, "workers": workers, "memory": memory, "scratch": scratch}
    table = _open_votes(choice, votes, options, progress, quiet)
    if engine is not None and "engine" in model.get_params():
        model.set_params(engine=engine)
    if known is not None and model._ignores_features and not quiet:
        click.echo(f"note: {type(model).__name__} uses no features", err=True)
    begin = perf_counter()
    try:
        model.fit(table, known)
    except InputError as error:
        raise error.within(features if features and isinstance(error, FeatureError) else votes) from None
    seconds = perf_counter() - begin
    if out is not None:
        with stage(progress, f"writing to {out}", quiet):
            write_together(
                ensure_folder(out), fitted_files(model, table, votes, _facts(model, votes, features, seconds, choice))
            )
    if as_json:
        click.echo(_as_json(model))
    elif not quiet:
        console = Console()
        print_summary(console, model, table, seconds)
        where = f"Wrote {_OUTPUTS} to {out}." if out else f"Add --out DIR to write {_OUTPUTS}."
        if isinstance(table, PartedComparisons):
            where = where.replace(", pairs.csv", "")
        console.print(where, highlight=False, soft_wrap=True)
    if isinstance(table, StoredComparisons) and not keep_scratch:
        table.delete()


def _choose_engine(model: RankingModel, votes: str, engine: str | None, of_dask: Any, of_disk: Any) -> Choice:
    """Return the engine that was asked for, by name or by one of its options, or else that suits."""
    from jamrank.engines import Choice, choose

    asked = engine or ("dask" if of_dask else "disk" if of_disk else "auto")
    if of_dask and asked != "dask":
        raise ParameterError(f"--scheduler and --workers are for --engine dask, not for {asked}")
    choice = choose(asked, votes, model._from_disk)
    if choice.name in ("disk", "dask") and not model._from_disk:
        told = "JAM, CrowdBT and BradleyTerry fit from disk and on clusters"
        raise ParameterError(f"{type(model).__name__} needs the votes in memory; {told}")
    return Choice(asked, "an option of it was given") if engine is None and asked != "auto" else choice


def _open_votes(choice: Choice, votes: str, options: dict[str, Any], console: Console, quiet: bool) -> Votes:
    """Bring the votes to where the engine wants them, and show how far that is."""
    from jamrank.cli.display import stage
    from jamrank.engines import bring

    if choice.name == "disk":
        return _store(votes, options["scratch"], options["memory"] or _MEMORY, console, quiet)
    if choice.name == "dask":
        return _distribute(votes, options, console, quiet)
    with stage(console, f"reading {votes}", quiet):
        return bring(choice, votes)


def _distribute(votes: str, options: dict[str, Any], console: Console, quiet: bool) -> Votes:
    """Encode votes on a cluster, after saying where to watch it."""
    import logging

    from jamrank.cli.display import counting
    from jamrank.io.cluster import Cluster
    from jamrank.io.distributed import distribute
    from jamrank.text import many

    with counting(console, quiet) as progress:
        cluster = Cluster.connect(options["scheduler"], options["workers"], options["scratch"])
        # What goes wrong is told in one line, not in the log of every connection.
        logging.disable(logging.CRITICAL)
        if not quiet:
            cluster.require_workers()
            told = f"{many(cluster.n_workers, 'dask worker')} at {cluster.address}, dashboard at {cluster.dashboard}"
            click.echo(f"note: {told}", err=True)
        return distribute(cluster, votes, progress=progress)


def _store(votes: str, scratch: str | None, memory: str, console: Console, quiet: bool) -> Votes:
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


def _make_model(name: str, max_iter: int | None, tol: float | None, verbose: bool) -> RankingModel:
    from jamrank.models import MODELS

    by_name = {known.lower(): model for known, model in MODELS.items()}
    wanted = _ALIASES.get(name.lower(), name).lower()
    if wanted not in by_name:
        raise ParameterError(f"--model {name}: no such model; known are {', '.join(MODELS)}")
    model: RankingModel = by_name[wanted]()
    asked = {"max_iter": max_iter, "tol": tol, "verbose": verbose or None}
    known = model.get_params()
    for option, value in asked.items():
        if value is None:
            continue
        if option in known:
            model.set_params(**{option: value})
        elif option != "verbose":
            raise ParameterError(f"--{option.replace('_', '-')} means nothing to {type(model).__name__}")
    return model


def _facts(model: RankingModel, votes: str, features: str | None, seconds: float, choice: Choice) -> dict[str, str]:
    import platform
    import shlex
    import sys

    import numpy as np

    from jamrank import __version__
    from jamrank.kernels import compiled

    facts = {
        "Command": shlex.join(["jamrank", *sys.argv[1:]]),
        "Votes": votes,
        "Features": features or "none",
        "Model": repr(model),
        "Iterations": f"{model.n_iter_} ({model.n_passes_} passes over the votes)",
        "Seconds": f"{seconds:.2f}",
        "Intervals": "95 %, by a normal approximation at the fitted values",
        "Versions": f"jamrank {__version__}, numpy {np.__version__}, Python {platform.python_version()}",
        "Kernels": "compiled" if compiled else "numpy",
        "Engine": f"{choice.name}: {choice.why}",
    }
    if model.log_likelihood_ is not None:
        facts["Log-likelihood"] = f"{model.log_likelihood_:.4f}"
    return facts


def fitted_files(model: RankingModel, votes: Votes, title: str, facts: dict[str, str]) -> dict[str, str]:
    """Return the files that a fit leaves behind, by name."""
    from jamrank.report import describe, render

    report = describe(model, votes, f"jamrank: {title}", facts)
    files = {
        "ranking.csv": report.ranking.write_csv(),
        "annotators.csv": report.annotators.write_csv(),
        "model.json": model.to_json(),
        "report.html": render(report),
    }
    if report.pairs is not None:
        files["pairs.csv"] = report.pairs.write_csv()
    if model.features_ is not None:
        files["features.csv"] = model.features_.write_csv()
    return files


def _as_json(model: RankingModel) -> str:
    import json

    import polars as pl

    def rows(frame: Any) -> list[dict[str, Any]]:
        return pl.DataFrame(frame).to_dicts()

    return json.dumps(
        {
            "model": type(model).__name__,
            "converged": model.converged_,
            "iterations": model.n_iter_,
            "log_likelihood": model.log_likelihood_,
            "ties_left_out": 0.0 if model._uses_ties else model.n_ties_,
            "ranking": rows(model.ranking_),
            "annotators": rows(model.annotators_),
            "features": None if model.features_ is None else rows(model.features_),
        },
        indent=1,
        default=str,
        allow_nan=False,
    )
