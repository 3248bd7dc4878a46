"""Rankings as votes: every two answers that one annotator ranked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.base import Ballots
from jamrank.io.formats.outcomes import LEFT, RIGHT, TIE
from jamrank.io.formats.table import as_ids

_SUBMITTED = "submitted"
_EXPECTED = "expected a list of options, each with a rank and a value"


@dataclass
class Rankings:
    """Votes, as they are found one ranking after the other."""

    votes: list[tuple[int, Any, str, str, int, str]] = field(default_factory=list)
    set_aside: Counter[str] = field(default_factory=Counter)

    def add(self, row: int, who: Any, status: Any, ranking: Any, fields: dict[str, Any], question: str) -> None:
        """Add the votes of one answer to a ranking question.

        row: The record, counted from 0.
        who: The annotator.
        status: Only what was submitted counts.
        ranking: ``{"rank": 1, "value": option}``; equal ranks are ties.
        fields: What the record showed: an option that is the name of a field stands for the text of that field.
        question: What was asked.
        """
        if status != _SUBMITTED:
            self.set_aside[f"status {shown(status)}" if isinstance(status, str) else "no status"] += 1
            return
        if ranking in (None, []):
            self.set_aside["no answer"] += 1
            return
        if who in (None, ""):
            raise InputError("a response has no user", "every vote needs an annotator", row=row + 1)
        ranked = [_option(option, fields, row) for option in listed(ranking, row)]
        for (one, its_rank), (other, other_rank) in combinations(ranked, 2):
            if one == other:
                self.set_aside["two answers are the same"] += 1
            else:
                said = TIE if its_rank == other_rank else LEFT if its_rank < other_rank else RIGHT
                self.votes.append((row, who, one, other, said, question))

    def ballots(self) -> Ballots:
        """Return what was found.

        Raises InputError: If there are no votes.
        """
        if not self.votes:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.set_aside.items())
            raise InputError(
                f"no submitted ranking of two answers{f' ({reasons})' if reasons else ''}", "expected some"
            )
        rows, who, left, right, said, question = zip(*self.votes, strict=True)
        return Ballots(
            as_ids(who, "user_id", rows),
            pl.Series(left, dtype=pl.String),
            pl.Series(right, dtype=pl.String),
            np.array(said, dtype=np.int8),
            question=pl.Series(question, dtype=pl.String),
            row=np.array(rows),
            sides=False,
            set_aside=dict(self.set_aside),
            notes=("any two answers ranked by one annotator are a vote",),
        )


def listed(value: Any, row: int) -> list[dict[str, Any]]:
    """Return a list of records, also where it was written as a record of lists."""
    if isinstance(value, dict) and value:
        columns = list(value.values())
        if all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) == 1:
            return [dict(zip(value, entry, strict=True)) for entry in zip(*columns, strict=True)]
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return value
    raise InputError(f"found {shown(value)}", _EXPECTED, row=row + 1)


def is_ranking(value: Any) -> bool:
    """Return whether a value is an answer to a ranking question."""
    if isinstance(value, dict):
        return {"rank", "value"} <= value.keys()
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(option, dict) and {"rank", "value"} <= option.keys() for option in value)
    )


def _option(option: dict[str, Any], fields: dict[str, Any], row: int) -> tuple[str, float]:
    name, rank = option.get("value"), option.get("rank")
    if not isinstance(name, str) or not name:
        raise InputError(f"the value of an option is {shown(name)}", _EXPECTED, row=row + 1)
    if isinstance(rank, bool) or not isinstance(rank, int | float) or not 1 <= rank < 2**31:
        raise InputError(f"the rank of {shown(name)} is {shown(rank)}", "expected a number from 1", row=row + 1)
    text = fields.get(name)
    return (text if isinstance(text, str) and text else name), rank
