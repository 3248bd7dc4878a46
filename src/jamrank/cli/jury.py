"""``jamrank jury``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from jamrank.cli.messages import lines, note, print_json
from jamrank.cli.types import Finite
from jamrank.errors import JamrankError, ParameterError
from jamrank.text import in_percent, safe_line, safe_text

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from jamrank.jury import Contents, Judge, Outcome, Progress

_LEDGER = "jury.db"


@dataclass(frozen=True)
class _Request:
    """The options of the command."""

    items: str | None
    judges: tuple[str, ...]
    judges_file: str
    ledger: str
    budget: float | None
    calls: int | None
    plan: str
    goal: str
    k: int | None
    target: float
    both_orders: bool
    criterion: str
    recorded_as: str | None
    seed: str | None
    quiet: bool


@click.command(
    epilog="""\b
Examples:
  jamrank jury answers.jsonl --simulate --calls 400 --out results
  jamrank jury answers.jsonl --judge gpt --judge claude --dry-run
  jamrank jury answers.jsonl --judge gpt --judge claude --budget 5 --out results
  jamrank jury answers.jsonl --judge gpt --show-prompt
  jamrank jury --audit jury.db
  jamrank jury --ledger photos.studio.sqlite --judge gpt --budget 5
  jamrank jury --simulate --port 8765 > judges.toml

\b
answers.jsonl has question, system and text on every line; CSV, Parquet and folders of texts or images are read too.
Without ITEMS, those of the ledger are compared, such as those of a study of jamrank studio.
judges.toml describes the judges:
  [judges.gpt]
  endpoint = "https://api.example.com/v1"
  model = "gpt-5"
  key_env = "EXAMPLE_API_KEY"   # the name of the variable that holds the key, never the key
  price_in = 1.25               # for a million tokens
  price_out = 10.0

Everything is recorded in the ledger. After an interruption the same command continues.

Exit code 0 when done, 2 when something cannot be used or every judge fails, 130 when interrupted."""
)
@click.argument("items", metavar="[ITEMS]", required=False)
@click.option(
    "--judge",
    "judges",
    metavar="NAME",
    multiple=True,
    help="Ask this judge of the file; repeat for more. By default all.",
)
@click.option("--judges", "judges_file", metavar="FILE", default="judges.toml", show_default=True, help="The judges.")
@click.option(
    "--ledger", metavar="FILE|URL", default=_LEDGER, show_default=True, help="Where everything is recorded."
)
@click.option("--budget", type=Finite(min=0), help="Spend at most this, in the currency of the prices.")
@click.option("--calls", type=click.IntRange(min=0), help="Send at most this many requests.")
@click.option(
    "--plan",
    type=click.Choice(["information", "random"]),
    default="information",
    show_default=True,
    help="Which comparisons: the most informative ones until the goal is reached, or all pairs in random order.",
)
@click.option(
    "--goal",
    type=click.Choice(["ranking", "top-k"]),
    default="ranking",
    show_default=True,
    help="Goal of the collection.",
)
@click.option("-k", "--k", type=click.IntRange(min=1), help="With --goal top-k: number of items in the top.")
@click.option("--target", type=Finite(0, 1), default=0.01, show_default=True, help="Expected error at which to stop.")
@click.option("--both-orders", is_flag=True, help="Ask every comparison in both orders, not only the first ones.")
@click.option(
    "--criterion", default="", metavar="TEXT", help="Criterion for the judges; by default, which answer is better."
)
@click.option("--seed", metavar="TEXT", help="Random seed of the plan and of the delimiters around answers.")
@click.option("--dry-run", is_flag=True, help="Estimate the cost; send nothing.")
@click.option("--show-prompt", is_flag=True, help="Print the prompt of the first judge; send nothing.")
@click.option("--audit", metavar="LEDGER", help="Report on the judges of a ledger: biases, agreement, cost.")
@click.option("--simulate", is_flag=True, help="Ask simulated judges on this machine; without ITEMS, serve them.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --simulate: port to serve on.")
@click.option("--latency", type=Finite(min=0), default=0.05, help="With --simulate: seconds per reply.")
@click.option("--faults", type=Finite(0, 1), default=0.0, help="With --simulate: share of failing requests.")
@click.option("--out", metavar="DIR", help="Write the ranking and the report to that folder, as jamrank fit does.")
@click.option("--json", "as_json", is_flag=True, help="With --audit: print JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print no tables, notes or progress.")
@click.pass_context
def jury(
    context: click.Context,
    /,
    items: str | None,
    dry_run: bool,
    show_prompt: bool,
    audit: str | None,
    simulate: bool,
    port: int,
    latency: float,
    faults: float,
    out: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask LLM judges which of two ITEMS is better, for many pairs, and rank the items.

    ITEMS is a file of answers or a folder. Judges are any models with an OpenAI-compatible API.
    """
    try:
        import aiohttp  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"jamrank jury needs {error.name}; install it with pip install 'jamrank[jury]'"
        ) from None
    request = _Request(items, recorded_as=None, **given)
    ledger_given = context.get_parameter_source("ledger") is not ParameterSource.DEFAULT
    if audit is not None:
        _audit(audit, as_json)
    elif simulate and items is None and not ledger_given:
        _serve(port, latency, faults)
    elif items is None and not ledger_given:
        raise ParameterError("no ITEMS; give a file of answers, or --ledger, --audit LEDGER or --simulate")
    elif simulate:
        from jamrank.jury.simulated import SimulatedServer

        with SimulatedServer(latency=latency, faults=_faults(faults), port=port) as server:
            _jury(context, request, server.judge_list(), dry_run, show_prompt, out)
    else:
        from jamrank.jury import read_judges

        _jury(context, request, read_judges(request.judges_file, request.judges), dry_run, show_prompt, out)


def _jury(
    context: click.Context,
    request: _Request,
    judges: list[Judge],
    dry_run: bool,
    show_prompt: bool,
    out: str | None,
) -> None:
    from jamrank.io import check_folder

    contents, request = _contents(request)
    if out is not None:
        check_folder(out)
    if show_prompt:
        _show_prompt(contents, judges[0], request.criterion)
    elif dry_run:
        _estimate(contents, judges, request)
    else:
        _ask(contents, judges, request)
        _fit(context, request, out)


def _contents(request: _Request) -> tuple[Contents, _Request]:
    """Return what is compared, and the request with the question of the study where the ledger has one."""
    from pathlib import Path

    from jamrank.collect import open_ledger
    from jamrank.io.sources import is_url
    from jamrank.jury import load_contents
    from jamrank.studio.brief import read_brief

    if request.items is not None and not is_url(request.ledger) and not Path(request.ledger).exists():
        return load_contents(request.items), request
    with open_ledger(request.ledger, create=request.items is not None) as ledger:
        recorded, questions = ledger.items(), ledger.questions()
    brief = read_brief(request.ledger, request.criterion)
    if brief is not None:
        request = replace(request, criterion=brief.question, recorded_as=brief.criterion)
        recorded = brief.items
    if request.items is not None:
        return load_contents(request.items), request
    if len(recorded) < 2:
        raise ParameterError(f"{ledger.name} has no items to compare; give ITEMS")
    return load_contents(recorded, questions), request


def _faults(share: float) -> Any:
    from jamrank.jury.simulated import Faults

    return Faults(share / 4, share / 4, share / 4, share / 4)


def _serve(port: int, latency: float, faults: float) -> None:
    """Serve the simulated judges until interrupted; their description for --judges goes to standard output."""
    import time

    from jamrank.jury.simulated import SimulatedServer

    with SimulatedServer(latency=latency, faults=_faults(faults), port=port) as server:
        click.echo(server.toml())
        names = " ".join(f"--judge {judge.name}" for judge in server.judges)
        click.echo(
            f"Simulated judges at {server.url}; write the above to judges.toml and run, in another terminal:\n"
            f"  jamrank jury answers.jsonl {names} --calls 400 --out results\nCtrl-C stops them.",
            err=True,
        )
        while True:
            time.sleep(3600)


def _show_prompt(contents: Contents, judge: Judge, criterion: str) -> None:
    from jamrank.jury import example_prompt

    prompt = example_prompt(contents, judge, criterion=criterion)
    lines(f"--- system ---\n{prompt.system}\n--- user ---\n{prompt.text}")
    if prompt.images:
        lines(f"--- images ---\n{', '.join(str(item.path) for item in prompt.images)}")


def _estimate(contents: Contents, judges: list[Judge], request: _Request) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from jamrank.jury import estimate

    table = Table(title="Estimated cost; nothing was sent")
    for head in ("judge", "a call", "at most", "all pairs once", "both orders"):
        table.add_column(head, justify="left" if head == "judge" else "right")
    summary = estimate(contents, judges, criterion=request.criterion)
    for one in summary:
        table.add_row(
            Text(safe_text(one.judge)),
            f"{one.cost:.3g}",
            f"{one.worst:.3g}",
            f"{one.all_cost:.3g} ({one.all_calls:,} calls)",
            f"{2 * one.all_cost:.3g} ({2 * one.all_calls:,} calls)",
        )
    console = Console()
    console.print(table)
    console.print(
        f"{len(contents.items)} items, {len(contents.questions)} questions, {contents.n_comparisons:,} pairs; all "
        f"judges on all pairs in both orders: {2 * sum(one.all_cost for one in summary):.3g}. The information plan "
        "stops when the ranking is good enough, usually after a small part of that.",
        highlight=False,
        soft_wrap=True,
    )


def _ask(contents: Contents, judges: list[Judge], request: _Request) -> None:
    from rich.console import Console

    from jamrank.io.sources import source_name
    from jamrank.jury import ask_judges, estimate

    if request.budget is None and request.calls is None:
        priced = [one for one in estimate(contents, judges, criterion=request.criterion) if one.worst > 0]
        if priced:
            summary = f"{priced[0].judge} costs about {priced[0].cost:.3g} a call"
            raise ParameterError(f"{summary}; give --budget or --calls (--dry-run estimates the cost)")
    console = Console(stderr=True)
    with _Display(console, request) as display:
        try:
            outcome = ask_judges(
                contents,
                judges,
                request.ledger,
                budget=request.budget,
                calls=request.calls,
                plan=request.plan,
                goal=request.goal,
                k=request.k,
                target=request.target,
                both_orders=request.both_orders,
                criterion=request.criterion,
                recorded_as=request.recorded_as,
                seed=request.seed,
                watch=display.show,
            )
        except KeyboardInterrupt:
            display.stop()
            note(f"stopped; every reply so far is in {source_name(request.ledger)}")
            raise
    if not request.quiet:
        _tell(outcome, source_name(request.ledger))


def _tell(outcome: Outcome, ledger: str) -> None:
    progress = outcome.progress
    if outcome.lost:
        note(f"{outcome.lost} requests of an earlier run had no reply; they count as paid")
    for name, reason in (outcome.given_up or {}).items():
        note(f"judge {name} is no longer asked: {reason}")
    if progress.failed:
        note(f"{progress.failed} comparisons failed; the same command asks them again")
    lines(safe_line(f"{outcome.state}: {outcome.reason}"), err=True)
    summary = f"{progress.asked:,} requests, {progress.answered:,} votes"
    for kind, count in (("refused", progress.refused), ("unparsable", progress.unparsable)):
        summary += f", {count:,} {kind}" if count else ""
    lines(safe_line(f"{summary}; {progress.spent:.4g} spent in all; recorded in {ledger}"), err=True)


class _Display:
    """One line of progress, or occasional lines if the output is not a terminal."""

    def __init__(self, console: Console, request: _Request) -> None:
        self._console, self._request, self._last = console, request, 0.0
        self._status = console.status("asking") if console.is_terminal and not request.quiet else None

    def __enter__(self) -> _Display:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *ending: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Clear the line."""
        if self._status is not None:
            self._status.stop()

    def show(self, progress: Progress) -> None:
        """Show the progress."""
        from rich.text import Text

        if self._status is not None:
            self._status.update(Text(self._line(progress)))
        elif not self._request.quiet and progress.seconds - self._last >= 30:
            self._last = progress.seconds
            click.echo(self._line(progress), err=True)

    def _line(self, progress: Progress) -> str:
        budget = "" if self._request.budget is None else f" of {self._request.budget:g}"
        calls = "" if self._request.calls is None else f" of {self._request.calls:,}"
        left = "" if progress.seconds_left is None else f", about {_span(progress.seconds_left)} left"
        first = f"; first: {', '.join(progress.leaders[:5])}" if progress.leaders else ""
        return safe_line(f"{progress.asked:,}{calls} requests, {progress.spent:.4g}{budget} spent{left}{first}")


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _fit(context: click.Context, request: _Request, out: str | None) -> None:
    """Rank the items by the votes in the ledger, as jamrank fit does."""
    from jamrank.cli.fit import fit

    if request.quiet and out is None:
        return
    context.invoke(fit, votes=(request.ledger,), out=out, quiet=request.quiet)


def _audit(ledger: str, as_json: bool) -> None:
    from jamrank.collect import open_ledger
    from jamrank.jury import audit_ledger

    with open_ledger(ledger, create=False) as book:
        try:
            frame = audit_ledger(book)
        except JamrankError as error:
            raise type(error)(f"{book.name}: {error}") from None
    if as_json:
        print_json(frame.to_dicts())
    else:
        print_audit(frame)


def print_audit(frame: pl.DataFrame) -> None:
    """Print the audit of the judges, a block for each."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="LLM judges", caption="in brackets: 95 % intervals", caption_justify="left")
    table.add_column("")
    for name in frame["judge"]:
        table.add_column(Text(safe_text(name)), justify="right")
    for head, write in _LINES:
        cells = [write(row) for row in frame.iter_rows(named=True)]
        if any(cell != "–" for cell in cells):
            table.add_row(head, *(Text(safe_line(cell)) for cell in cells))
    Console().print(table)


def _interval(name: str, style: str, low: str | None = None, high: str | None = None) -> Any:
    low, high = low or f"{name}_low", high or f"{name}_high"

    def write(row: dict[str, Any]) -> str:
        if row[name] is None:
            return "–"
        return f"{_styled(row[name], style)} ({_styled(row[low], style)} to {_styled(row[high], style)})"

    return write


def _plain(name: str, style: str) -> Any:
    return lambda row: "–" if row[name] is None else _styled(row[name], style)


def _styled(value: float, style: str) -> str:
    return in_percent(value, 0) if style == "%" else f"{value:{style}}"


_LINES: tuple[tuple[str, Any], ...] = (
    ("votes", _plain("votes", ",")),
    ("ties", _plain("ties", ",")),
    ("refused", _plain("refused", ",")),
    ("unparsable", _plain("unparsable", ",")),
    ("failed requests", _plain("failed", ",")),
    ("for the left (50 % is fair)", _interval("left_share", "%", "left_low", "left_high")),
    ("asked in both orders", _plain("both_orders", ",")),
    ("verdict changed with the order", _plain("order_changed", "%")),
    ("gain of twice the length (log-odds)", _interval("longer", "+.2f")),
    ("gain of its own family (log-odds)", _interval("own_family", "+.2f")),
    ("comparisons that people judged too", lambda row: f"{row['people']:,}" if row["people"] else "–"),
    ("agrees with people", _interval("agreement", "%")),
    ("votes against the truth", _plain("flip", "%")),
    ("bits per vote", _plain("bits_per_vote", ".2f")),
    ("cost", _plain("cost", ".4g")),
    ("cost per bit", _plain("cost_per_bit", ".3g")),
)
