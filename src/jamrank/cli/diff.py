"""``jamrank diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.files import VotesRequest, report_readings, votes_options
from jamrank.cli.types import SCALE

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.report import Analysis


class _Diff(click.Command):
    """Says what is missing: the votes are the first argument, so that click would name them where an item is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            raise click.UsageError("expected VOTES and two items, as in jamrank diff votes.csv A B", ctx) from error


@click.command(
    cls=_Diff,
    epilog="""\b
Examples:
  jamrank diff votes.csv gpt-4 claude
  jamrank diff results/model.jamrank gpt-4 claude
  jamrank diff votes.csv "essay 7" "essay 2" --model CrowdBT --scale elo
  jamrank diff votes.csv gpt-4 claude --without bob --json

Exit code 0 when done, 2 when the input cannot be used.""",
)
@votes_options
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--model", "model_name", default="auto", show_default=True, help="The model, as in jamrank fit.")
@SCALE
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print no notes or progress.")
def diff(a: str, b: str, model_name: str, scale: str, as_json: bool, quiet: bool, **given: Any) -> None:
    """Show how certain it is that item A is above item B, given VOTES or the model file of jamrank fit.

    Prints the probability of the order, the difference of the scores with its 95 % interval, and the votes between
    the two items. The order is settled at 95 % if this interval excludes 0: a probability of at least 97.5 %.
    """
    from dataclasses import asdict

    from rich.console import Console

    from jamrank.cli.messages import print_json, say
    from jamrank.report.difference import compare_items, difference_sentences

    request = VotesRequest(**given)
    analysis = _analysis(request, model_name, scale, Console(stderr=True), quiet)
    found = compare_items(analysis, a, b)
    sentences = difference_sentences(analysis, found)
    if as_json:
        content = {**asdict(found), "model": analysis.result.model, "scale": scale, "sentences": sentences}
        print_json(content)
        return
    for sentence in sentences:
        say(Console(), sentence)


def _analysis(request: VotesRequest, model_name: str, scale: str, console: Console, quiet: bool) -> Analysis:
    """Return the fit of the votes, or the fit that was saved."""
    from jamrank.cli.display import stage
    from jamrank.io import is_model_file
    from jamrank.models import load
    from jamrank.report import Analysis
    from jamrank.selection import fit

    if len(request.votes) == 1 and is_model_file(request.votes[0]):
        result = load(request.votes[0]).result_
        return Analysis(result, result.votes.require(), scale=scale)
    with stage(console, f"reading {request.source}", quiet):
        votes = request.read()
    report_readings(votes, quiet)
    with stage(console, "fitting", quiet):
        model = fit(votes, model_name)
    return Analysis(model.result_, votes, scale=scale)
