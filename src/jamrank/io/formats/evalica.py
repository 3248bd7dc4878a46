"""evalica's CSV: the canonical form without annotators."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, by_words
from jamrank.io.formats.table import Table

__all__ = ["FORMAT"]

_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED}


def read(table: Table) -> Ballots:
    """Read ``left,right,winner``; the votes of whoever else is named in the file."""
    annotator, note = table.annotators("annotator")
    return Ballots(
        annotator,
        table.ids("left"),
        table.ids("right"),
        by_words(table.words("winner"), _WORDS),
        table.weights(),
        table.questions("question"),
        notes=(note,) if note else (),
    )


def fits(table: Table) -> bool:
    """Tell it from jamrank's own form."""
    return "annotator" not in table


FORMAT = Format("evalica", "evalica", ("left", "right", "winner"), read, fits)
