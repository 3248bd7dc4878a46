"""A fitted model as a notebook shows it."""

from __future__ import annotations

from html import escape

import numpy as np
import polars as pl

from jamrank.models import RankingModel
from jamrank.report.markup import MISSING, count, decimal, digits_for, finite, plain, shorten, tag
from jamrank.report.tables import between
from jamrank.text import many

_FIRST, _LAST, _NAME = 10, 3, 40
_LEFT, _RIGHT = "text-align:left", "text-align:right"


def as_table(model: RankingModel) -> str:
    """Return the first and last rows of the ranking and of the annotators as two small tables."""
    ranking = pl.DataFrame(model.ranking_)
    annotators = pl.DataFrame(model.annotators_).sort("flip", maintain_order=True)
    digits = digits_for(float(np.ptp(model.scores_)))
    items = [
        [
            count(row["rank"]),
            shorten(plain(row["item"]), _NAME),
            between(row, "rank", 0) or MISSING,
            decimal(finite(row["score"]), digits),
            decimal(finite(row["score_se"]), digits),
        ]
        for row in ranking.iter_rows(named=True)
    ]
    judges = [
        [
            shorten(plain(row["annotator"]), _NAME),
            count(row["votes"]),
            decimal(row["flip"], 3),
            between(row, "flip", 3) or MISSING,
            plain(row["verdict"]),
        ]
        for row in annotators.iter_rows(named=True)
    ]
    head = f"{many(ranking.height, 'item')}, {many(annotators.height, 'annotator')}"
    return tag(
        "div",
        tag("p", tag("strong", escape(repr(model))), f": {head}"),
        tag(
            "div",
            _table(["rank", "item", "rank interval", "score", "± se"], items, {1}),
            _table(["annotator", "votes", "flip", "95 % interval", "verdict"], judges, {0, 4}),
            style="display:flex;flex-wrap:wrap;gap:0 2em;align-items:flex-start",
        ),
        class_="jamrank",
    )


def _table(heads: list[str], rows: list[list[str]], words: set[int]) -> str:
    def cells(name: str, row: list[str]) -> str:
        aligned = (tag(name, escape(t), style=_LEFT if i in words else _RIGHT) for i, t in enumerate(row))
        return tag("tr", *aligned)

    left_out = len(rows) - _FIRST - _LAST
    shown = [cells("td", row) for row in (rows if left_out <= 1 else rows[:_FIRST])]
    if left_out > 1:
        shown.append(tag("tr", tag("td", f"… {left_out:,} more …", colspan=len(heads), style="text-align:center")))
        shown += [cells("td", row) for row in rows[-_LAST:]]
    return tag("table", tag("thead", cells("th", heads)), tag("tbody", *shown))
