"""The forms in which votes come, one small file each; which of them a file has; and what to do where it has none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

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
    own,
    preferences,
    ratings,
    tldr,
    wide,
)
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.mapped import ROLES, check_mapping, read_mapped
from jamrank.io.formats.table import ANNOTATORS, Table
from jamrank.io.reading import Reading

__all__ = ["FORMATS", "Ballots", "Format", "Table", "check_mapping", "find_format", "read_ballots", "recognise"]

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
    )
}

_MAP = "--map left=…,right=…,winner=…,annotator=… (mapping= in Python)"


def read_ballots(
    table: Table, source: str, format: str | None = None, mapping: Mapping[str, str] | None = None
) -> tuple[Ballots, Reading]:
    """Understand a table.

    Parameters
    ----------
    table : Table
        What was in the file.
    source : str
        Its name.
    format : str, optional
        The name of its format; recognised without it.
    mapping : mapping, optional
        Columns by what they mean, for a table of no known format.

    Returns
    -------
    ballots : Ballots
        The votes.
    reading : Reading
        How they were understood.
    """
    if mapping is not None:
        ballots, name, title, chosen = read_mapped(table, mapping), "mapped", "columns as mapped", "mapped"
    else:
        found, chosen = (recognise(table), "recognised") if format is None else (find_format(format), "named")
        lacking = found.lacks(table)
        if lacking:
            remedy = f"leave --format out, or name the columns with {_MAP}"
            raise InputError(f"{found.title} needs the column {_either(lacking[0])}", remedy)
        ballots, name, title = found.read(table), found.name, found.called(table)
    return ballots, Reading(
        source,
        name,
        title,
        chosen,
        len(table),
        ballots.outcomes(),
        ballots.set_aside,
        ballots.notes,
        ballots.sides,
    )


def find_format(name: str) -> Format:
    """Return a format by its name.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    if name not in FORMATS:
        raise ParameterError(f"unknown format {name!r}; known: {', '.join(FORMATS)}")
    return FORMATS[name]


def recognise(table: Table) -> Format:
    """Return the one format that a table has.

    Raises
    ------
    InputError
        If it has none, which names the closest; or if it could be of several, which names them.
    """
    if own.FORMAT.matches(table):  # whatever else it has
        return own.FORMAT
    found = [format for format in FORMATS.values() if format.matches(table)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(f"{format.title} (--format {format.name})" for format in found)
        raise InputError(f"this could be {names}", "say which")
    raise InputError(_closest(table), _hint(table))


def _closest(table: Table) -> str:
    """Return what is wrong, seen from the format of which the most is there."""
    there = {_plain(name) for name in table.columns}
    best, most = None, -math.inf
    for format in FORMATS.values():
        lacking = [name for name in format.columns if not any(_plain(one) in there for one in name.split("|"))]
        found = len(format.columns) - len(lacking)
        if found and found - len(lacking) > most:
            best, most = format, found - len(lacking)
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
    known = {role: role for role in ROLES if role in table}
    known.setdefault("annotator", next((name for name in ANNOTATORS if name in table), "…"))
    told = ",".join(f"{role}={known.get(role, '…')}" for role in ("left", "right", "winner", "annotator"))
    return f"name the columns with --map {told} (mapping= in Python)"


def _either(name: str) -> str:
    return " or ".join(map(repr, name.split("|")))


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
