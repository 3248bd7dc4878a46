"""FastChat's pairwise judgements of MT-Bench: each pair judged twice, the second time with the sides exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from jamrank.io.formats.base import Ballots, Format, of_one_type
from jamrank.io.formats.mt_bench import asked
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, Outcomes, by_words, turned
from jamrank.io.formats.table import Table, as_ids

_ERROR = 100
_WORDS = {"model_1": LEFT, "model_2": RIGHT, **NOT_DECIDED, "error": _ERROR}


def read(table: Table) -> Ballots:
    """Read ``model_1,model_2,g1_winner,g2_winner,judge``: two votes a row, model_1 first left, then right."""
    first, second = of_one_type(table.ids("model_1"), table.ids("model_2"))
    games = [by_words(table.words(name), _WORDS, table.user_words) for name in ("g1_winner", "g2_winner")]
    said: Outcomes = np.concatenate([games[0], turned(games[1], np.ones(len(table), dtype=bool))])
    rows = np.tile(np.arange(len(table)), 2)
    voted = said != _ERROR
    left, right = (pl.concat(sides).filter(voted) for sides in ([first, second], [second, first]))
    judge = as_ids([_judge(value) for value in table.values("judge")], "judge") if "judge" in table else None
    annotator, note = (judge, "") if judge is not None else table.annotators()
    turns = table.has("question_id", "turn")
    questions, found = (asked(table), "") if turns else table.asked("question_id", each=True)
    failed = int((~voted).sum())
    return Ballots(
        annotator.gather(rows[voted]),
        left,
        right,
        said[voted],
        question=None if questions is None else questions.gather(rows[voted]),
        row=rows[voted],
        set_aside={"no verdict found in the judge's answer": failed} if failed else {},
        notes=(note, found),
    )


def _judge(value: Any) -> Any:
    """Return the judge of ``[judge, prompt]``: the prompt differs with the turn, the judge does not."""
    return value[0] if isinstance(value, list) and value else value


FORMAT = Format("mt-bench-pairs", "MT-Bench pairs (FastChat)", ("model_1", "model_2", "g1_winner", "g2_winner"), read)
