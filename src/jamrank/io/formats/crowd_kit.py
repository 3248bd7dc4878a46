"""crowd-kit's comparisons: the label is the winner's id, or the side on which it stood."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, by_words_or_ids
from jamrank.io.formats.table import Table

_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED}


def read(table: Table) -> Ballots:
    """Read ``worker,left,right,label``; older files have ``performer``."""
    annotator, note = table.annotators("worker", "performer")
    question, asked = table.asked("question")
    left, right = table.ids("left"), table.ids("right")
    return Ballots(
        annotator,
        left,
        right,
        by_words_or_ids(table.words("label"), left, right, _WORDS, table.user_words),
        table.weights(),
        question,
        notes=(note, asked),
    )


FORMAT = Format("crowd-kit", "crowd-kit comparisons", ("left", "right", "label"), read, coded=True)
