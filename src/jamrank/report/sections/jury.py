"""LLM judges: biases and cost."""

from __future__ import annotations

from collections.abc import Callable

from jamrank.report.markup import MISSING, count, decimal, finite, paragraph, plain
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.tables import Column, Row, whole_table
from jamrank.text import percent


def _render(report: Report) -> str:
    """Write the audit of the judges."""
    frame = report.jury
    if frame is None or frame.is_empty():
        return ""
    text = (
        "For the left: the share of decided votes for the answer on the left; sides are balanced, so 50 % is fair. "
        "Changed with the order: among comparisons asked in both orders. Twice as long, own family: the gain of "
        "such an answer (log-odds) at equal quality, estimated from the others; 0 is fair. Bits: the information "
        "of one vote, from 0 (random) to 1 (no errors). 95 % intervals in brackets."
    )
    columns = [
        Column("judge", lambda row: plain(row["judge"]), "name"),
        Column("votes", lambda row: count(row["votes"])),
        Column("no verdict", lambda row: count(row["refused"] + row["unparsable"]), "extra"),
        Column("for the left", _share("left_share", "left_low", "left_high")),
        Column("changed with the order", _share("order_changed")),
        Column("twice as long", _effect("longer")),
        Column("own family", _effect("own_family")),
        Column("agrees with people", _share("agreement", "agreement_low", "agreement_high")),
        Column("bits per vote", lambda row: decimal(finite(row["bits_per_vote"]), 2)),
        Column("cost", lambda row: _money(row["cost"])),
        Column("cost per bit", lambda row: _money(row["cost_per_bit"])),
    ]
    return paragraph(text) + whole_table(
        frame, columns, "LLM judges", "jury.csv", spreadsheet_safe=report.spreadsheet_safe
    )


def _share(name: str, low: str | None = None, high: str | None = None) -> Callable[[Row], str]:
    def write(row: Row) -> str:
        value = finite(row[name])
        if value is None:
            return MISSING
        interval = "" if low is None or high is None else f" ({percent(row[low])} to {percent(row[high])})"
        return f"{percent(value)}{interval}"

    return write


def _effect(name: str) -> Callable[[Row], str]:
    def write(row: Row) -> str:
        value = finite(row[name])
        if value is None:
            return MISSING
        return f"{value:+.2f} ({row[f'{name}_low']:+.2f} to {row[f'{name}_high']:+.2f})"

    return write


def _money(value: object) -> str:
    number = finite(value)
    return MISSING if number is None else f"{number:.3g}"


SECTION = Section("jury", "LLM judges", _render, "LLM judges")
