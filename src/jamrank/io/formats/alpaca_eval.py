"""AlpacaEval's annotations: a preference from 1 (the first output) to 2 (the second)."""

from __future__ import annotations

import numpy as np

from jamrank.errors import InputError
from jamrank.io.formats.base import Ballots, Format, soft_votes
from jamrank.io.formats.table import Table


def read(table: Table) -> Ballots:
    """Read ``generator_1,generator_2,preference``; 1.5, and 0 in older files, is a draw."""
    preference = table.numbers("preference", 0.0, 2.0)
    preference = np.where(preference == 0, 1.5, preference)
    wrong = preference < 1
    if wrong.any():
        at = int(wrong.argmax())
        problem = f"preference is {preference[at]:g}"
        raise InputError(problem, "expected a number from 1 to 2, or 0 for a draw", row=at + 1)
    said, p_left = soft_votes(2 - preference)
    annotator, note = table.annotators("annotator")
    question, asked = table.asked("instruction", "question", each=True)
    return Ballots(
        annotator,
        table.ids("generator_1"),
        table.ids("generator_2"),
        said,
        table.weights(),
        question,
        notes=(note, asked),
        p_left=p_left,
    )


FORMAT = Format("alpaca-eval", "AlpacaEval annotations", ("generator_1", "generator_2", "preference"), read)
