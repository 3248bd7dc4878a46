"""Chatbot Arena with the winner in words: the 33k conversations, the battle logs, the 100k and 140k preferences."""

from __future__ import annotations

from jamrank.io.formats import mt_bench
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.grades import GRADED, graded_note, grades_of_words
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, VERDICTS, by_words_then_ids
from jamrank.io.formats.table import Table

_WORDS = {"model_a": LEFT, "model_b": RIGHT, "left": LEFT, "right": RIGHT, **VERDICTS, **NOT_DECIDED, **GRADED}


def read(table: Table) -> Ballots:
    """Read ``model_a,model_b,winner,judge``; every battle has a prompt, and so a question, of its own."""
    annotator, note = table.annotators("judge", "evaluation_session_id")
    notes = [note]
    if "judge" not in table and "evaluation_session_id" in table:
        notes.append("each evaluation session counts as an annotator")
    if "anony" in table and (known := sum(value in (False, "False", "false") for value in table.values("anony"))):
        notes.append(f"in {known:,} battles the voters knew the models' names")
    left, right, words = table.ids("model_a"), table.ids("model_b"), table.words("winner")
    said, named = by_words_then_ids(words, left, right, _WORDS, table.user_words)
    grade = grades_of_words(words, said)
    question, asked = table.asked("question_id", "id", "question", each=True)
    notes += [asked, named, graded_note(grade)]
    return Ballots(
        annotator,
        left,
        right,
        said,
        table.weights(),
        question,
        notes=tuple(notes),
        grade=grade,
    )


def fits(table: Table) -> bool:
    """Distinguish it from MT-Bench, which has turns of shared questions and no time of the vote."""
    return not mt_bench.fits(table)


def kind(table: Table) -> str:
    """Return which release it is, as far as its columns tell."""
    if table.has("evaluation_session_id"):
        return "Chatbot Arena (140k preferences)"
    if table.has("conv_metadata"):
        return "Chatbot Arena (100k preferences)"
    if table.has("conversation_a", "conversation_b", "anony"):
        return "Chatbot Arena (33k conversations)"
    return "Chatbot Arena (battles)" if table.has("anony") else "Chatbot Arena"


FORMAT = Format("chatbot-arena", "Chatbot Arena", ("model_a", "model_b", "winner"), read, fits, kind, coded=True)
