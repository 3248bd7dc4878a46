"""evalica's CSV: the canonical form without annotators."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, by_words_then_ids
from jamrank.io.formats.table import Table

_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED}


def read(table: Table) -> Ballots:
    """Read ``left,right,winner``; annotators, if named, are found by their column."""
    annotator, note = table.annotators("annotator")
    question, asked = table.asked("question")
    left, right = table.ids("left"), table.ids("right")
    said, named = by_words_then_ids(table.words("winner"), left, right, _WORDS, table.user_words)
    return Ballots(annotator, left, right, said, table.weights(), question, notes=(note, asked, named))


def fits(table: Table) -> bool:
    """Distinguish it from jamrank's own format."""
    return "annotator" not in table


FORMAT = Format("evalica", "evalica", ("left", "right", "winner"), read, fits, coded=True)
