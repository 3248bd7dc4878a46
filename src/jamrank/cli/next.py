"""``jamrank next``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.collection import NOTHING_LEFT, CollectionRequest, collection_options, open_chooser

if TYPE_CHECKING:
    from jamrank.acquisition import Assignment, Status

EXIT_CODES = {"go": 0, "reached": 10, "futile": 11, "budget spent": 12}
_COLUMNS = ("annotator", "left", "right", "question", "gain", "probability", "strategy", "why")


@click.command(
    epilog="""\b
Examples:
  jamrank next votes.csv
  jamrank next votes.csv --count 50 --out next.csv
  jamrank next votes.csv --goal top-k --k 5 --target 0.2
  jamrank next --items items.csv --annotators judges.csv --count 20
  while jamrank next votes.csv --out next.csv -q; do ./ask next.csv >> votes.csv; done

Exit code 0 to continue, 10 when the goal is reached, 11 when more votes like these will not reach it or no pair is
left to ask, 12 when the budget is spent; 2 when a file cannot be used."""
)
@collection_options
@click.option("--count", type=click.IntRange(min=1), default=10, show_default=True, help="Comparisons to choose.")
@click.option("--out", metavar="FILE", help="Write the comparisons to a CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Print status and comparisons as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def next(count: int, out: str | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Choose the next comparisons: pair, annotator and sides. Report whether to continue.

    VOTES are the votes so far, one file or several; without any, give --items and --annotators.
    """
    from rich.console import Console

    from jamrank.cli.display import stage

    console = Console(stderr=True)
    silent = quiet or as_json
    with stage(console, "fitting the votes", silent):
        chooser = open_chooser(CollectionRequest(**given), silent)
        status = chooser.status()
    with stage(console, "choosing", silent):
        chosen = chooser.batch(count) if status.state == "go" else []
    if status.state == "go" and not chosen:
        status = replace(status, state="futile", reason=f"N{NOTHING_LEFT[1:]}")
    if out is not None:
        _write(out, chosen)
    if as_json and not quiet:
        _print_json(status, chosen)
    elif not quiet:
        _show(status, chosen, out, count, len(chooser.items))
    sys.exit(EXIT_CODES[status.state])


def _write(out: str, chosen: list[Assignment]) -> None:
    import polars as pl

    from jamrank.io import write_atomically

    rows: dict[str, list[Any]] = {name: [getattr(one, name) for one in chosen] for name in _COLUMNS}
    if not any(question is not None for question in rows["question"]):
        del rows["question"]
    write_atomically(out, pl.DataFrame(rows, strict=False).write_csv())


def _print_json(status: Status, chosen: list[Assignment]) -> None:
    from dataclasses import asdict

    from jamrank.cli.messages import print_json

    print_json({"status": asdict(status), "assignments": [asdict(one) for one in chosen]})


def _show(status: Status, chosen: list[Assignment], out: str | None, count: int, n_items: int) -> None:
    from rich.console import Console

    from jamrank.cli.display import print_table
    from jamrank.cli.messages import say
    from jamrank.text import safe_line, safe_text

    console = Console()
    say(console, f"{status.state}: {status.reason}", "bold")
    if "like those so far" in status.reason and n_items > 2:
        say(console, "Of chosen pairs usually fewer are needed: jamrank plan estimates how many.")
    if chosen:
        columns = ["annotator", "left", "right", "question", "gain", "why"]
        rows = [
            [
                safe_text(one.annotator),
                safe_text(one.left),
                safe_text(one.right),
                "" if one.question is None else safe_text(one.question),
                f"{one.gain:.3g}",
                safe_line(one.why),
            ]
            for one in chosen
        ]
        print_table(console, "Ask next", columns, rows)
        if len(chosen) < count:
            say(console, f"After these {NOTHING_LEFT}")
    if out is not None:
        say(console, f"Wrote {out}." if chosen else f"Wrote {out}: it lists no comparisons.")
