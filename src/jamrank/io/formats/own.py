"""jamrank's own format in records; tables of this format have a faster reader."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, by_words_then_ids
from jamrank.io.formats.table import Table

__all__ = ["FORMAT", "read"]

_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED}


def read(table: Table) -> Ballots:
    """Read ``left,right,winner`` and, if they are there, ``annotator``, ``weight`` and ``question``."""
    annotator, note = table.annotators("annotator")
    question, asked = table.asked("question")
    left, right = table.ids("left"), table.ids("right")
    said, named = by_words_then_ids(table.words("winner"), left, right, _WORDS, table.user_words)
    notes = tuple(filter(None, (note, asked, named)))
    return Ballots(annotator, left, right, said, table.weights(), question, notes=notes)


FORMAT = Format("canonical", "jamrank's own form", ("annotator", "left", "right", "winner"), read)
