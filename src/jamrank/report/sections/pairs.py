"""Pairs in doubt: which to ask about next, and on which annotators disagree."""

from __future__ import annotations

import polars as pl

from jamrank.report import svg
from jamrank.report.markup import MISSING, count, finite, paragraph, percent, plain, plural, section, tag
from jamrank.report.record import Report
from jamrank.report.tables import Column, Row, table

__all__ = ["contested", "unsettled"]


def unsettled(report: Report) -> str:
    """Write between which neighbours in the ranking the order is least settled."""
    frame = report.unsettled
    if frame is None:
        return ""
    heading = "Least settled pairs: ask about these next"
    if frame.is_empty():
        return section("unsettled", heading, paragraph("The order of all neighbours in the ranking is settled."))
    told = (
        "Neighbours in the ranking whose order is open, those first on which a further vote would teach most. Wrong "
        "order is the probability that the item ranked lower is in truth the higher one; 50 % means that nothing is "
        "known of their order. No item comes up more than twice."
    )
    columns = [
        Column("item (rank)", lambda row: f"{plain(row['left'])} ({row['left_rank']})", "name"),
        Column("other item (rank)", lambda row: f"{plain(row['right'])} ({row['right_rank']})", "id"),
        Column("votes so far", lambda row: count(finite(row["votes"]))),
        Column("item beats other", _chance, "cell"),
        Column("wrong order", lambda row: MISSING if finite(row["doubt"]) is None else percent(row["doubt"])),
    ]
    return section(
        "unsettled",
        heading,
        paragraph(told),
        table(frame.iter_rows(named=True), columns, f"The {plural(frame.height, 'pair')} to ask about next"),
        _open_pairs(report),
    )


def _open_pairs(report: Report) -> str:
    if report.pairs is None:
        return ""
    chance = report.pairs["p_left"].cast(pl.Float64)
    known = chance.filter(chance.is_finite())
    still = int(known.is_between(0.25, 0.75, closed="none").sum())
    return paragraph(
        f"Of {plural(len(known), 'pair')} with votes, {still:,} {'is' if still == 1 else 'are'} open: taking votes "
        "and scores together, neither side has three chances in four."
    )


def _chance(row: Row) -> str:
    share = min(max(finite(row["p_left"]) or 0.0, 0.0), 1.0)
    return tag("span", percent(share)) + svg.probability_bar(share)


def contested(report: Report) -> str:
    """Write on which pairs the votes are split, and with whom the model sides."""
    frame = report.contested
    if frame is None:
        return ""
    heading = "Most contested pairs"
    if frame.is_empty():
        return section("contested", heading, paragraph("No pair has votes on both sides."))
    asked = "question" in frame.columns
    columns = [
        Column("left", lambda row: plain(row["left"]), "name"),
        Column("right", lambda row: plain(row["right"]), "id"),
        *([Column("question", lambda row: plain(row["question"]), "id")] if asked else []),
        Column("votes", lambda row: f"{count(finite(row['for_left']))} : {count(finite(row['for_right']))}"),
        Column("left beats right", _chance, "cell"),
        Column("majority", _agreement, "chip"),
    ]
    overruled = report.n_overruled
    told = (
        "Pairs with the most votes nearest to an even split. Left beats right is what the model makes of the votes: "
        "it weighs them by whose they are, and knows how the two items fare against others."
    )
    against = (
        "On no pair does the model decide against the majority of its votes."
        if not overruled
        else f"On {plural(overruled, 'pair')} of {report.n_pairs:,} the model decides against the majority of votes."
    )
    written = table(
        frame.iter_rows(named=True), columns, f"The {plural(frame.height, 'pair')} with the most split votes"
    )
    return section("contested", heading, paragraph(told), paragraph(against), written)


def _agreement(row: Row) -> str:
    lead, share = row["for_left"] - row["for_right"], finite(row["p_left"])
    if lead == 0 or share is None or share == 0.5:
        return "even votes" if lead == 0 else MISSING
    return "followed" if (lead > 0) == (share > 0.5) else tag("strong", "overruled")
