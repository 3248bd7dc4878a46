"""Tables and progress on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from jamrank.comparisons import Comparisons
from jamrank.models import RankingModel
from jamrank.report import findings

__all__ = ["print_summary", "print_table", "stage"]

_TOP, _BOTTOM = 10, 5


@contextmanager
def stage(console: Console, text: str, quiet: bool = False) -> Iterator[None]:
    """Show what is being done while it is; nothing where nobody looks."""
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(text):
        yield


def print_summary(console: Console, model: RankingModel, votes: Comparisons, seconds: float) -> None:
    """Print the ranking's two ends, the annotators from best to worst, and what the model could not tell."""
    console.print(
        f"[bold]{type(model).__name__}[/bold] on {votes.n_votes:,} votes by {votes.n_annotators:,} annotators on "
        f"{votes.n_pairs:,} pairs of {votes.n_items:,} items, {_ending(model)} in {seconds:.2f} s",
        highlight=False,
    )
    ranking = pl.DataFrame(model.ranking_)
    print_table(console, "Ranking", ["rank", "item", "score", "± se", "rank between"], _rank_rows(ranking))
    annotators = pl.DataFrame(model.annotators_).sort("flip", maintain_order=True)
    rows = [
        [str(row["annotator"]), f"{row['votes']:,}", f"{row['flip']:.3f}", _interval(row), row["verdict"]]
        for row in annotators.iter_rows(named=True)
    ]
    columns = ["annotator", "votes", "flip", "95 % interval", "verdict"]
    print_table(console, "Annotators, best first (flip = chance of saying the opposite)", columns, rows)
    console.print("[bold]What to know[/bold]")
    for sentence in findings(model, votes):
        console.print(f"  • {sentence}", highlight=False, markup=False)


def _ending(model: RankingModel) -> str:
    if not len(model.log_likelihoods_):
        return "fitted"
    return f"{'converged' if model.converged_ else 'stopped'} after {model.n_iter_} iterations"


def _rank_rows(ranking: pl.DataFrame) -> list[list[str]]:
    return [
        [
            str(row["rank"]),
            str(row["item"]),
            f"{row['score']:.3f}",
            "" if row["score_se"] is None else f"{row['score_se']:.3f}",
            "" if row["rank_low"] is None else f"{row['rank_low']}–{row['rank_high']}",
        ]
        for row in ranking.iter_rows(named=True)
    ]


def _interval(row: dict[str, Any]) -> str:
    return f"{row['flip_low']:.3f}–{row['flip_high']:.3f}"


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], ends: bool = True
) -> None:
    """Print a table; of a long one, the first and the last rows."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        numeric = column not in ("item", "annotator", "verdict", "method", "what")
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    left_out = len(rows) - _TOP - _BOTTOM
    for number, row in enumerate(rows):
        if ends and left_out > 1 and _TOP <= number < _TOP + left_out:
            if number == _TOP:
                table.add_row("…", f"({left_out:,} more)", *[""] * (len(columns) - 2))
            continue
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)
