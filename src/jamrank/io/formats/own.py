"""jamrank's own form in records; tables of this form are read by a quicker way."""

from __future__ import annotations

import numpy as np

from jamrank.data.soft import MOST_GRADES
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.grades import GRADED, graded_note, grades_of_words
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, VERDICTS, by_words_then_ids
from jamrank.io.formats.table import Table

# An item may be called A: the letters alone are no verdicts here.
_VERDICTS = {word: side for word, side in VERDICTS.items() if len(word) > 1}
_WORDS = {"left": LEFT, "right": RIGHT, **NOT_DECIDED, **_VERDICTS, **GRADED}


def read(table: Table) -> Ballots:
    """Read ``annotator,left,right,winner``, with ``weight``, ``question``, ``p_left`` and ``grade`` if there."""
    annotator, _ = table.annotators("annotator")
    question, asked = table.asked("question")
    left, right = table.ids("left"), table.ids("right")
    words = table.words("winner")
    said, named = by_words_then_ids(words, left, right, _WORDS, table.user_words)
    grade = grades_of_words(words, said)
    if "grade" in table:
        grade = np.nan_to_num(table.numbers("grade", 0, MOST_GRADES)).astype(np.int8)
    return Ballots(
        annotator,
        left,
        right,
        said,
        table.weights(),
        question,
        notes=(asked, named, graded_note(grade)),
        p_left=table.numbers("p_left", 0.0, 1.0) if "p_left" in table else None,
        grade=grade,
    )


FORMAT = Format("canonical", "jamrank's own form", ("annotator", "left", "right", "winner"), read, coded=True)
