"""``jamrank check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import VotesRequest, report_readings, votes_options
from jamrank.cli.messages import print_json
from jamrank.cli.types import FINITE
from jamrank.diagnostics.target import TARGET
from jamrank.text import in_percent

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.diagnostics import Health

_STYLES = {"problem": "red", "warning": "yellow", "note": "", "good": "green"}
_COUNTS = {
    "rows": "rows read",
    "missing": "excluded: no winner",
    "without_weight": "excluded: weight 0",
    "votes": "votes",
    "decided": "decided votes",
    "ties": "ties",
    "folded": "duplicate votes",
    "uninformative": "uninformative votes",
    "items": "items",
    "annotators": "annotators",
    "annotators_with_few_votes": "annotators with few votes",
    "one_sided_annotators": "annotators with one side only",
    "questions": "questions",
    "pairs": "pairs",
    "components": "connected components",
    "bridges": "bridges",
    "single_opponent": "items with one opponent",
    "win_groups": "strong components of wins",
    "never_lost": "items that never lost",
    "never_won": "items that never won",
    "triads": "triads of items",
    "circular_triads": "circular triads",
    "repeated_pairs": "pairs with repeated votes",
    "contradicted_pairs": "of these, contradictory",
}
_MEASURES = {
    "votes_a_pair": ("votes per pair", "{:.2f}".format),
    "votes_an_annotator": ("votes per annotator", "{:.1f}".format),
    "circular_share": ("circular share of triads", in_percent),
    "own_circular_share": ("circular, within annotators", in_percent),
    "contradicted_share": ("contradictory repeats", in_percent),
    "left_share": ("votes for the left", in_percent),
    "votes_with_the_scores": ("votes that agree with the scores", in_percent),
    "expected_accuracy": ("expected accuracy of pairs", in_percent),
    "more_votes": ("votes needed for the target", "{:,.0f}".format),
}


@click.command(
    epilog="""\b
Examples:
  jamrank check votes.csv
  jamrank check votes.csv --target 0.95
  jamrank check votes.csv --json | jq .reasons
  jamrank check monday.csv tuesday.jsonl.gz
  jamrank check votes.csv --quiet && jamrank fit votes.csv

Exit code 0 if the votes can be ranked; 1 if scores cannot be compared, or the direction of the ranking is not
determined; 2 if the file cannot be used."""
)
@votes_options
@click.option(
    "--target",
    type=FINITE,
    default=TARGET,
    show_default=True,
    help="Share of pairs in the right order for which the number of votes is estimated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings and numbers as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; the result is the exit code.")
def check(target: float, as_json: bool, quiet: bool, **given: Any) -> None:
    """Check VOTES, one file or several, for problems before a fit.

    Findings come first, problems before warnings and notes, then numbers: connection of the items, circular and
    contradictory votes, position bias, uninformative votes, and how many more votes are needed.
    """
    from rich.console import Console

    from jamrank.cli.display import stage
    from jamrank.diagnostics import check as check_votes

    console = Console(stderr=True)
    request = VotesRequest(**given)
    with stage(console, f"reading {request.source}", quiet or as_json):
        table = request.read()
    report_readings(table, quiet)
    with stage(console, "checking", quiet or as_json):
        health = check_votes(table, target=target)
    if as_json and not quiet:
        print_json(health.to_dict())
    elif not quiet:
        _show(Console(), health)
    click.get_current_context().exit(1 if health.reasons else 0)


def _show(console: Console, health: Health) -> None:
    from rich.table import Table
    from rich.text import Text

    from jamrank.cli.messages import say
    from jamrank.text import number, safe_line

    for finding in health.findings:
        line = Text.assemble((finding.level, _STYLES[finding.level]), ": ", safe_line(finding.sentence))
        console.print(line, soft_wrap=True)
    numbers = [(title, number(health.counts[name])) for name, title in _COUNTS.items() if name in health.counts]
    for name, (title, written) in _MEASURES.items():
        value = health.measures.get(name)
        if value is not None:
            numbers.append((title, written(value)))
    half = -(-len(numbers) // 2)
    grid = Table.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column()
        grid.add_column(justify="right")
    for left, right in zip(numbers[:half], [*numbers[half:], ("", "")], strict=False):
        grid.add_row(*left, *right)
    console.print()
    console.print(grid)
    if health.reasons:
        say(console, "Exit code 1: because of the problems above, these votes cannot be ranked as they are.")
