"""What a fit leaves behind: files, JSON, and how it was computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.errors import UnknownItemError

if TYPE_CHECKING:
    from jamrank.io.out_of_core.parted import Votes
    from jamrank.models import RankingModel

__all__ = ["OUTPUTS", "SOMETIMES", "as_json", "command_line", "facts_of", "fitted_files", "group_ranking"]

OUTPUTS = "ranking.csv, annotators.csv, pairs.csv, model.json and report.html (with features: features.csv)"
# Files that not every fit writes, by how they begin.
SOMETIMES = {
    "by.csv": b"item,rank,score,rank ",
    "features.csv": b"feature,coef,effect\n",
    "pairs.csv": b"left,right,votes,p_left",
}

_INTERVALS = {
    "posterior": "95 %, from draws of the posterior",
    "information": "95 %, by a normal approximation at the fitted values",
    "independent": "95 %, by a normal approximation at the fitted values, errors of scores taken for independent",
}


def command_line() -> str:
    """Return the command that is running, as one would type it."""
    import shlex
    import sys

    from jamrank.io.sources import source_name

    return shlex.join(["jamrank", *map(source_name, sys.argv[1:])])


def facts_of(model: RankingModel, votes: str, **others: str | None) -> dict[str, str]:
    """Return how a fit was computed; ``others`` are facts that the model does not know."""
    from jamrank.kernels import compiled
    from jamrank.report import versions

    facts = {
        "Command": command_line(),
        "Votes": votes,
        "Model": repr(model),
        "Iterations": f"{model.n_iter_} ({model.n_passes_} passes over the votes)",
        "Intervals": _INTERVALS.get(model._uncertainty.kind, "95 %"),
        "Versions": versions(),
        "Kernels": "compiled" if compiled else "numpy",
    }
    facts |= {name.capitalize(): fact for name, fact in others.items() if fact}
    if model.log_likelihood_ is not None:
        facts["Log-likelihood"] = f"{model.log_likelihood_:.4f}"
    return facts


def fitted_files(
    model: RankingModel, votes: Votes, title: str, facts: dict[str, str], **shown: Any
) -> dict[str, str | bytes]:
    """Return the files that a fit leaves behind, by name; ``shown`` is what else :func:`describe` takes."""
    from jamrank.report import describe, render

    report = describe(model, votes, f"Ranking from {title}", facts, **shown)
    files: dict[str, str | bytes] = {
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


def group_ranking(name: str, model: RankingModel, scale: str, anchor: str | None) -> Any:
    """Return the ranking of a group; around its mean where it has no vote on the anchor."""
    from jamrank.cli.export import shown_ranking
    from jamrank.selection.groups import about_group

    try:
        with about_group(name):
            return shown_ranking(model, scale, anchor)
    except UnknownItemError:
        click.echo(f"note: {name} has no vote on {anchor}: its scores are around their mean", err=True)
        return shown_ranking(model, scale, None)


def as_json(model: RankingModel, reason: str | None, ranking: Any, by: str | None, rankings: dict[str, Any]) -> str:
    """Return the results of a fit as JSON."""
    import json

    import polars as pl

    from jamrank.report.exports import results

    told = results(model, ranking) | {"chosen": reason}
    if by is not None:
        told["by"] = {"column": by, "groups": {k: pl.DataFrame(own).to_dicts() for k, own in rankings.items()}}
    return json.dumps(told, indent=1, default=str, allow_nan=False)
