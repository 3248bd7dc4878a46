"""Label Studio's JSON: tasks with annotations of the type ``pairwise``."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, RIGHT
from jamrank.io.formats.table import Table, as_ids

# The two items of a task are fields of one name but for this ending.
_ENDINGS = [(mark + one, mark + two) for one, two in ("12", "ab", "AB", ("left", "right")) for mark in ("", "_", "-")]
_PROMPTS = ("prompt", "instruction", "question")
_SIDES = {"left": LEFT, "right": RIGHT}
_CANCELLED, _NOTHING = "annotations cancelled", "annotations without a choice"


def read(table: Table) -> Ballots:
    """Read the tasks; the fields of ``data`` that differ only in their ending (text1, text2) are the items."""
    tasks = table.values("data") if "data" in table else [None] * len(table)
    left_name, right_name = _sides(tasks)
    numbers = table.values("id") if "id" in table else [None] * len(table)
    votes: list[tuple[int, Any, Any, Any, int, str]] = []
    aside: Counter[str] = Counter()
    for row, (task, made) in enumerate(zip(tasks, table.values("annotations"), strict=True)):
        data = task if isinstance(task, dict) else {}
        question = next(
            (str(data[name]) for name in _PROMPTS if data.get(name)), str(numbers[row] or f"row {row + 1}")
        )
        for annotation in _listed(made, "annotations", row):
            if annotation.get("was_cancelled"):
                aside[_CANCELLED] += 1
                continue
            selected = _selected(annotation, row)
            if selected is None:
                aside[_NOTHING] += 1
                continue
            left, right = (_item(data, name, row) for name in (left_name, right_name))
            votes.append((row, _who(annotation, row), left, right, selected, question))
    if not votes:
        raise InputError("no annotation with a choice of left or right", "expected results of the type 'pairwise'")
    rows, who, left_ids, right_ids, said, questions = zip(*votes, strict=True)
    return Ballots(
        as_ids(who, "completed_by", rows),
        as_ids(left_ids, left_name, rows),
        as_ids(right_ids, right_name, rows),
        np.array(said, dtype=np.int8),
        question=pl.Series(questions, dtype=pl.String),
        row=np.array(rows),
        set_aside=dict(aside),
        notes=(f"items are {shown(left_name)} and {shown(right_name)} of the data",),
    )


def _sides(tasks: list[Any]) -> tuple[str, str]:
    """Return the names of the two fields that were compared."""
    names = list(dict.fromkeys(name for task in tasks if isinstance(task, dict) for name in task))
    pairs = [
        (name, other)
        for name in names
        for one, two in _ENDINGS
        if name.endswith(one) and (other := name.removesuffix(one) + two) in names
    ]
    pairs = list(dict.fromkeys(pairs))
    if len(pairs) == 1:
        return pairs[0]
    # Names of models say more than what the models said.
    named = [pair for pair in pairs if re.search(r"model|item|system|_id|^id", pair[0])]
    if len(named) == 1:
        return named[0]
    found = ", ".join(map(shown, names)) or "nothing"
    problem = f"the tasks' data has {found}: not clear which two fields were compared"
    raise InputError(problem, "use names that differ only in their ending, such as text1 and text2")


def _selected(annotation: dict[str, Any], row: int) -> int | None:
    """Return the side that was chosen in the one pairwise result of an annotation; None for no choice."""
    results = [
        result for result in _listed(annotation.get("result"), "result", row) if result.get("type") == "pairwise"
    ]
    if not results:
        return None
    if len(results) > 1:
        raise InputError("an annotation has two pairwise results", "expected one", row=row + 1)
    value = results[0].get("value")
    selected = value.get("selected") if isinstance(value, dict) else value
    if selected is None:
        return None
    if not isinstance(selected, str) or selected not in _SIDES:
        raise InputError(f"selected is {shown(selected)}", "expected 'left' or 'right'", row=row + 1)
    return _SIDES[selected]


def _who(annotation: dict[str, Any], row: int) -> Any:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = next((who[name] for name in ("email", "id", "username") if who.get(name)), None)
    if who is None or who == "":
        raise InputError("completed_by is missing", "every annotation needs an annotator", row=row + 1)
    return who


def _item(data: dict[str, Any], name: str, row: int) -> Any:
    if data.get(name) in (None, ""):
        raise InputError(f"data.{name} is missing", "every task needs both items", row=row + 1)
    return data[name]


def _listed(value: Any, name: str, row: int) -> list[dict[str, Any]]:
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return value
    raise InputError(f"{name} is {shown(value)}", "expected a list of records", row=row + 1)


def fits(table: Table) -> bool:
    """Recognise the format by its annotations, which are lists of records."""
    return any(isinstance(value, list) for value in table.values("annotations")[:100])


FORMAT = Format("label-studio", "Label Studio pairwise", ("data", "annotations"), read, fits)
