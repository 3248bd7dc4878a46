"""``jamrank check``."""

from __future__ import annotations

import sys

import click

from jamrank.cli.files import named, read_votes, tell, votes_options

__all__ = ["check"]

_NAMES = {"folded": "repeated votes", "components": "linked groups of items"}
_MARKS = {
    "problem": "[red]problem[/red]",
    "warning": "[yellow]warning[/yellow]",
    "note": "note",
    "good": "[green]good[/green]",
}


@click.command(
    epilog="""\b
Examples:
  jamrank check votes.csv
  jamrank check votes.csv --json
  jamrank check monday.csv tuesday.jsonl.gz

Exit code 0 when the votes can be ranked, 1 when scores could not be compared, 2 when the file cannot be used."""
)
@votes_options
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; only the exit code speaks.")
def check(votes: tuple[str, ...], form: str | None, mapping: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Say what is wrong or risky in VOTES, one file or several, before any fit."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from jamrank.cli.display import stage
    from jamrank.diagnostics import check as look_over
    from jamrank.text import number

    with stage(Console(stderr=True), f"reading {named(votes)}", quiet or as_json):
        table = read_votes(votes, form, mapping)
        health = look_over(table)
    tell(table, quiet)
    if as_json and not quiet:
        click.echo(json.dumps({"comparable": health.comparable, **asdict(health)}, indent=1))
    elif not quiet:
        console = Console()
        for finding in health.findings:
            console.print(f"{_MARKS[finding.level]}: {finding.sentence}", highlight=False, soft_wrap=True)
        told = ", ".join(f"{_NAMES.get(name, name)} {number(value)}" for name, value in health.counts.items())
        console.print(f"Counts: {told}", highlight=False, soft_wrap=True)
    sys.exit(0 if health.comparable else 1)
