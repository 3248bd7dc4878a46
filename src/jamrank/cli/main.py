"""The ``jamrank`` command and how it fails: one clear line and exit code 2."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from importlib import import_module
from typing import Any, NoReturn

import click

from jamrank import __version__
from jamrank.cli.collector import pause_collector, resume_collector
from jamrank.cli.messages import note
from jamrank.cli.streams import prepare_streams
from jamrank.errors import JamrankError, JamrankWarning
from jamrank.text import safe_line

_COMMANDS = {
    "demo": "Run a complete example on data that come with the package.",
    "fit": "Rank the items of a file of votes and assess the annotators.",
    "check": "Check a file of votes for problems before a fit.",
    "diff": "Show how certain it is that one item is above another.",
    "compare": "Compare models by how well they predict held-out votes.",
    "export": "Write the results of a fit as Parquet, JSON, preference pairs or Markdown.",
    "next": "Choose the next comparisons: which pair, for which annotator, and whether to continue.",
    "plan": "Estimate how many votes a target needs, by simulating the collection.",
    "jury": "Ask LLM judges which item is better, within a budget, and rank the items.",
    "studio": "Let people vote in a browser, and watch the ranking converge.",
    "simulate": "Write simulated votes with a known truth to a file.",
    "reproduce": "Run the experiments of the paper and compare the results.",
}
# Commands that do their work within stages, of which the first resumes the collector.
_SHORT = ("fit", "check", "compare")


class _Commands(click.Group):
    """Commands that are imported when called, so that ``--help`` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        if name in _SHORT:
            pause_collector()
        command: click.Command = getattr(import_module(f"jamrank.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; every failure becomes one line and an exit code."""
        _prepare()
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
            sys.stdout.flush()
            sys.exit(code)
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
        finally:
            resume_collector()


def _prepare() -> None:
    """Make every exit remove half-written files, and threads that wait for work sleep."""
    # Otherwise each thread of BLAS spins for some 50 ms when it has started and after every product.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    warnings.showwarning = _show_warning
    prepare_streams()
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda number, frame: sys.exit(128 + number))


def _fail(line: str, code: int = 2) -> NoReturn:
    click.echo(f"jamrank: {safe_line(line)}", err=True)
    sys.exit(code)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show jamrank's own warnings as one line each, and no others."""
    if issubclass(category, JamrankWarning):
        note(str(message), _quiet())


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

A file of votes has the columns annotator, left, right and winner (left, right or tie), and optionally weight and
question. It is CSV, TSV, JSON, JSON Lines or Parquet, plain or compressed. Files of crowd-kit, Chatbot Arena,
MT-Bench, Argilla, Label Studio and others are recognised.""",
)
@click.version_option(__version__, prog_name="jamrank")
def main() -> None:
    """Rank items from noisy pairwise votes, with uncertainty and the reliability of every annotator."""
