"""MT-Bench judgements by people and by GPT-4: turns of questions that all models were asked."""

from __future__ import annotations

import polars as pl

from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import INCONSISTENT, LEFT, NOT_DECIDED, RIGHT, by_words
from jamrank.io.formats.table import Table

# Only a battle of the arena has the time of its vote, or says whether the models were named.
_OF_THE_ARENA = ("tstamp", "anony", "timestamp", "evaluation_session_id", "conv_metadata")
_WORDS = {"model_a": LEFT, "model_b": RIGHT, **NOT_DECIDED, "tie (inconsistent)": INCONSISTENT}


def read(table: Table) -> Ballots:
    """Read ``question_id,model_a,model_b,winner,judge,turn``."""
    annotator, note = table.annotators("judge")
    return Ballots(
        annotator,
        table.ids("model_a"),
        table.ids("model_b"),
        by_words(table.words("winner"), _WORDS, table.user_words),
        table.weights(),
        asked(table),
        notes=(note,),
    )


def asked(table: Table) -> pl.Series:
    """Return what was asked: a question, and one turn of it."""
    return table.ids("question_id").cast(pl.String) + " turn " + table.ids("turn", missing="?").cast(pl.String)


def fits(table: Table) -> bool:
    """Distinguish it from Chatbot Arena, by columns that only Chatbot Arena has."""
    return table.has("question_id", "turn") and not any(name in table for name in _OF_THE_ARENA)


FORMAT = Format(
    "mt-bench", "MT-Bench judgements", ("question_id", "turn", "model_a", "model_b", "winner"), read, fits
)
