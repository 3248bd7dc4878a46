"""Files of votes on the command line, and how to read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jamrank.cli.messages import note
from jamrank.errors import ParameterError

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

Command = TypeVar("Command", bound=Callable[..., Any])

_ROLE = "left|right|winner|p_left|margin|left_score|right_score|chosen|rejected|annotator|question|weight"


def votes_options(command: Command, required: bool = True) -> Command:
    """Add the arguments and options for reading votes to a command."""
    for option in (
        click.option(
            "--skip-bad-rows",
            is_flag=True,
            help="Set aside rows that cannot be votes (missing ids, an item against itself, unknown winners), and "
            "report how many and why. By default they are errors.",
        ),
        click.option(
            "--once",
            is_flag=True,
            help="Count a file once that is included several times: every vote must occur a multiple of these times.",
        ),
        click.option(
            "--only",
            multiple=True,
            metavar="ANNOTATOR,…",
            help="Use only the votes of these annotators; may be repeated.",
        ),
        click.option(
            "--without",
            multiple=True,
            metavar="ANNOTATOR,…",
            help="Leave out the votes of these annotators; may be repeated.",
        ),
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
            help="Columns of an unknown format: left, right and winner (or p_left: 1 if left won), or chosen and "
            "rejected; annotator, question and weight. The last three can also be set for a known format: "
            "--map question=prompt.",
        ),
        click.option("--format", "form", metavar="NAME", help="Format of the files, if it is not recognised."),
        click.argument("votes", metavar="VOTES..." if required else "[VOTES]...", nargs=-1, required=required),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class VotesRequest:
    """Files of votes and how to read them, as :func:`votes_options` parses them."""

    votes: tuple[str, ...]
    form: str | None = None
    mapping: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    skip_bad_rows: bool = False
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    once: bool = False

    @property
    def source(self) -> str:
        """The files of votes, for messages."""
        return named(self.votes)

    @property
    def needs_memory(self) -> str:
        """The option of reading that only votes in memory can have; empty without."""
        given = {
            "--format": self.form,
            "--map": self.mapping,
            "--winner": self.words,
            "--skip-bad-rows": self.skip_bad_rows,
            "--only": self.only,
            "--without": self.without,
            "--once": self.once,
        }
        return next((option for option, value in given.items() if value), "")

    def read(self) -> Comparisons:
        """Read the votes."""
        from jamrank.cli.native_stderr import held_back
        from jamrank.io import read_comparisons

        with held_back():
            return read_comparisons(list(self.votes), **self._how())

    def read_by(self, column: str) -> tuple[Comparisons, dict[str, Comparisons]]:
        """Read the votes, all together and apart for each value of a column."""
        from jamrank.io import read_groups

        return read_groups(list(self.votes), column, **self._how())

    def _how(self) -> dict[str, Any]:
        return {
            "format": self.form,
            "mapping": parse_map(self.mapping),
            "winner_words": parse_words(self.words),
            "skip_bad_rows": self.skip_bad_rows,
            "only": self.only,
            "without": self.without,
            "once": self.once,
        }


def report_readings(votes: Any, quiet: bool) -> None:
    """Note how each file was read, unless it is in jamrank's own formatat."""
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
