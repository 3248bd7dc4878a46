"""evaluatorq's judged comparisons: the probability that the first item is better."""

from __future__ import annotations

from jamrank.io.formats.base import Ballots, Format, soft_votes
from jamrank.io.formats.table import Table


def read(table: Table) -> Ballots:
    """Read ``judge,item_a,item_b,p_a,weight``; ½ is a tie, any other fraction a soft vote."""
    said, p_left = soft_votes(table.numbers("p_a", 0.0, 1.0))
    annotator, note = table.annotators("judge")
    question, asked = table.asked("question", "question_id")
    return Ballots(
        annotator,
        table.ids("item_a"),
        table.ids("item_b"),
        said,
        table.weights(),
        question,
        notes=(note, asked),
        p_left=p_left,
    )


FORMAT = Format("evaluatorq", "evaluatorq comparisons", ("item_a", "item_b", "p_a"), read)
