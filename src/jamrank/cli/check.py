"""``jamrank check``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from jamrank.cli.files import named, read_votes, tell, votes_options

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.diagnostics import Health

__all__ = ["check"]

_MARKS = {
    "problem": "[red]problem[/red]",
    "warning": "[yellow]warning[/yellow]",
    "note": "note",
    "good": "[green]good[/green]",
}
_COUNTS = {
    "rows": "rows read",
    "missing": "set aside: no winner",
    "without_weight": "set aside: weight 0",
    "votes": "votes",
    "decided": "decided votes",
    "ties": "ties",
    "folded": "exact repeats of a vote",
    "uninformative": "votes that tell nothing",
    "items": "items",
    "annotators": "annotators",
    "annotators_with_few_votes": "annotators with few votes",
    "one_sided_annotators": "annotators with one side only",
    "questions": "questions",
    "pairs": "pairs",
    "components": "linked groups of items",
    "bridges": "bridges",
    "single_opponent": "items with a single opponent",
    "win_groups": "groups that wins link both ways",
    "never_lost": "items that never lost",
    "never_won": "items that never won",
    "triads": "triads of items",
    "circular_triads": "circular triads",
    "against_best_order": "votes against the best order",
    "repeated_pairs": "pairs voted on twice",
    "contradicted_pairs": "of these, both ways",
}
_MEASURES = {
    "votes_a_pair": ("votes a pair", "{:.2f}"),
    "votes_an_annotator": ("votes an annotator", "{:.1f}"),
    "circular_share": ("circular, of triads", "{:.1%}"),
    "own_circular_share": ("circular, of own triads", "{:.1%}"),
    "against_best_order_share": ("against the best order", "{:.1%}"),
    "contradicted_share": ("contradicted, of repeated pairs", "{:.1%}"),
    "left_share": ("votes for the left", "{:.1%}"),
    "votes_with_the_scores": ("votes for the scores", "{:.1%}"),
    "expected_accuracy": ("pairs in order, expected", "{:.1%}"),
    "more_votes": ("more votes for the target", "{:,.0f}"),
}


@click.command(
    epilog="""\b
Examples:
  jamrank check votes.csv
  jamrank check votes.csv --target 0.9
  jamrank check votes.csv --json | jq .reasons
  jamrank check monday.csv tuesday.jsonl.gz
  jamrank check votes.csv --quiet && jamrank fit votes.csv

Exit code 0 when the votes can be ranked; 1 when scores could not be compared, or votes do not say which way is up; 2
when the file cannot be used."""
)
@votes_options
@click.option(
    "--target",
    type=float,
    default=0.95,
    show_default=True,
    help="Share of pairs in the right order to plan votes for.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings and numbers as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; only the exit code speaks.")
def check(
    votes: tuple[str, ...],
    form: str | None,
    mapping: tuple[str, ...],
    words: tuple[str, ...],
    target: float,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what is wrong or risky in VOTES, one file or several, before any fit that counts.

    Sentences come first, from the gravest to the lightest, then numbers: who was compared with whom, votes that run
    in circles or against themselves, sides, votes that tell nothing, and how many more are needed.
    """
    import json

    from rich.console import Console

    from jamrank.cli.display import stage
    from jamrank.diagnostics import check as look_over

    console = Console(stderr=True)
    with stage(console, f"reading {named(votes)}", quiet or as_json):
        table = read_votes(votes, form, mapping, words)
    tell(table, quiet)
    with stage(console, "looking it over", quiet or as_json):
        health = look_over(table, target=target)
    if as_json and not quiet:
        click.echo(json.dumps(health.to_dict(), indent=1, default=str))
    elif not quiet:
        _show(Console(), health)
    sys.exit(1 if health.reasons else 0)


def _show(console: Console, health: Health) -> None:
    from rich.markup import escape
    from rich.table import Table

    from jamrank.cli.display import plain
    from jamrank.text import number

    for finding in health.findings:
        sentence = escape(plain(finding.sentence, longest=1000))
        console.print(f"{_MARKS[finding.level]}: {sentence}", highlight=False, soft_wrap=True)
    told = [(title, number(health.counts[name])) for name, title in _COUNTS.items() if name in health.counts]
    for name, (title, form) in _MEASURES.items():
        value = health.measures.get(name)
        if value is not None:
            told.append((title, form.format(value)))
    half = -(-len(told) // 2)
    grid = Table.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column()
        grid.add_column(justify="right")
    for left, right in zip(told[:half], [*told[half:], ("", "")], strict=False):
        grid.add_row(*left, *right)
    console.print()
    console.print(grid)
    if health.reasons:
        console.print(
            "Exit code 1: these votes cannot be ranked as they are, for the problems above.", highlight=False
        )
