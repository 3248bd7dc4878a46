"""Pairs in doubt: which to ask about next, and on which annotators disagree."""

from __future__ import annotations

from html import escape

from jamrank.report import svg
from jamrank.report.markup import MISSING, count, finite, paragraph, percent, plain, plural, section, tag
from jamrank.report.record import Report
from jamrank.report.tables import Column, Row, table

__all__ = ["contested", "unsettled"]

_ABOVE = "the probability that the first item is truly above the second in the ranking"


def unsettled(report: Report) -> str:
    """Write of which items the order is least settled."""
    frame = report.unsettled
    if frame is None:
        return ""
    heading = "Least settled pairs: ask about these next"
    if frame.is_empty():
        return section("unsettled", heading, paragraph("The order of all neighbours in the ranking is settled."))
    if frame["above"].is_finite().any():
        told = (
            f"Truly above is {_ABOVE}, from all votes and scores together, as in the rank ranges: at 50 % nothing is "
            "known of their order, from 97.5 % on it is settled. Further votes on these pairs settle most of the "
            "ranking. No item comes up more than twice."
        )
    else:
        told = "This model does not say how sure the order is: these are the items whose scores are nearest."
    columns = [*_items(), Column("truly above", _chance, "cell"), Column("votes so far", _votes)]
    shown = table(frame.iter_rows(named=True), columns, "Pairs to ask about next, the least settled first")
    return section("unsettled", heading, paragraph(told), shown)


def _items() -> list[Column]:
    return [
        Column("item (rank)", lambda row: f"{plain(row['left'])} ({row['left_rank']})", "name"),
        Column("other item (rank)", lambda row: f"{plain(row['right'])} ({row['right_rank']})", "id"),
    ]


def _votes(row: Row) -> str:
    return count(finite(row["votes"]))


def _chance(row: Row) -> str:
    known = finite(row["above"])
    if known is None:
        return MISSING
    share = min(max(known, 0.0), 1.0)
    return tag("span", escape(percent(share))) + svg.probability_bar(share)


def contested(report: Report) -> str:
    """Write on which pairs the votes are split."""
    frame = report.contested
    if frame is None:
        return ""
    heading = "Most contested pairs"
    if frame.is_empty():
        return section(
            "contested", heading, paragraph("On no pair with four votes or more are the votes nearly even.")
        )
    columns = [
        *_items(),
        Column(
            "votes for either", lambda row: f"{count(finite(row['for_left']))} : {count(finite(row['for_right']))}"
        ),
        Column("truly above", _chance, "cell"),
    ]
    told = (
        f"Pairs with at least four decided votes, the most even split first. Truly above is, as before, {_ABOVE}: it "
        "may be sure all the same, for it knows who cast the votes and how the two fare against others. No item "
        "comes up more than three times."
    )
    total = plural(report.n_decided, "pair")
    against = (
        f"Of {total} of items with decided votes, the ranking puts none in another order than most of its votes."
        if not report.n_overruled
        else f"Of {total} of items with decided votes, the ranking puts {report.n_overruled:,} in another order than "
        "most of their votes."
    )
    written = table(frame.iter_rows(named=True), columns, "Pairs with the evenest votes")
    return section("contested", heading, paragraph(told), written, paragraph(against))
