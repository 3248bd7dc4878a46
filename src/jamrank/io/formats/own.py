"""jamrank's own form in records; tables of this form are read by a quicker way."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import ABSTAIN, BOTH_BAD, LEFT, RIGHT, TIE, by_words
from jamrank.io.formats.table import Table

__all__ = ["FORMAT"]

_WORDS = {"left": LEFT, "right": RIGHT, "tie": TIE, "both_bad": BOTH_BAD, "abstain": ABSTAIN}


def read(table: Table) -> Ballots:
    """Read ``annotator,left,right,winner`` and, if they are there, ``weight`` and ``question``."""
    return Ballots(
        table.ids("annotator"),
        table.ids("left"),
        table.ids("right"),
        by_words(table.words("winner"), _WORDS),
        table.weights(),
        table.questions("question"),
    )


FORMAT = Format("canonical", "jamrank's own form", ("annotator", "left", "right", "winner"), read)
