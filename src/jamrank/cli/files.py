"""Files of votes on the command line: which they are, what form they have, and what was made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

__all__ = ["named", "parse_map", "parse_words", "read_votes", "tell", "votes_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

_ROLE = "left|right|winner|p_left|chosen|rejected|annotator|question|weight"


def votes_options(command: Command) -> Command:
    """Add the files of votes, and how to read them, to a command."""
    for option in (
        click.option(
            "--winner",
            "words",
            multiple=True,
            metavar="WORD=left,…",
            help="What the winner's words mean, where they are others: --winner a1=left,a2=right,equal=tie; also "
            "both_bad and abstain.",
        ),
        click.option(
            "--map",
            "mapping",
            multiple=True,
            metavar="left=…,right=…",
            help="Which column is what, where the form is not known: left, right and winner (or p_left: 1 where left "
            "won), or chosen and rejected; annotator, question, weight, also alone (--map question=prompt) where the "
            "form is known.",
        ),
        click.option("--format", "form", metavar="NAME", help="The form of the files, where it is not recognised."),
        click.argument("votes", metavar="VOTES...", nargs=-1, required=True),
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


def tell(votes: Any, quiet: bool) -> None:
    """Say how each file was understood, unless it goes without saying."""
    for reading in () if quiet else getattr(votes, "readings", ()):
        if not reading.plain:
            click.echo(f"note: {' '.join(str(reading).split())}", err=True)


def named(votes: tuple[str, ...]) -> str:
    """Return the files as a title has them."""
    return votes[0] if len(votes) == 1 else f"{votes[0]} and {len(votes) - 1} more"


def parse_map(given: tuple[str, ...]) -> dict[str, str] | None:
    """Return which column is what, as the option says."""
    if not given:
        return None
    mapping: dict[str, str] = {}
    for part in (part for text in given for part in re.split(rf",(?=(?:{_ROLE})=)", text)):
        role, equals, column = part.partition("=")
        if not equals or not column:
            raise ParameterError(f"--map {part}: expected left=COLUMN,right=COLUMN,winner=COLUMN and the like")
        if role in mapping:
            raise ParameterError(f"--map gives {role} twice")
        mapping[role] = column
    return mapping


def parse_words(given: tuple[str, ...]) -> dict[str, str] | None:
    """Return what the winner's words mean, as the option says."""
    words: dict[str, str] = {}
    for part in (part for text in given for part in text.split(",")):
        word, equals, said = part.rpartition("=")
        if not equals or not word or said.lower() not in ("left", "right", "tie", "both_bad", "abstain"):
            told = "expected WORD=left, =right, =tie, =both_bad or =abstain, as in a1=left,a2=right,equal=tie"
            raise ParameterError(f"--winner {part}: {told}")
        if word in words:
            raise ParameterError(f"--winner gives {word} twice")
        words[word] = said
    return words or None
