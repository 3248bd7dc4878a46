"""Chatbot Arena's 55k release, as Kaggle has it: one column for each outcome."""

from __future__ import annotations

import numpy as np

from jamrank.errors import InputError
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, MISSING, RIGHT, TIE
from jamrank.io.formats.table import Table

_COLUMNS = ("winner_model_a", "winner_model_b", "winner_tie")


def read(table: Table) -> Ballots:
    """Read ``model_a,model_b`` and a 1 in the column of what was said."""
    marks = np.stack([table.numbers(name, 0.0, 1.0) for name in _COLUMNS])
    empty = np.isnan(marks).all(axis=0)
    wrong = ~empty & ~(np.isin(marks, (0.0, 1.0)).all(axis=0) & (marks.sum(axis=0) == 1))
    if wrong.any():
        row = int(wrong.argmax())
        found = ", ".join(f"{name} {mark:g}" for name, mark in zip(_COLUMNS, marks[:, row], strict=True))
        raise InputError(found, "expected a 1 in one of them and 0 in the others", row=row + 1)
    said = np.array([LEFT, RIGHT, TIE], dtype=np.int8)[np.nan_to_num(marks).argmax(axis=0)]
    annotator, note = table.annotators("judge")
    question, asked = table.asked("id", "question_id", "question", each=True)
    return Ballots(
        annotator,
        table.ids("model_a"),
        table.ids("model_b"),
        np.where(empty, MISSING, said).astype(np.int8),
        table.weights(),
        question,
        notes=(note, asked),
    )


FORMAT = Format("chatbot-arena-55k", "Chatbot Arena (55k, Kaggle)", ("model_a", "model_b", *_COLUMNS), read)
