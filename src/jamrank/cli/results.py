"""The files and the JSON of a fit, and how it was computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jamrank.cli.messages import note
from jamrank.text import many

if TYPE_CHECKING:
    import polars as pl

    from jamrank.cli.request import FitRequest
    from jamrank.cli.run import FitOutcome
    from jamrank.models import RankingModel
    from jamrank.report import Analysis, Report
    from jamrank.report.pictures import ItemViews

MODEL_FILE = "model.jamrank"
# More pairs than this are written as Parquet: as text they would take a hundred megabytes.
_MOST_PAIRS_AS_TEXT = 200_000
OUTPUTS = (
    f"ranking.csv, annotators.csv, pairs.csv, {MODEL_FILE} and report.html (with features: features.csv, with "
    "covariates: effects.csv)"
)

_INTERVALS = {
    "posterior": "95 %, from draws of the posterior",
    "information": "95 %, by a normal approximation at the fitted values",
    "independent": "95 %, by a normal approximation at the fitted values with independent errors of the scores",
}


def command_line() -> str:
    """Return the command that is running, as a user would type it."""
    import shlex
    import sys

    from jamrank.io.sources import source_name

    return shlex.join(["jamrank", *map(source_name, sys.argv[1:])])


def facts_of(outcome: FitOutcome, request: FitRequest) -> dict[str, str]:
    """Return how a fit was computed."""
    from jamrank.kernels import compiled
    from jamrank.report import versions

    fit = outcome.analysis.result.convergence
    readings = "; ".join(map(str, getattr(outcome.votes, "readings", ())))
    facts = {
        "Command": command_line(),
        "Votes": readings or request.source,
        "Model": repr(outcome.chosen),
        "Iterations": f"{fit.n_iter} ({fit.n_passes} passes over the votes)",
        "Intervals": _INTERVALS.get(outcome.analysis.interval_kind, "95 %"),
        "Versions": versions(),
        "Kernels": "compiled" if compiled else "numpy",
        "Features": request.features or "none",
        "Seconds": f"{outcome.seconds:.2f}",
        "Engine": f"{fit.engine}: {fit.engine_reason}" if fit.engine_reason else fit.engine,
    }
    if outcome.reason:
        facts["Chosen"] = outcome.reason
    if fit.log_likelihood is not None:
        facts["Log-likelihood"] = f"{fit.log_likelihood:.4f}"
    return facts


def result_files(
    model: RankingModel, analysis: Analysis, report: Report, spreadsheet_safe: bool = False
) -> dict[str, str | bytes]:
    """Return the files of every fit, by name."""
    from jamrank.models.files import model_bytes
    from jamrank.report import render
    from jamrank.report.csv_text import csv_text
    from jamrank.report.exports import parquet_bytes

    tables = {"ranking": analysis.written_ranking, "annotators": report.annotators}
    pairs = report.pairs
    if pairs is not None and pairs.height <= _MOST_PAIRS_AS_TEXT:
        tables["pairs"] = pairs
    if analysis.features is not None:
        tables["features"] = analysis.features
    if analysis.effects is not None:
        tables["effects"] = analysis.effects
    files: dict[str, str | bytes] = {
        f"{name}.csv": csv_text(frame, spreadsheet_safe) for name, frame in tables.items()
    }
    if pairs is not None and "pairs" not in tables:
        files["pairs.parquet"] = parquet_bytes(pairs)
    return files | {MODEL_FILE: model_bytes(model), "report.html": render(report)}


def publish_fit(outcome: FitOutcome, request: FitRequest) -> tuple[list[str], list[str]]:
    """Write all files of a fit to its folder, and remove those of an earlier one; return the names of both."""
    from jamrank.io import publish_run
    from jamrank.io.sources import source_name
    from jamrank.report import describe
    from jamrank.report.csv_text import csv_text
    from jamrank.report.exports import exported

    safe, analysis = request.spreadsheet_safe, outcome.analysis
    by = None if outcome.side_by_side is None else (str(request.by), outcome.side_by_side)
    facts = facts_of(outcome, request)
    audited = judges_of(request.votes)
    views = None if request.show is None else views_of(request.show, analysis)
    title = f"Ranking from {request.title}"
    report = describe(analysis, title, facts, by=by, spreadsheet_safe=safe, jury=audited, views=views)
    files = result_files(outcome.model, analysis, report, safe)
    title = Path(source_name(request.votes[0])).stem
    files |= exported(analysis, request.exports, title=title, spreadsheet_safe=safe)
    if outcome.side_by_side is not None:
        files["by.csv"] = csv_text(outcome.side_by_side, safe)
    if audited is not None:
        files["jury.csv"] = csv_text(audited, safe)
    assert request.out is not None
    removed = publish_run(request.out, files, earlier_files())
    return list(files), removed


def views_of(where: str, analysis: Analysis) -> ItemViews:
    """Return the pictures or texts of the items."""
    from jamrank.io.item_files import read_item_files
    from jamrank.report.pictures import ItemViews, view_of

    found = read_item_files(where, analysis.items.tolist())
    missing = len(analysis.items) - len(found)
    if missing:
        note(f"{where} has nothing to show for {many(missing, 'item')}")
    return ItemViews({name: view_of(content, f"{where}, {name}") for name, content in found.items()})


def judges_of(files: tuple[str, ...]) -> pl.DataFrame | None:
    """Return the audit of the LLM judges where the votes are a ledger that has some."""
    from jamrank.errors import LedgerError
    from jamrank.io.sources import is_source

    if len(files) != 1 or not is_source(files[0]):
        return None
    from jamrank.collect import open_ledger
    from jamrank.jury import audit_ledger

    with open_ledger(files[0], create=False) as ledger:
        try:
            return audit_ledger(ledger)
        except LedgerError:  # no judge among the annotators
            return None


def earlier_files() -> Mapping[str, Callable[[Path], bool]]:
    """Return how to recognise files that an earlier fit may have written, and this one may not."""
    from jamrank.io import begins_with
    from jamrank.io.parquet import columns_of

    def has_columns(*names: str) -> Callable[[Path], bool]:
        return lambda path: set(names) <= set(columns_of(path))

    return {
        "by.csv": begins_with(rb"item,(group,)?rank,score,rank[ _]"),
        "jury.csv": begins_with(rb"judge,votes,ties,refused,"),
        "features.csv": begins_with(rb"feature,coef,effect\n"),
        "effects.csv": begins_with(rb"covariate,annotator,coef,"),
        "pairs.csv": begins_with(rb"left,right,votes,p_left"),
        "model.json": begins_with(rb'\{\n"format": "jamrank-model"'),
        MODEL_FILE: begins_with(rb"PK"),
        "results.json": begins_with(rb'\{\n "model": "'),
        "preferences.csv": begins_with(rb"chosen,rejected,"),
        "preferences.jsonl": begins_with(rb'\{"prompt": "'),
        "leaderboard.md": begins_with(rb"# [^\n]*\n\n(\| Group )?\| Rank \| Item \| Score \|"),
        "ranking.parquet": has_columns("item", "rank", "score", "score_se"),
        "annotators.parquet": has_columns("annotator", "votes", "flip", "verdict"),
        "pairs.parquet": has_columns("left", "right", "votes", "p_left"),
    }


def fit_json(outcome: FitOutcome, by: str | None) -> str:
    """Return the results of a fit as JSON."""
    import json

    from jamrank.report.exports import results

    readings = getattr(outcome.votes, "readings", ())
    set_aside = {reading.source: reading.set_aside for reading in readings if reading.set_aside}
    content = results(outcome.analysis) | {"chosen": outcome.reason, "set_aside": set_aside}
    if by is not None:
        content["by"] = {"column": by, "groups": {name: own.to_dicts() for name, own in outcome.groups.items()}}
    return json.dumps(content, indent=1, default=str, allow_nan=False)
