"""jamrank itself, from arrays: encoding the votes is the preparation, and is done anew for every fit."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.rivals.contender import Contender, Scores, by_item
from benchmarks.votes import Votes


def prepare(votes: Votes) -> tuple[Any, int]:
    import jamrank as jr

    return jr.Comparisons.from_arrays(votes.left, votes.right, votes.annotator, votes.left_won), votes.n_items


def fit(model: str, prepared: tuple[Any, int]) -> Scores:
    import jamrank as jr

    comparisons, n_items = prepared
    fitted = getattr(jr, model)().fit(comparisons)
    return by_item(fitted.items_, fitted.scores_, n_items)


CONTENDERS = tuple(
    Contender(f"jamrank {model}", "jamrank", "jamrank", annotators, prepare, partial(fit, model))
    for model, annotators in {"CrowdBT": "flip", "JAM": "flip", "BradleyTerry": "no"}.items()
)
