"""``jamrank plan``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.collection import NOTHING_LEFT, CollectionRequest, collection_options, open_chooser
from jamrank.cli.types import FINITE

if TYPE_CHECKING:
    from jamrank.acquisition import Plan, Status

# A single number is stated where its range is at most this share of it.
_DESERVES_ONE = 0.15


@click.command(
    epilog="""\b
Examples:
  jamrank plan votes.csv --target 0.1
  jamrank plan votes.csv --annotators judges.csv --budget 20 --picture plan.svg
  jamrank plan --items items.csv --annotators judges.csv --target 0.15

Exit code 0 when done, 2 when a file cannot be used."""
)
@collection_options
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    help="Simulated collections; by default as many as take about two seconds, between 4 and 100.",
)
@click.option("--most", type=FINITE, metavar="VOTES", help="Maximum number of further votes to simulate.")
@click.option("--picture", metavar="FILE", help="Draw the expected error against the votes: an SVG file.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def plan(runs: int | None, most: float | None, picture: str | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Estimate how many votes, at what cost, bring the expected error to a target.

    The command fits the VOTES so far and simulates further collections, with comparisons chosen as by jamrank next.
    Without votes, give --items and --annotators.
    """
    from rich.console import Console

    from jamrank.cli.display import stage

    console = Console(stderr=True)
    silent = quiet or as_json
    with stage(console, "fitting the votes", silent):
        given["seed"] = given["seed"] or 0  # the same votes have the same plan
        chooser = open_chooser(CollectionRequest(**given), silent)
        status = chooser.status()
    with stage(console, "simulating the collection", silent):
        made = chooser.plan(runs=runs, most_votes=most)
    if picture is not None:
        from jamrank.acquisition import plan_picture
        from jamrank.io import write_atomically

        write_atomically(picture, plan_picture(made, f"Expected error of the goal: {given['goal']}"))
    if as_json and not quiet:
        _print_json(made, status)
    elif not quiet:
        _show(made, status, given, picture)


def _print_json(made: Plan, status: Status) -> None:
    from dataclasses import asdict

    from jamrank.cli.messages import print_json

    text = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in asdict(made).items()}
    print_json({"status": asdict(status), "plan": text})


def _now(status: Status) -> str:
    """Return the reason of the status without what votes like the present ones do: these here are chosen."""
    reason = re.sub("; about [0-9,]+ more votes? like those so far", "", status.reason)
    return reason.replace("More votes like these will not reach the target: expected", "Expected")


def _answer(made: Plan, strategy: str) -> str:
    """Say how many votes bring the expected error to the target."""
    from jamrank.text import in_percent

    between = made.votes_range
    assert between is not None
    votes, price = _range_of_votes(made, *between)
    chosen = " on chosen pairs" if made.runs and strategy != "random" else ""
    text = f"{votes}{chosen} at a cost of {price} bring the expected error to {in_percent(made.target)}"
    return text + (f" ({made.runs} simulated collections)." if made.runs else ", if they are like those so far.")


def _range_of_votes(made: Plan, low: float, high: float | None) -> tuple[str, str]:
    """Return the number of votes, a range where the noise of the simulation is large, and the cost."""
    import numpy as np

    from jamrank.text import about, number, two_digits

    def rounded(votes: float) -> tuple[float, str]:
        least = round(two_digits(max(votes, 1.0)))
        return least, number(two_digits(float(np.interp(least, made.votes, made.cost))))

    assert made.votes_needed is not None
    middle = rounded(made.votes_needed)
    first, last = rounded(low), None if high is None else rounded(high)
    if last is None:
        return f"At least about {first[0]:,.0f} further votes", f"{first[1]} or more"
    if last[0] - first[0] <= max(_DESERVES_ONE * made.votes_needed, 2.0):
        text = about(middle[0], "further vote")
        return text[0].upper() + text[1:], middle[1]
    return f"About {first[0]:,.0f} to {last[0]:,.0f} further votes", f"{first[1]} to {last[1]}"


def _show(made: Plan, status: Status, given: dict[str, Any], picture: str | None) -> None:
    import numpy as np
    from rich.console import Console

    from jamrank.cli.display import print_table
    from jamrank.cli.messages import say
    from jamrank.text import in_percent, many, number

    console = Console()
    say(console, f"Now: {_now(status)}")
    if status.obstacle:
        say(console, "How many votes the target needs is not known.", "bold")
        return
    if made.votes_needed is None or made.cost_needed is None:
        horizon = f"{many(float(made.votes[-1]), 'further vote')}"
        text = f"The target of {in_percent(made.target)} is not reached within {horizon}; "
        text += f"error then {in_percent(made.error[-1])}."
        if made.exhausted:
            text += f" After that {NOTHING_LEFT}"
    elif made.votes_needed == 0:
        text = f"No further votes are needed for an expected error of {in_percent(made.target)}."
    else:
        text = _answer(made, given["strategy"])
    say(console, text, "bold")
    if given["budget"] is not None:
        left = max(given["budget"] - status.cost, 0.0)
        error = float(np.interp(left, made.cost, made.error))
        say(console, f"With the {number(left)} left of the budget: {in_percent(error)}.")
    steps = np.unique(np.linspace(0, len(made.votes) - 1, 9).round().astype(int))
    rows = [
        [
            number(float(made.votes[at])),
            number(round(float(made.cost[at]), 2)),
            in_percent(made.error[at]),
            f"{in_percent(made.low[at])} to {in_percent(made.high[at])}",
        ]
        for at in steps
    ]
    usual = "nine runs in ten" if made.runs else "nine times in ten"
    print_table(console, "", ["further votes", "cost", "expected error", usual], rows)
    if picture is not None:
        say(console, f"Drew {picture}.")
