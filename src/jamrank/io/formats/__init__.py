"""The forms in which votes come, one small file each; which of them a file has; and what to do where it has none."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from jamrank.errors import InputError, ParameterError
from jamrank.io.documents import shown
from jamrank.io.formats import (
    alpaca_eval,
    arena,
    arena_one_hot,
    argilla_1,
    argilla_2,
    comparative_judgement,
    crowd_kit,
    evalica,
    evaluatorq,
    label_studio,
    mt_bench,
    mt_bench_pairs,
    named_pairs,
    own,
    preferences,
    ratings,
    tldr,
    wide,
)
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.mapped import FURTHER, ROLES, check_mapping, completed, read_mapped
from jamrank.io.formats.outcomes import MEANINGS
from jamrank.io.formats.table import ANNOTATORS, Table
from jamrank.io.read_log import ReadLog
from jamrank.text import unicode_text

__all__ = [
    "FORMATS",
    "Ballots",
    "Format",
    "Table",
    "check_mapping",
    "check_words",
    "find_format",
    "further",
    "named_further",
    "read_ballots",
    "recognise",
]

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        own,
        crowd_kit,
        evalica,
        arena,
        arena_one_hot,
        mt_bench,
        mt_bench_pairs,
        argilla_1,
        argilla_2,
        label_studio,
        preferences,
        tldr,
        alpaca_eval,
        wide,
        evaluatorq,
        comparative_judgement,
        ratings,
        named_pairs,
    )
}

# How the names of the two sides end.
_ENDS = (("left", "right"), ("a", "b"), ("1", "2"), ("first", "second"))

_MAP = "--map left=…,right=…,winner=…,annotator=… (mapping= in Python)"


def read_ballots(
    table: Table, source: str, format: str | None = None, mapping: Mapping[str, str] | None = None
) -> tuple[Ballots, ReadLog]:
    """Understand a table.

    table: What was in the file.
    source: Its name.
    format: The name of its format; recognised without it.
    mapping: Columns by what they mean, for a table of no known format. Where it has nothing but the roles
        ``annotator``, ``question`` and ``weight``, which the table must know too, the format is recognised or named.
    Returns ballots (the votes), reading (how they were understood).
    """
    if mapping is not None and not further(mapping):
        whole = completed(table, mapping)
        _refuse_absent(table, whole)
        ballots = read_mapped(table, whole, len(whole) == len(mapping))
        name, title, chosen = "mapped", "columns as mapped", "mapped"
    else:
        _refuse_absent(table, mapping or {})
        if format is None:
            table, ignored = _recognisable(table, FORMATS.values())
            found, chosen = recognise(table), "recognised"
        else:
            found, chosen = find_format(format), "named"
            table, ignored = _recognisable(table, [found])
        lacking = found.lacks(table)
        if lacking:
            remedy = f"leave --format out, or name the columns with {_MAP}"
            raise InputError(f"{found.title} needs the column {_either(lacking[0])}", remedy)
        table = table if found.coded else table.as_text()
        ballots, name, title = found.read(table), found.name, found.called(table)
    _refuse_unused(table, title)
    mapped = [f"{role}s are {column!r}" for role, column in (mapping or {}).items()] if chosen != "mapped" else []
    if chosen != "mapped" and ignored:
        mapped.append(f"{ignored} were ignored")
    return ballots, ReadLog(
        source,
        name,
        title,
        chosen,
        len(table),
        ballots.outcomes(),
        ballots.set_aside,
        (*ballots.notes, *mapped),
        ballots.sides,
        table.asked_in,
    )


def further(mapping: Mapping[str, str] | None) -> bool:
    """Return whether a mapping has only what goes with a form that is recognised."""
    return bool(mapping) and set(mapping or ()) <= set(FURTHER)


def named_further(mapping: Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns of annotators, questions and weights that a mapping names."""
    return {role: column for role, column in (mapping or {}).items() if role in FURTHER}


def check_words(words: Mapping[str, str]) -> dict[str, int]:
    """Return outcomes by the user's own words.

    Raises ParameterError: If a word means something else.
    """
    for word, said in words.items():
        if not str(word) or str(said).lower() not in MEANINGS:
            listed = ", ".join(MEANINGS)
            raise ParameterError(f"winner_words has {str(word)!r} for {said!r}; a word stands for one of {listed}")
    return {unicode_text(str(word)): MEANINGS[str(said).lower()] for word, said in words.items()}


def _refuse_absent(table: Table, mapping: Mapping[str, str]) -> None:
    for role, column in mapping.items():
        if not any(name in table for name in (column, *column.split("+"))) and "." not in column:
            raise InputError(
                f"--map {role}={column}: no such column among {_listed(table.columns)}", "check the name"
            )


def _refuse_unused(table: Table, title: str) -> None:
    """Refuse what was given and is of no use: the user would think that it counts."""
    if "words" in table.unused:
        raise InputError(f"--winner: {title} has no words for the winner", "leave it out")
    for role in sorted(table.unused):
        remedy = f"leave it out, or name all columns with {_MAP}"
        raise InputError(f"--map {role}=…: {title} has its own column for it", remedy)


def find_format(name: str) -> Format:
    """Return a format by its name.

    Raises ParameterError: If there is none of that name.
    """
    if name not in FORMATS:
        raise ParameterError(f"unknown format {name!r}; known: {', '.join(FORMATS)}")
    return FORMATS[name]


def recognise(table: Table) -> Format:
    """Return the one format that a table has.

    Raises InputError: If it has none, which names the closest; or if it could be of several, which names them.
    """
    if own.FORMAT.matches(table):  # whatever else it has
        return own.FORMAT
    # The names of columns alone tell least.
    matching = [format for format in FORMATS.values() if format.matches(table)]
    found = [format for format in matching if format is not named_pairs.FORMAT] or matching
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(f"{format.title} (--format {format.name})" for format in found)
        raise InputError(f"this could be {names}", "say which")
    raise InputError(_closest(table), _hint(table))


def _recognisable(table: Table, formats: Collection[Format]) -> tuple[Table, str]:
    """Return the table, or the same with its column names in lower case where only then a format matches.

    Also return what of the names is ignored then, without spaces around them; empty if nothing is.
    """
    if any(format.matches(table) for format in formats):
        return table, ""
    lowered = table.lowered()
    if lowered is None or not any(format.matches(lowered) for format in formats):
        return table, ""
    capitals = "capitals in the column names" if any(name != name.lower() for name in table.columns) else ""
    spaces = "spaces around the column names" if any(name != name.strip() for name in table.columns) else ""
    return lowered, " and ".join(filter(None, [capitals, spaces]))


def _closest(table: Table) -> str:
    """Return what is wrong, seen from the format of which the most is there."""
    there = {_plain(name) for name in table.columns}
    best, most = None, -math.inf
    for format in FORMATS.values():
        lacking = [name for name in format.columns if not any(_plain(one) in there for one in name.split("|"))]
        found = len(format.columns) - len(lacking)
        if found and found - len(lacking) > most:
            best, most = format, found - len(lacking)
    if best is not None and most <= 0 and _guessed(table).keys() >= {"left", "right", "winner"}:
        return f"no known format has the columns {_listed(table.columns)}"
    if best is None:
        return f"no known format has the columns {_listed(table.columns)}, nor any like them"
    if not best.lacks(table):
        return f"the columns are those of {best.title}, the values are not"
    lacking_there = ", ".join(map(_either, best.lacks(table)))
    return f"no column {lacking_there} among {_listed(table.columns)}; closest is {best.title}"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _hint(table: Table) -> str:
    """Return how to name the columns, as far as they can be guessed."""
    known = _guessed(table) | {role: role for role in ROLES if role in table}
    listed = ",".join(f"{role}={known.get(role, '…')}" for role in ("left", "right", "winner", "annotator"))
    instead = "with probabilities p_left=… and with two scores left_score=…,right_score=… instead of winner"
    return f"name the columns with --map {listed} (mapping= in Python); {instead}"


def _guessed(table: Table) -> dict[str, str]:
    """Return the columns whose names look like two sides of a pair, an answer and the annotators."""
    by_name = {_plain(name): name for name in reversed(table.columns)}
    found = {}
    for one, other in _ENDS:
        stems = [name.removesuffix(one) for name in by_name if name.endswith(one)]
        sides = [(stem + one, stem + other) for stem in stems if stem + other in by_name]
        if len(sides) == 1:
            found = {"left": by_name[sides[0][0]], "right": by_name[sides[0][1]]}
            break
    winners = [by_name[name] for name in named_pairs.WINNERS if name in by_name]
    if len(winners) == 1:
        found["winner"] = winners[0]
    who = next((by_name[name] for name in ANNOTATORS if name in by_name), None)
    return found if who is None else {**found, "annotator": who}


def _either(name: str) -> str:
    return " or ".join(map(repr, name.split("|")))


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
