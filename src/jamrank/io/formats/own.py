"""jamrank's own form in records; tables of this form are read by a quicker way."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, by_words_then_ids
from jamrank.io.formats.table import Table

__all__ = ["FORMAT"]

_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED}


def read(table: Table) -> Ballots:
    """Read ``annotator,left,right,winner`` and, if they are there, ``weight`` and ``question``."""
    annotator, _ = table.annotators("annotator")
    question, asked = table.asked("question")
    left, right = table.ids("left"), table.ids("right")
    said, named = by_words_then_ids(table.words("winner"), left, right, _WORDS, table.told)
    return Ballots(
        annotator,
        left,
        right,
        said,
        table.weights(),
        question,
        notes=tuple(filter(None, (asked, named))),
    )


FORMAT = Format("canonical", "jamrank's own form", ("annotator", "left", "right", "winner"), read)
