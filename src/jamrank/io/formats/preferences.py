"""Hugging Face preference files, as TRL reads them: a chosen and a rejected answer to a prompt."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from jamrank.errors import InputError
from jamrank.io.documents import shown
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT
from jamrank.io.formats.table import Table, as_ids

_MODELS = (("chosen_model", "rejected_model"), ("chosen-model", "rejected-model"))


def read(table: Table) -> Ballots:
    """Read ``prompt,chosen,rejected``: texts or conversations; the models are the items where they are named."""
    prompts = table.values("prompt") if "prompt" in table else [None] * len(table)
    pairs = [
        _split(*texts, row=row)
        for row, texts in enumerate(zip(prompts, table.values("chosen"), table.values("rejected"), strict=True))
    ]
    question, asked = pl.Series("prompt", [prompt for prompt, _, _ in pairs], dtype=pl.String), ""
    if "prompt" not in table and not any(prompt for prompt, _, _ in pairs):
        found, asked = table.asked("question", each=True)
        question = question if found is None else found
    models = next((names for names in _MODELS if table.has(*names)), None)
    annotator, note = table.annotators("annotator")
    if models is None:
        chosen, rejected = (
            as_ids([pair[side] for pair in pairs], name) for side, name in ((1, "chosen"), (2, "rejected"))
        )
        items = "the answers are the items"
    else:
        chosen, rejected = (table.ids(name) for name in models)
        items = "the models are the items"
    return Ballots(
        annotator,
        chosen,
        rejected,
        np.full(len(table), LEFT, dtype=np.int8),
        table.weights(),
        question,
        sides=False,
        notes=(items, note, asked),
    )


def _split(prompt: Any, chosen: Any, rejected: Any, row: int) -> tuple[str, str, str]:
    """Return the prompt and two answers as text; messages that begin both conversations belong to the prompt."""
    for name, value in (("chosen", chosen), ("rejected", rejected)):
        if not value or not isinstance(value, str | list):
            problem = f"{name} is {'missing' if value in (None, '', []) else shown(value)}"
            raise InputError(problem, "expected a text or a list of messages", row=row + 1)
    asked = "" if prompt is None else _as_text(prompt)
    if isinstance(chosen, list) and isinstance(rejected, list):
        shared = 0
        # At least one message of each is the answer itself.
        while shared < min(len(chosen), len(rejected)) - 1 and chosen[shared] == rejected[shared]:
            shared += 1
        if prompt is None and shared:
            asked = _as_text(chosen[:shared])
        chosen, rejected = chosen[shared:], rejected[shared:]
    return asked, _as_text(chosen), _as_text(rejected)


def _as_text(value: Any) -> str:
    """Return a text, the text of a single message, or several messages as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        content = value[0].get("content")
        if isinstance(content, str) and content:
            return content
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


FORMAT = Format("preferences", "Hugging Face preferences (TRL)", ("chosen", "rejected"), read)
