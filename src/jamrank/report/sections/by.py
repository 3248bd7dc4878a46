"""Rankings of the values of a column, side by side."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from jamrank.report.markup import MISSING, count, finite, paragraph, plain, plural, section
from jamrank.report.record import Report
from jamrank.report.tables import Column, Row, whole_table

__all__ = ["by"]


def by(report: Report) -> str:
    """Write the rank of each item overall and for each value of the column."""
    frame = report.by
    if frame is None or frame.is_empty():
        return ""
    values = [name.removeprefix("rank ") for name in frame.columns if name.startswith("rank ")]
    told = (
        f"The votes of each value of {plain(report.by_column)} were ranked on their own too: this is the rank of "
        f"each item overall and under {plural(len(values), 'value')}. A dash means no votes; by.csv has scores too."
    )
    columns = [
        Column("item", lambda row: plain(row["item"]), "name"),
        Column("overall", _rank("rank")),
        *(Column(plain(value), _rank(f"rank {value}")) for value in values),
    ]
    caption = f"Ranks by {plain(report.by_column)}"
    return section(
        "by",
        f"Ranks by {escape(plain(report.by_column))}",
        paragraph(told),
        whole_table(frame, columns, caption, "by.csv"),
    )


def _rank(name: str) -> Callable[[Row], str]:
    def write(row: Row) -> str:
        value = finite(row[name])
        return MISSING if value is None else count(value)

    return write
