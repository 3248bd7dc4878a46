"""Rankings by the values of a column, side by side."""

from __future__ import annotations

from collections.abc import Callable

from jamrank.report.markup import MISSING, count, finite, paragraph, plain, plural
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.tables import Column, Row, whole_table


def _render(report: Report) -> str:
    frame = report.by
    if frame is None or frame.is_empty():
        return ""
    values = [name.removeprefix("rank ") for name in frame.columns if name.startswith("rank ")]
    text = (
        f"The rank of each item overall and in the votes of each of {plural(len(values), 'value')} of "
        f"{plain(report.by_column)}, fitted separately. A dash means no votes; by.csv also has scores, intervals and "
        "the probability of being first."
    )
    columns = [
        Column("item", lambda row: plain(row["item"]), "name"),
        *([Column("group", _rank("group"))] if "group" in frame.columns else []),
        Column("overall", _rank("rank")),
        *(Column(plain(value), _rank(f"rank {value}")) for value in values),
    ]
    caption = f"Ranks by {plain(report.by_column)}"
    return paragraph(text) + whole_table(frame, columns, caption, "by.csv", spreadsheet_safe=report.spreadsheet_safe)


def _rank(name: str) -> Callable[[Row], str]:
    def write(row: Row) -> str:
        value = finite(row[name])
        return MISSING if value is None else count(value)

    return write


SECTION = Section("groups", lambda report: f"Ranks by {plain(report.by_column)}", _render, link="Ranks by group")
