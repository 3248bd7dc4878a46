"""What sways annotators, and the ranking with and without it."""

from __future__ import annotations

import polars as pl

from jamrank.inference.covariates import ALL
from jamrank.report import svg
from jamrank.report.markup import count, decimal, digits_for, finite, paragraph, plain, plural
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.sections.ranking import figure
from jamrank.report.tables import Column, Row, between, whole_table

_MOST_DRAWN = 40


def _render(report: Report) -> str:
    if report.effects is None or report.effects.is_empty():
        return ""
    text = (
        "How covariates of a vote, such as a difference in length, sway each annotator: the change in the log-odds "
        "of a vote for the left item when the covariate (left minus right) grows by one unit, at equal scores, with "
        "95 % intervals. Effects of annotators are shrunk towards their mean. The ranking of this report is the one "
        "without these effects."
    )
    charts = [_chart(str(name), own) for (name,), own in report.effects.group_by("covariate", maintain_order=True)]
    return paragraph(text) + "".join(map(figure, charts)) + _effects(report, report.effects) + _rankings(report)


def _chart(name: str, frame: pl.DataFrame) -> str:
    digits = digits_for(max(map(abs, [*frame["coef_low"], *frame["coef_high"]])))
    shown = frame.head(_MOST_DRAWN)
    marks = [_mark(row, digits) for row in shown.iter_rows(named=True)]
    rows: list[svg.Mark | svg.Gap] = list(marks)
    if frame.height > shown.height:
        rows.append(svg.Gap(f"… {plural(frame.height - shown.height, 'further annotator')} in the table …"))
    low, high = svg.value_range(marks)
    low, high = min(low, 0.0), max(high, 0.0)
    label = f"log-odds for one unit of {name}"
    return svg.interval_chart(
        rows,
        svg.Axis(low, high, plain(label), svg.ticks(low, high), reference=0.0),
        title=f"Effects of {plain(name)}",
        desc="An interval that does not include 0 is a clear effect. The table below lists the numbers.",
        heads=("annotator", "effect"),
    )


def _mark(row: Row, digits: int) -> svg.Mark:
    name, value = plain(row["annotator"]), finite(row["coef"])
    low, high = finite(row["coef_low"]), finite(row["coef_high"])
    tip = f"{name}: {plain(row['sentence'])}"
    return svg.Mark(name, value, low, high, "", decimal(value, digits), "item", tip)


def _effects(report: Report, frame: pl.DataFrame) -> str:
    def number(name: str) -> Column:
        return Column(
            name.removeprefix("coef_") if name != "coef" else "effect",
            lambda row: f"{row[name]:+.3g}".replace("-", "−"),
        )

    columns = [
        Column("covariate", lambda row: plain(row["covariate"]), "name"),
        Column("annotator", lambda row: plain(row["annotator"]), "name"),
        number("coef"),
        number("coef_low"),
        number("coef_high"),
        Column("in words", lambda row: plain(row["sentence"]), "word"),
    ]
    caption = f"Effects of covariates; {ALL} is the mean over annotators"
    return whole_table(frame, columns, caption, "effects.csv", spreadsheet_safe=report.spreadsheet_safe)


def _rankings(report: Report) -> str:
    """Return the ranks without and with the effects, side by side."""
    if report.with_effects is None:
        return ""
    left_in = report.with_effects.select(
        "item", *(pl.col(name).alias(f"with_{name}") for name in ("rank", "score", "rank_low", "rank_high"))
    )
    frame = report.ranking.select("item", "rank", "score", "rank_low", "rank_high").join(
        left_in, on="item", how="left", maintain_order="left"
    )
    columns = [
        Column("rank", lambda row: count(finite(row["rank"]))),
        Column("item", lambda row: plain(row["item"]), "name"),
        Column("rank interval", lambda row: between(row, "rank", 0)),
        Column("rank with effects", lambda row: count(finite(row["with_rank"]))),
        Column("rank interval with effects", lambda row: between(row, "with_rank", 0)),
    ]
    caption = "The ranking without the effects, and with them"
    return whole_table(frame, columns, caption, "with-effects.csv", spreadsheet_safe=report.spreadsheet_safe)


SECTION = Section("effects", "What sways annotators", _render, link="What sways")
