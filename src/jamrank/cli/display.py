"""Tables and progress on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from jamrank.inference import best_first
from jamrank.io.out_of_core.parted import Votes
from jamrank.models import RankingModel
from jamrank.report import findings, warnings_first
from jamrank.text import many, number

__all__ = ["fitting", "plain", "print_groups", "print_summary", "print_table", "stage"]

_TOP, _BOTTOM = 10, 5
# Of more groups than this, the terminal shows the first.
_GROUPS = 5


@contextmanager
def stage(console: Console, text: str, quiet: bool = False) -> Iterator[None]:
    """Show what is being done while it is; nothing where nobody looks."""
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(text):
        yield


@contextmanager
def counting(console: Console, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show how many rows of a long job are done, and how long the rest will take."""
    if quiet or not console.is_terminal:
        yield lambda what, done, total: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield update


def print_summary(
    console: Console, model: RankingModel, votes: Votes, seconds: float, shown: Any = None, meaning: str = ""
) -> None:
    """Print the ranking's two ends, the annotators from best to worst, and what the model could not tell.

    With ``shown``, that ranking in place of the model's own, whose scores are as ``meaning`` says.
    """
    console.print(
        f"{type(model).__name__} on {many(votes.n_votes, 'vote')} by {many(votes.n_annotators, 'annotator')} on "
        f"{many(votes.n_pairs, 'pair')} of {many(votes.n_items, 'item')}, {_ending(model)} in {seconds:.2f}\u00a0s",
        highlight=False,
        style="bold",
    )
    ranking = pl.DataFrame(model.ranking_ if shown is None else shown)
    first = warnings_first(model, votes)
    for sentence in first:
        console.print(sentence, style="bold red", highlight=False)
    print_table(console, "Ranking", ["rank", "item", "score", "± se", "rank between"], _rank_rows(ranking))
    if meaning:
        console.print(f"Scores: {plain(meaning, longest=300)}.", highlight=False, markup=False)
    annotators = best_first(pl.DataFrame(model.annotators_))
    rows = [
        [
            plain(row["annotator"]),
            number(row["votes"]),
            f"{row['flip']:.3f}",
            _interval(row),
            row["verdict"],
            # The flip and its interval stand beside.
            "" if row["evidence"].startswith("flip ") else row["evidence"],
        ]
        for row in annotators.iter_rows(named=True)
    ]
    console.print("Annotators, best first (flip = chance of saying the opposite)", style="bold")
    print_table(console, "", ["annotator", "votes", "flip", "95 % interval", "verdict", "why"], rows)
    if model.features_ is not None:
        _print_features(console, pl.DataFrame(model.features_))
    console.print("What to know", style="bold")
    grid = Table.grid(padding=(0, 1))
    for sentence in (told for told in findings(model, votes) if told not in first):
        grid.add_row("  •", escape(plain(sentence, longest=1000)))
    console.print(grid)


def _print_features(console: Console, features: pl.DataFrame) -> None:
    ordered = features.sort(pl.col("effect").abs(), descending=True, maintain_order=True)
    rows = [[plain(name), f"{effect:+.3f}", f"{coef:+.4g}"] for name, coef, effect in ordered.iter_rows()]
    console.print("What drives the score (effect = change for one standard deviation of the feature)", style="bold")
    print_table(console, "", ["feature", "effect", "for one unit"], rows)


def plain(value: object, longest: int = 60) -> str:
    """Return an id as it may be shown on a terminal: no control characters, not too long."""
    text = "".join(c if c.isprintable() else "�" for c in str(value))
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 3 :]}"


def _ending(model: RankingModel) -> str:
    if not len(model.log_likelihoods_):
        return "fitted"
    return f"{'converged' if model.converged_ else 'stopped'} after {many(model.n_iter_, 'iteration')}"


def print_groups(console: Console, by: str, table: pl.DataFrame, groups: Sequence[str], where: str) -> None:
    """Print the rank of each item overall and in each group; of many groups, in the first."""
    columns = ["item", "rank", *(f"rank {name}" for name in groups)]
    titles = ["item", "overall", *(plain(name, longest=24) for name in groups)]
    rows = [[plain(v) if v is not None else "–" for v in row] for row in table.select(columns).iter_rows()]
    kept = min(fitting(console, titles, rows), _GROUPS + 2)
    print_table(console, f"Rank by {plain(by)}", titles[:kept], [row[:kept] for row in rows])
    left_out = len(titles) - kept
    if left_out:
        told = f"and {many(left_out, 'more group')}: {where} has all of them"
        console.print(told, highlight=False, soft_wrap=True)


def fitting(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns fit side by side, at least three: numbers and names that are cut cannot be read."""
    needed = [max(len(title), *(len(row[k]) for row in rows)) + 3 for k, title in enumerate(columns)]
    least = min(3, len(columns))
    return next((kept for kept in range(len(columns), least, -1) if sum(needed[:kept]) < console.width), least)


def _rank_rows(ranking: pl.DataFrame) -> list[list[str]]:
    digits = 0 if ranking["score"].abs().max() > 100 else 3  # type: ignore[operator]
    return [
        [
            str(row["rank"]),
            plain(row["item"]),
            f"{row['score']:.{digits}f}".replace("-0.000", "0.000"),
            "" if row["score_se"] is None else f"{row['score_se']:.{digits}f}",
            "" if row["rank_low"] is None else f"{row['rank_low']}–{row['rank_high']}",
        ]
        for row in ranking.iter_rows(named=True)
    ]


def _interval(row: dict[str, Any]) -> str:
    return f"{row['flip_low']:.3f}–{row['flip_high']:.3f}"


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], ends: bool = True
) -> None:
    """Print a table; of a long one, the first and the last rows, and no column without a value."""
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    table = Table(title=title or None, title_justify="left", title_style="bold")
    for column in (columns[k] for k in kept):
        numeric = column not in ("item", "annotator", "feature", "verdict", "why", "method", "what")
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    left_out = len(rows) - _TOP - _BOTTOM
    for place, row in enumerate(rows):
        if ends and left_out > 1 and _TOP <= place < _TOP + left_out:
            if place == _TOP:
                table.add_row(*["…" if columns[k] != "item" else f"({left_out:,} more)" for k in kept])
            continue
        table.add_row(*(escape(row[k]) for k in kept))
    console.print(table)
