"""The ranking: a chart and a table."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from jamrank.report import svg
from jamrank.report.markup import MISSING, count, decimal, digits_for, finite, paragraph, plain, plural, tag
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.tables import Column, Row, between, whole_table

# Of more items than this, some of the first and of the last are drawn.
_MOST_DRAWN, _DRAWN, _DRAWN_OF_GROUP = 60, (30, 10), 10


def _render(report: Report) -> str:
    frame = report.ranking if report.within is None else report.within
    if frame.is_empty():
        return paragraph("There are no items to rank.")
    scores = [s for s in map(finite, frame["score"]) if s is not None]
    digits = digits_for(max(scores, default=0.0) - min(scores, default=0.0))
    rows = _rows(frame, digits)
    marks = [row for row in rows if isinstance(row, svg.Mark)]
    low, high = svg.value_range(marks)
    chart = svg.interval_chart(
        rows,
        svg.Axis(low, high, "score (higher is better)", svg.ticks(low, high)),
        title="Ranking: the score of each item",
        desc=f"{plural(len(marks), 'item')} of {frame.height:,}, best first. The table below lists the numbers.",
        heads=("item", "rank interval"),
    )
    caption = "Dots are scores, highest first."
    if any(m.low is not None for m in marks):
        caption = (
            "Dots are scores, lines their 95 % intervals. The rank interval contains the true rank with 95 % "
            "probability; where the intervals of two items overlap, their order may be uncertain."
        )
    if report.within is not None:
        caption += " Ranks and rank intervals are those within a group; no vote compares items of different groups."
    meaning = paragraph(f"Scores: {report.meaning}.") if report.meaning else ""
    return paragraph(caption) + meaning + figure(chart) + _table(report, frame, digits)


def _rows(frame: pl.DataFrame, digits: int) -> list[svg.Mark | svg.Gap]:
    """Return what is drawn: all items, or the first and the last; of groups, the first items of the largest."""
    if "group" not in frame.columns:
        drawn = (frame.height, 0) if frame.height <= _MOST_DRAWN else _DRAWN
        return ends(frame, drawn, lambda row: _mark(row, digits), "item")
    rows: list[svg.Mark | svg.Gap] = []
    for (number,), own in frame.group_by("group", maintain_order=True):
        if len(rows) >= _MOST_DRAWN:
            more = int(frame["group"].max()) - int(str(number)) + 1  # type: ignore[arg-type]
            return [*rows, svg.Gap(f"… {plural(more, 'further group')} in the table …")]
        first = own.head(_DRAWN_OF_GROUP)
        left_out = "" if first.height == own.height else f", the first {first.height}"
        rows.append(svg.Gap(f"group {number}: {plural(own.height, 'item')}{left_out}"))
        rows += [_mark(row, digits) for row in first.iter_rows(named=True)]
    return rows


def figure(chart: str) -> str:
    """Return a chart with a line below it that shows the numbers of the row under the pointer."""
    return tag("figure", chart, tag("figcaption", class_="tip", aria_live="polite"))


def ends(
    frame: pl.DataFrame, drawn: tuple[int, int], mark: Callable[[Row], svg.Mark], noun: str
) -> list[svg.Mark | svg.Gap]:
    """Return all rows, or the first and the last with the number of those between."""
    first, last = drawn
    left_out = frame.height - first - last
    if left_out <= 0:
        return [mark(row) for row in frame.iter_rows(named=True)]
    gap = svg.Gap(f"… {plural(left_out, noun)} between …")
    head, tail = frame.head(first), frame.tail(last)
    return [*map(mark, head.iter_rows(named=True)), gap, *map(mark, tail.iter_rows(named=True))]


def _mark(row: Row, digits: int) -> svg.Mark:
    name, score = plain(row["item"]), finite(row["score"])
    low, high = _interval(row)
    ranks = between(row, "rank", 0)
    tip = f"{name}: rank {_rank(row)}{f' (interval {ranks})' if ranks else ''}, score {decimal(score, digits)}"
    if low is not None:
        tip += f" ({decimal(low, digits)} to {decimal(high, digits)})"
    return svg.Mark(name, score, low, high, _rank(row), ranks, "item", tip)


def _interval(row: Row) -> tuple[float | None, float | None]:
    return finite(row["score_low"]), finite(row["score_high"])


def _rank(row: Row) -> str:
    return count(finite(row["rank"]))


def _table(report: Report, frame: pl.DataFrame, digits: int) -> str:
    def interval(row: Row) -> str:
        low, high = _interval(row)
        return MISSING if low is None else f"{decimal(low, digits)} to {decimal(high, digits)}"

    columns = [
        Column("rank", _rank),
        Column("item", lambda row: plain(row["item"]), "name"),
        Column("rank interval", lambda row: between(row, "rank", 0) or MISSING),
        Column("score", lambda row: decimal(finite(row["score"]), digits)),
        Column("95 % interval", interval, "extra"),
    ]
    safe = report.spreadsheet_safe
    if report.within is None:
        return whole_table(frame, columns, "All items, best first", "ranking.csv", spreadsheet_safe=safe)
    columns.insert(0, Column("group", lambda row: count(finite(row["group"]))))
    columns[1] = Column("rank in group", _rank)
    caption = "All items by group, best first"
    return whole_table(frame, columns, caption, "ranking.csv", spreadsheet_safe=safe)


SECTION = Section("ranking", "Ranking", _render, link="Ranking")
