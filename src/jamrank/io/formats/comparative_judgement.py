"""Comparative judgement of essays and the like: who was chosen, and who was not."""

from __future__ import annotations

import numpy as np

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT
from jamrank.io.formats.table import Table


def read(table: Table) -> Ballots:
    """Read ``judge,candidate_chosen,candidate_not_chosen``; nothing is known of sides."""
    annotator, note = table.annotators("judge")
    question, asked = table.asked("question")
    return Ballots(
        annotator,
        table.ids("candidate_chosen"),
        table.ids("candidate_not_chosen"),
        np.full(len(table), LEFT, dtype=np.int8),
        table.weights(),
        question,
        sides=False,
        notes=(note, asked),
    )


FORMAT = Format(
    "comparative-judgement",
    "comparative judgement",
    ("candidate_chosen", "candidate_not_chosen"),
    read,
    coded=True,
)
