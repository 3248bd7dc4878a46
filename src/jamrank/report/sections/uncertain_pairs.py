"""Pairs whose order is least certain, and pairs on which the votes are split."""

from __future__ import annotations

from html import escape

from jamrank.report import svg
from jamrank.report.markup import MISSING, count, finite, paragraph, plain, plural, tag
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.tables import Column, Row, table
from jamrank.text import percent

_ABOVE = "P(above)"


def _render_uncertain(report: Report) -> str:
    frame = report.uncertain
    if frame is None:
        return ""
    if frame.is_empty():
        return paragraph("The order of all neighbours in the ranking is certain.")
    if frame["above"].is_finite().any():
        text = (
            f"{_ABOVE} is the probability that the score of the first item is the higher one, given all votes: at "
            "50 % the order is unknown, from 97.5 % on it counts as certain. An item is listed at most twice."
        )
    else:
        text = "This model gives no probabilities of the order; these are the pairs with the closest scores."
    return paragraph(text) + table(
        frame.iter_rows(named=True), order_columns(), "Pairs of items, the least certain first"
    )


def order_columns() -> list[Column]:
    """Return the columns of pairs of items: which, how certain their order is, and from how many votes."""
    return [*_items(), Column(_ABOVE, _chance, "cell"), Column("votes so far", _votes)]


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


def _render_contested(report: Report) -> str:
    frame = report.contested
    if frame is None:
        return ""
    if frame.is_empty():
        return paragraph("There is no pair with at least four votes and a nearly even split.")
    columns = [
        *_items(),
        Column("votes for each", lambda row: f"{count(finite(row['for_left']))} : {count(finite(row['for_right']))}"),
        Column(_ABOVE, _chance, "cell"),
    ]
    text = (
        f"Pairs with at least four decided votes, the most even split first. {_ABOVE} is the probability that the "
        "score of the first item is higher. It can be high despite an even split, since it accounts for who cast "
        "the votes and for all other comparisons of the two items. An item is listed at most three times."
    )
    total = plural(report.n_decided, "pair")
    overruled = f"{report.n_overruled:,}" if report.n_overruled else "none"
    against = f"Of {total} with decided votes, the ranking contradicts the majority in {overruled}."
    written = table(frame.iter_rows(named=True), columns, "Pairs with the most even votes")
    return paragraph(text) + written + paragraph(against)


UNCERTAIN = Section("uncertain", "Least certain pairs", _render_uncertain, link="Least certain")
CONTESTED = Section("contested", "Most contested pairs", _render_contested, link="Most contested")
