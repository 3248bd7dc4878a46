"""``jamrank fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import named, votes_options
from jamrank.cli.results import OUTPUTS
from jamrank.errors import FeatureError, GoldError, InputError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

__all__ = ["fit"]


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
  jamrank fit more-votes.csv --start results/model.json --out results
  jamrank fit folder-of-parquet --memory 2GB --scratch /large/disk --out results
  jamrank fit folder-of-parquet --engine dask --scheduler tcp://10.0.0.1:8786 --out results

Exit code 0 when done, 2 when the input cannot be used."""
)
@votes_options
@click.option("--features", metavar="FILE", help="Features of the items: CSV or Parquet, ids in column 'item'.")
@click.option(
    "--model",
    "model_name",
    default="auto",
    show_default=True,
    help="auto (chosen by held-out votes), MajorityVote (mv), IAM, JAM, VRJAM, KernelJAM, BradleyTerry (bt), "
    "MixedBT, CrowdBT, AmElo, DawidSkene, Borda, Copeland, HodgeRank, RankCentrality or WinRate.",
)
@click.option("--out", metavar="DIR", help=f"Write {OUTPUTS} there.")
@click.option(
    "--scorer",
    metavar="NAME",
    help="Where scores come from: objects, linear, kernel, linear+objects, kernel+objects.",
)
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
@click.option(
    "--engine",
    metavar="NAME",
    help="Where the fit runs: memory, gpu, disk, dask or auto, by the votes and by what is there; auto unless given.",
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
    votes: tuple[str, ...],
    form: str | None,
    mapping: tuple[str, ...],
    words: tuple[str, ...],
    features: str | None,
    model_name: str,
    out: str | None,
    scorer: str | None,
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
    engine: str | None,
    scheduler: str | None,
    workers: int | None,
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
    output says which and why. Without --features, JAM gives every item a score of its own; IAM, VRJAM, KernelJAM and
    MixedBT need features.

    With --gold, pairs whose winner you know are taken for certain and settle which way the votes as a whole point.
    With --by, the votes of each value of a further column are ranked on their own too.

    With --memory, votes that are too many for memory stay on disk: JAM, CrowdBT and BradleyTerry fit them part by
    part. A run that was killed goes on where it was when the same command is given again.

    With --engine dask they fit on a cluster, which needs jamrank[cluster]. Its workers must be able to read VOTES.
    """
    from time import perf_counter

    from rich.console import Console

    from jamrank.cli.display import print_groups, print_summary, stage
    from jamrank.cli.engines import Source, open_votes
    from jamrank.cli.export import kinds_of, shown_ranking
    from jamrank.cli.notes import features_note, gold_note, start_note
    from jamrank.cli.results import SOMETIMES, facts_of, fitted_files, group_ranking
    from jamrank.cli.results import as_json as results_as_json
    from jamrank.io import check_folder, ensure_folder, read_features, read_gold, remove_outdated, write_together
    from jamrank.io.out_of_core.store import StoredComparisons
    from jamrank.io.sources import source_name
    from jamrank.models import load
    from jamrank.report import score_meaning
    from jamrank.report.exports import exported
    from jamrank.selection import fit_groups, side_by_side

    progress = Console(stderr=True)
    earlier = None if start is None else load(start)
    goes_on = earlier is not None and model_name == "auto"
    if goes_on:
        model_name = type(earlier).__name__
    options = {"scorer": scorer, "noise": noise, "ties": ties, "max_iter": max_iter, "tol": tol}
    model = _make_model(model_name, options, verbose=progress.is_terminal and not quiet)
    kinds = kinds_of(export)
    if kinds and out is None:
        raise ParameterError("--export needs --out DIR to write to")
    if out is not None:
        check_folder(out)
    truths = None if gold is None else read_gold(gold)
    with stage(progress, f"reading {features}", quiet or features is None):
        known = None if features is None else read_features(features)
    source = Source(votes, form, mapping, words, by, engine, scheduler, workers, memory, scratch)
    choice, table, groups = open_votes(model, source, progress, quiet)
    notes = [] if earlier is None else [start_note(earlier, table, str(start), goes_on)]
    if known is not None and model._takes_features == "ignored":
        notes.append(f"{type(model).__name__} uses no features")
    _tell(notes, quiet)
    begin = perf_counter()
    try:
        model, known, reason = _settle(model, table, known, truths is not None, progress, quiet)
        if engine is not None and "engine" in model.get_params():
            model.set_params(engine=engine)
        model._place_anchor(scale, anchor, table.items)
        model.fit(table, known, gold=truths, start=earlier)
        fitted = fit_groups(model, groups, known, truths)
    except InputError as error:
        to_blame = {FeatureError: features, GoldError: gold}.get(type(error))
        raise error.within(to_blame or named(votes)) from None
    seconds = perf_counter() - begin
    used = known is not None and model._takes_features != "ignored"
    _tell([features_note(known, table, str(features)) if used else "", gold_note(model)], quiet)
    ranking = shown_ranking(model, scale, anchor)
    rankings = {name: group_ranking(name, own, scale, anchor) for name, own in fitted.items()}
    files: dict[str, str | bytes] = {}
    if out is not None:
        with stage(progress, f"writing to {out}", quiet):
            facts = facts_of(
                model,
                "; ".join(map(str, getattr(table, "readings", ()))) or named(votes),
                features=features or "none",
                seconds=f"{seconds:.2f}",
                engine=f"{choice.name}: {choice.why}",
                chosen=reason,
            )
            side = None if by is None else (by, side_by_side(ranking, rankings))
            title = named((Path(source_name(votes[0])).name, *votes[1:]))
            files = fitted_files(model, table, title, facts, scale=scale, anchor=anchor, by=side)
            files |= exported(model, kinds, title=Path(source_name(votes[0])).stem, ranking=ranking)
            if side is not None:
                files["by.csv"] = side[1].write_csv()
            write_together(ensure_folder(out), files)
            outdated = remove_outdated(out, {name: head for name, head in SOMETIMES.items() if name not in files})
        if outdated:
            told = f"removed {' and '.join(outdated)} of an earlier fit from {out}: this one has none"
            _tell([told], quiet)
    if as_json:
        click.echo(results_as_json(model, reason, ranking, by, rankings))
    elif not quiet:
        console = Console()
        if reason:
            console.print(_why(model, reason), highlight=False, soft_wrap=True)
        print_summary(console, model, table, seconds, ranking, score_meaning(model, scale, anchor))
        if by is not None:
            where = f"{out}/by.csv" if out else "by.csv, with --out DIR,"
            print_groups(console, by, side_by_side(ranking, rankings), list(rankings), where)
        where = f"Wrote {', '.join(files)} to {out}." if out else f"Add --out DIR to write {OUTPUTS}."
        console.print(where, highlight=False, soft_wrap=True)
    if isinstance(table, StoredComparisons) and not keep_scratch:
        table.delete()


def _tell(notes: list[str], quiet: bool) -> None:
    for note in notes if not quiet else ():
        if note:
            click.echo(f"note: {' '.join(note.split())}", err=True)


def _why(model: RankingModel, reason: str) -> str:
    """Return why a model was chosen; where votes were too few to hold any out, without saying that they were."""
    few = reason.startswith(f"{type(model).__name__}, since ")
    return f"Model: {reason}" if few else f"Model chosen by held-out votes: {reason}"


def _make_model(name: str, options: dict[str, Any], verbose: bool) -> RankingModel:
    from jamrank.models.registry import find_model

    model: RankingModel = find_model(name)()
    known = model.get_params()
    for option, value in options.items():
        if value is not None and option not in known:
            raise ParameterError(f"--{option.replace('_', '-')} means nothing to {type(model).__name__}")
    given = {option: value for option, value in options.items() if value is not None}
    return model.set_params(**given, **({"verbose": verbose} if "verbose" in known else {}))


def _settle(
    model: RankingModel, votes: Votes, features: Any, gold: bool, console: Console, quiet: bool
) -> tuple[RankingModel, Any, str | None]:
    """Return the model to fit, the features that it uses, and why it was chosen where nobody named it."""
    from jamrank.cli.display import stage
    from jamrank.selection import Auto

    if not isinstance(model, Auto):
        return model, features, None
    with stage(console, "choosing a model by held-out votes", quiet):
        chosen = model.choose(votes, features, gold)
    return chosen, features if model.uses_features_ else None, model.reason_
