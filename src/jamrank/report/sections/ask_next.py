"""Pairs with the most informative next votes."""

from __future__ import annotations

import numpy as np

from jamrank.report.markup import MISSING, count, paragraph, tag
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.sections.uncertain_pairs import order_columns
from jamrank.report.tables import Column, Row, table

_MOST_VOTES = 1_000


def _render(report: Report) -> str:
    frame = report.ask_next
    if frame is None or frame.is_empty():
        return ""
    text = (
        "Pairs on which a vote is expected to be most informative about the order of all items, each given "
        "votes on those above it. "
    )
    columns = order_columns()
    compared = frame["above"].is_finite()
    if not compared.all():
        text += "Pairs without a probability join groups of items without a vote between them. "
    needed = frame["to_settle"].filter(frame["to_settle"].is_finite())
    if (needed <= _MOST_VOTES).any():
        text += (
            "The last column is the number of votes on the pair that would make its order certain, if the estimated "
            "difference in scores is right; a dash means more than a thousand, or that no number of votes would."
        )
        columns.append(Column("votes needed", _to_settle))
    elif len(needed):
        text += (
            "No order here would be certain after a thousand more votes on the pair, if the estimated differences in "
            "scores are right."
        )
    elif report.one_truth and compared.any():
        text += (
            "The model assumes that all votes on a pair under one question are about one truth, so that more of them "
            "cannot make its order certain: votes under new questions, or comparisons of these items with others, "
            "are needed."
        )
    written = table(frame.iter_rows(named=True), columns, "Pairs of items, the most informative first")
    more = tag("code", "jamrank next VOTES --count 50 --out next.csv")
    lower = tag("code", "--target")
    ends = f"none where its target is reached ({lower} sets a lower one) or out of reach"
    return paragraph(text) + written + tag("p", f"{more} writes a list with annotators and sides; {ends}.")


def _to_settle(row: Row) -> str:
    votes = row["to_settle"]
    return count(votes) if votes is not None and np.isfinite(votes) and votes <= _MOST_VOTES else MISSING


SECTION = Section("next", "Worth asking next", _render, link="Ask next")
