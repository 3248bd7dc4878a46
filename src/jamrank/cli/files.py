"""Files of votes on the command line, and how to read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jamrank.cli.messages import note
from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

__all__ = ["named", "parse_map", "parse_words", "read_votes", "report_readings", "votes_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

_ROLE = "left|right|winner|p_left|chosen|rejected|annotator|question|weight"


def votes_options(command: Command, required: bool = True) -> Command:
    """Add the arguments and options for reading votes to a command."""
    for option in (
        click.option(
            "--winner",
            "words",
            multiple=True,
            metavar="WORD=left,…",
            help="Meaning of other values of the winner: --winner a1=left,a2=right,equal=tie; also both_bad and "
            "abstain.",
        ),
        click.option(
            "--map",
            "mapping",
            multiple=True,
            metavar="left=…,right=…",
            help="Columns of an unknown format: left, right and winner (or p_left: 1 where left won), or chosen and "
            "rejected; annotator, question and weight. The last three also with a known format: "
            "--map question=prompt.",
        ),
        click.option("--format", "form", metavar="NAME", help="Format of the files, where it is not recognised."),
        click.argument("votes", metavar="VOTES..." if required else "[VOTES]...", nargs=-1, required=required),
    ):
        command = option(command)
    return command


def read_votes(
    votes: tuple[str, ...], form: str | None, mapping: tuple[str, ...], words: tuple[str, ...] = ()
) -> Comparisons:
    """Read one or several files."""
    from jamrank.cli.native_stderr import held_back
    from jamrank.io import read_comparisons

    with held_back():
        return read_comparisons(list(votes), form, parse_map(mapping), parse_words(words))


def report_readings(votes: Any, quiet: bool) -> None:
    """Note how each file was read, unless it is in jamrank's own format."""
    for reading in getattr(votes, "readings", ()):
        if not reading.plain:
            note(str(reading), quiet)


def named(votes: tuple[str, ...]) -> str:
    """Return the files for a title or a message."""
    from jamrank.io.sources import source_name

    first = source_name(votes[0])
    return first if len(votes) == 1 else f"{first} and {len(votes) - 1} more"


def parse_map(given: tuple[str, ...]) -> dict[str, str] | None:
    """Return the column of each role, as the option says."""
    if not given:
        return None
    mapping: dict[str, str] = {}
    for part in (part for text in given for part in re.split(rf",(?=(?:{_ROLE})=)", text)):
        role, equals, column = part.partition("=")
        if not equals or not column:
            raise ParameterError(f"--map {part}: expected left=COLUMN,right=COLUMN,winner=COLUMN")
        if role in mapping:
            raise ParameterError(f"--map gives {role} twice")
        mapping[role] = column
    return mapping


def parse_words(given: tuple[str, ...]) -> dict[str, str] | None:
    """Return the meaning of the values of the winner, as the option says."""
    words: dict[str, str] = {}
    for part in (part for text in given for part in text.split(",")):
        word, equals, meaning = part.rpartition("=")
        if not equals or not word or meaning.lower() not in ("left", "right", "tie", "both_bad", "abstain"):
            expected = "expected WORD=left, =right, =tie, =both_bad or =abstain, as in a1=left,a2=right,equal=tie"
            raise ParameterError(f"--winner {part}: {expected}")
        if word in words:
            raise ParameterError(f"--winner gives {word} twice")
        words[word] = meaning
    return words or None
