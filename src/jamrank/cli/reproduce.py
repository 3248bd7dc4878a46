"""``jamrank reproduce``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.paper.runner import Report


@click.command(
    epilog="""\b
Experiments:
  flips       estimated flips of six synthetic annotators (wine)
  accuracy    majority vote, IAM, JAM and VRJAM on every pair of both wines
  noise       accuracy as a function of the annotators' noise
  annotators  accuracy as a function of the number of annotators
  digits      pen-written digits ranked by machine annotators
  ratings     two populations compared by ratings
  loss        the hinge loss compared with the logistic one

\b
Examples:
  jamrank reproduce --quick
  jamrank reproduce flips digits --seeds 3
  jamrank reproduce --data datasets --out reproduction

An interrupted run continues where it stopped. Data sets are downloaded once, or taken from --data DIR or the folder
in JAMRANK_DATA. Exit code 0 if done, 2 if data or libraries are missing."""
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--data", metavar="DIR", help="Folder with the data sets; then nothing is downloaded.")
@click.option(
    "--out", default="jamrank-reproduction", show_default=True, metavar="DIR", help="Folder of the results."
)
@click.option("--seeds", default=10, show_default=True, help="Repetitions with different random seeds.")
@click.option("--jobs", default=1, show_default=True, help="Number of parallel trials; more trials need more memory.")
@click.option("--quick", is_flag=True, help="A small version, in a minute or two.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def reproduce(
    names: tuple[str, ...], data: str | None, out: str, seeds: int, jobs: int, quick: bool, quiet: bool
) -> None:
    """Run the experiments of the paper, all or those named, and compare the results.

    Writes results.json (all records), results.md (tables), runs.json (versions, machine) and figures as PNG and SVG.
    """
    from rich.console import Console

    from jamrank.io import check_folder
    from jamrank.paper.data import Data
    from jamrank.paper.runner import reproduce as run

    check_folder(out)
    source = Data(data)
    with _progress(Console(stderr=True, quiet=quiet)) as bar:
        report = run(
            names,
            data=source,
            out=out,
            seeds=seeds,
            jobs=jobs,
            quick=quick,
            started=bar.start,
            advanced=bar.advance,
            fetching=bar.fetch,
        )
    if not quiet:
        _print(Console(), report, out)


class _Bar:
    """Progress and time left."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def fetch(self, name: str) -> None:
        self._progress.update(self._task, description=f"downloading {name}")

    def start(self, cost: float) -> None:
        # A new task, so that the time left does not include the downloads.
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task("starting", total=max(cost, 1e-9))

    def advance(self, done: str, cost: float) -> None:
        self._progress.update(self._task, description=done, advance=cost)


@contextmanager
def _progress(console: Console) -> Iterator[_Bar]:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # Trials differ in length a hundredfold: the time left is estimated from all of them, not from the last few.
    with Progress(*columns, console=console, transient=True, speed_estimate_period=3600) as progress:
        yield _Bar(progress)


def _print(console: Console, report: Report, out: str) -> None:
    from pathlib import Path

    from jamrank.cli.display import print_table
    from jamrank.cli.messages import say
    from jamrank.text import many

    print_table(console, "", ["experiment", "here", "paper"], [list(row) for row in report.summary], ends=False)
    kept = f", {many(report.n_kept, 'trial')} from an earlier run" if report.n_kept else ""
    say(console, f"{many(report.n_run, 'trial')} run{kept}.")
    say(console, f"Tables and figures: {Path(out) / 'results.md'}")
