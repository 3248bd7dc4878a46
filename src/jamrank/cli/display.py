"""Tables and progress on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from jamrank.cli.collector import resume_collector
from jamrank.cli.messages import say
from jamrank.text import many, number, safe_line, safe_text

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.progress import TaskID

    from jamrank.report import Analysis

_TOP, _BOTTOM = 10, 5
# Of more groups than this, the terminal shows the first.
_GROUPS = 5
_LEFT_ALIGNED = ("item", "annotator", "feature", "verdict", "evidence", "model", "experiment")


@contextmanager
def stage(console: Console, text: str, quiet: bool = False) -> Iterator[None]:
    """Show what is being done, on a terminal only."""
    resume_collector()
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(Text(safe_line(text))):
        yield


@contextmanager
def counting(console: Console, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show how many rows of a long job are done, and the time left."""
    if quiet or not console.is_terminal:
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(safe_line(what), total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield update


def print_summary(console: Console, analysis: Analysis, seconds: float) -> None:
    """Print the first and last items, the annotators from best to worst, and the findings."""
    from jamrank.inference.verdicts import best_first
    from jamrank.report import findings, warnings_first
    from jamrank.report.narrative import size_of

    size = size_of(analysis.votes)
    say(console, f"{analysis.result.model} on {size}, {_ending(analysis)} in {seconds:.2f} s", "bold")
    first = warnings_first(analysis)
    for sentence in first:
        say(console, sentence, "bold red")
    heads, within = ["rank", "item", "score", "± SE", "rank interval"], analysis.group_ranking
    if within is None:
        print_table(console, "Ranking", heads, _rank_rows(analysis.shown_ranking))
    else:
        rows = [[str(group), *row] for group, row in zip(within["group"], _rank_rows(within), strict=True)]
        print_table(console, "Ranking within groups", ["group", *heads], rows)
    say(console, f"Scores: {analysis.score_meaning}.")
    if analysis.n_judges > 1:
        say(console, "Annotators, best first (flip = probability of a wrong vote)", "bold")
        heads = ["annotator", "votes", "flip", "95 % interval", "verdict", "evidence"]
        print_table(console, "", heads, _annotator_rows(best_first(analysis.annotators)))
    if analysis.features is not None:
        say(console, "Feature effects (effect = change of the score per standard deviation)", "bold")
        print_table(console, "", ["feature", "effect", "per unit"], _feature_rows(analysis.features))
    if analysis.effects is not None:
        say(console, "What sways annotators (log-odds for one unit of the covariate)", "bold")
        heads = ["covariate", "annotator", "effect", "95 % interval", "verdict"]
        print_table(console, "", heads, _effect_rows(analysis.effects))
    say(console, "Findings", "bold")
    bullet_list(console, [sentence for sentence in findings(analysis) if sentence not in first])


def bullet_list(console: Console, sentences: Sequence[str]) -> None:
    """Print sentences as a list."""
    grid = Table.grid(padding=(0, 1))
    for sentence in sentences:
        grid.add_row(Text("  •"), Text(safe_line(sentence)))
    console.print(grid)


def _ending(analysis: Analysis) -> str:
    fit = analysis.result.convergence
    if not len(fit.log_likelihoods):
        return "fitted"
    return f"{'converged' if fit.converged else 'stopped'} after {many(fit.n_iter, 'iteration')}"


def _rank_rows(ranking: pl.DataFrame) -> list[list[str]]:
    digits = 0 if ranking["score"].abs().max() > 100 else 3  # type: ignore[operator]
    return [
        [
            str(row["rank"]),
            safe_text(row["item"]),
            f"{row['score']:.{digits}f}".replace("-0.000", "0.000"),
            "" if row["score_se"] is None else f"{row['score_se']:.{digits}f}",
            "" if row["rank_low"] is None else f"{row['rank_low']}–{row['rank_high']}",
        ]
        for row in ranking.iter_rows(named=True)
    ]


def _annotator_rows(annotators: pl.DataFrame) -> list[list[str]]:
    return [
        [
            safe_text(row["annotator"]),
            number(row["votes"]),
            f"{row['flip']:.3f}",
            _interval(row),
            row["verdict"],
            # The flip and its interval have columns of their own.
            "" if row["evidence"].startswith("flip ") else row["evidence"],
        ]
        for row in annotators.iter_rows(named=True)
    ]


def _interval(row: dict[str, Any]) -> str:
    low, high = row["flip_low"], row["flip_high"]
    return "" if low is None else f"{low:.3f}–{high:.3f}"


def _feature_rows(features: pl.DataFrame) -> list[list[str]]:
    import polars as pl

    ordered = features.sort(pl.col("effect").abs(), descending=True, maintain_order=True)
    return [[safe_text(name), f"{effect:+.3f}", f"{coef:+.4g}"] for name, coef, effect in ordered.iter_rows()]


def _effect_rows(effects: pl.DataFrame) -> list[list[str]]:
    return [
        [
            safe_text(row["covariate"]),
            safe_text(row["annotator"]),
            f"{row['coef']:+.3g}",
            f"{row['coef_low']:+.3g} to {row['coef_high']:+.3g}",
            safe_text(row["sentence"].rpartition(":")[0]),
        ]
        for row in effects.iter_rows(named=True)
    ]


def print_groups(console: Console, by: str, table: pl.DataFrame, groups: Sequence[str], where: str) -> None:
    """Print the rank of each item overall and in each group; of many groups, in the first."""
    joined = ["group"] if "group" in table.columns else []
    columns = ["item", *joined, "rank", *(f"rank {name}" for name in groups)]
    titles = ["item", *joined, "overall", *(safe_text(name, longest=24) for name in groups)]
    rows = [[safe_text(v) if v is not None else "–" for v in row] for row in table.select(columns).iter_rows()]
    kept = min(columns_that_fit(console, titles, rows), _GROUPS + len(joined) + 2)
    print_table(console, f"Rank by {safe_text(by)}", titles[:kept], [row[:kept] for row in rows])
    left_out = len(titles) - kept
    if left_out:
        say(console, f"{many(left_out, 'more group')}: {where} has all of them")


def columns_that_fit(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns fit side by side without being cut; at least three."""
    needed = [max(len(title), *(len(row[k]) for row in rows)) + 3 for k, title in enumerate(columns)]
    least = min(3, len(columns))
    return next((kept for kept in range(len(columns), least, -1) if sum(needed[:kept]) < console.width), least)


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], ends: bool = True
) -> None:
    """Print a table without its empty columns; of a long one, the first and the last rows."""
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    table = Table(title=Text(title) if title else None, title_justify="left", title_style="bold")
    for column in (columns[k] for k in kept):
        table.add_column(Text(column), justify="left" if column in _LEFT_ALIGNED else "right", overflow="fold")
    left_out = len(rows) - _TOP - _BOTTOM
    for place, row in enumerate(rows):
        if ends and left_out > 1 and _TOP <= place < _TOP + left_out:
            if place == _TOP:
                table.add_row(*["…" if columns[k] != "item" else f"({left_out:,} more)" for k in kept])
            continue
        table.add_row(*(Text(row[k]) for k in kept))
    console.print(table)
