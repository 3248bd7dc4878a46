"""OpenAI's TL;DR comparisons: two summaries of a post, each by a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, MISSING, RIGHT
from jamrank.io.formats.table import Table, as_ids

_SAME = "both summaries are of one policy"


def read(table: Table) -> Ballots:
    """Read ``info,summaries,choice,worker``: the policies are the items, the posts the questions."""
    pairs = [_policies(value, row) for row, value in enumerate(table.values("summaries"))]
    choice = table.numbers("choice", 0.0, 1.0)
    wrong = ~np.isnan(choice) & (choice != np.round(choice))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"choice is {choice[row]:g}", "expected 0 (the first summary) or 1", row=row + 1)
    first, second = (as_ids([pair[side] for pair in pairs], "policy") for side in (0, 1))
    for column in (first, second):
        if column.null_count():
            row = int(column.is_null().arg_max() or 0)
            raise InputError("the policy of a summary is missing", "every summary needs one", row=row + 1)
    annotator, note = table.annotators("worker")
    posts = as_ids(
        [_post(value) for value in table.values("info")] if "info" in table else [None] * len(table), "info"
    )
    kept = np.array([one != other for one, other in pairs], dtype=bool)
    if not kept.any():
        raise InputError(f"in every row {_SAME}", "there is nothing to compare; expected different policies")
    rows = np.flatnonzero(kept)
    said = np.where(np.isnan(choice), MISSING, np.where(choice == 0, LEFT, RIGHT)).astype(np.int8)
    same = len(kept) - len(rows)
    return Ballots(
        annotator.gather(rows),
        first.gather(rows),
        second.gather(rows),
        said[rows],
        question=(posts.cast(pl.String).fill_null("") if posts.null_count() else posts).gather(rows),
        row=rows,
        set_aside={_SAME: same} if same else {},
        notes=(note,),
    )


def _policies(value: Any, row: int) -> tuple[Any, Any]:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(summary, dict) for summary in value):
        return value[0].get("policy"), value[1].get("policy")
    raise InputError(f"summaries is {shown(value)}", "expected a list of two, each with a policy", row=row + 1)


def _post(info: Any) -> Any:
    if not isinstance(info, dict):
        return info
    return info.get("id") or info.get("article") or info.get("post")


def fits(table: Table) -> bool:
    """Recognise the format by its summaries."""
    return any(isinstance(value, list) for value in table.values("summaries")[:100])


FORMAT = Format("tldr", "OpenAI TL;DR comparisons", ("summaries", "choice"), read, fits)
