"""The ``jamrank`` command and how it fails: one clear line and exit code 2."""

from __future__ import annotations

import io
import signal
import sys
import threading
import warnings
from importlib import import_module
from typing import Any, NoReturn

import click

from jamrank import __version__
from jamrank.errors import JamrankError, JamrankWarning

__all__ = ["main"]

_COMMANDS = {
    "demo": "The whole job on data that comes with the install.",
    "fit": "Rank the items of a file of votes and judge its annotators.",
    "check": "Say what is wrong or risky in a file of votes, before any fit.",
    "compare": "Say which model foretells held-out votes best, and whether annotators matter.",
    "export": "Write what a fit found as Parquet, JSON, preference pairs or Markdown.",
    "studio": "Let people vote in a browser, and watch the ranking settle.",
    "simulate": "Write votes with a known truth to a file.",
    "reproduce": "Run the paper's experiments and show their results beside its own.",
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

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and turn whatever goes wrong into one line and an exit code."""
        _prepare()
        try:
            sys.exit(super().main(*args, **{**kwargs, "standalone_mode": False}))
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(0)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "jamrank"
            _fail(f"{error.format_message().rstrip('.?')}; see {where} --help")
        except click.ClickException as error:
            _fail(error.format_message())
        except (click.Abort, KeyboardInterrupt):
            _fail("interrupted", code=130)
        except JamrankError as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")
        except MemoryError:
            _fail("not enough memory for these votes; fit a part of them, or use a larger machine")


def _prepare() -> None:
    """Make every ending an orderly one: half-written files are removed, odd terminals get question marks."""
    warnings.showwarning = _note
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda number, frame: sys.exit(128 + number))


def _fail(line: str, code: int = 2) -> NoReturn:
    click.echo(f"jamrank: {' '.join(line.split())}", err=True)
    sys.exit(code)


def _note(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show jamrank's own warnings as one line each; nobody needs the others here."""
    if issubclass(category, JamrankWarning) and not _quiet():
        click.echo(f"note: {message}", err=True)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.params.get("quiet"))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  jamrank demo
  jamrank check votes.csv
  jamrank fit votes.csv --out results
  jamrank fit votes.csv --features items.csv --model VRJAM --out results
  jamrank compare votes.csv

A file of votes has the columns annotator, left, right and winner (left, right or tie), and if need be weight and
question. CSV, TSV, JSON, JSON Lines or Parquet, plain or compressed; files of crowd-kit, Chatbot Arena, MT-Bench,
Argilla, Label Studio and others are recognised.""",
)
@click.version_option(__version__, prog_name="jamrank")
def main() -> None:
    """Turn noisy pairwise votes into a ranking to trust and a reliability for every annotator."""
