"""The ``jamrank`` command and how it fails: one clear line and exit code 2."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import click

from jamrank import __version__
from jamrank.errors import JamrankError, JamrankWarning

__all__ = ["main"]

_COMMANDS = {
    "demo": "The whole job on data that comes with the install.",
    "fit": "Rank the items of a file of votes and judge its annotators.",
    "check": "Say what is wrong or risky in a file of votes, before any fit.",
    "simulate": "Write votes with a known truth to a file.",
}


class _Commands(click.Group):
    """Commands that are imported when called, so that ``--help`` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"jamrank.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        warnings.showwarning = _note
        try:
            return super().invoke(ctx)
        except JamrankError as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")
        except MemoryError:
            _fail("not enough memory for these votes; fit a part of them, or use a larger machine")


def _fail(line: str) -> None:
    click.echo(f"jamrank: {' '.join(line.split())}", err=True)
    sys.exit(2)


def _note(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show jamrank's own warnings as one line each; nobody needs the others here."""
    if issubclass(category, JamrankWarning) and not _quiet():
        click.echo(f"note: {message}", err=True)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.params.get("quiet"))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="jamrank")
def main() -> None:
    r"""Turn noisy pairwise votes into a ranking to trust and a reliability for every annotator.

    \b
    Examples:
      jamrank demo
      jamrank check votes.csv
      jamrank fit votes.csv --out results
      jamrank fit votes.csv --features items.csv --model VRJAM --out results

    A file of votes has the columns annotator, left, right and winner (left, right or tie), and if need be weight
    and question; CSV or Parquet.
    """
