"""The effects of the features on the score."""

from __future__ import annotations

import polars as pl

from jamrank.report import svg
from jamrank.report.markup import decimal, digits_for, finite, paragraph, plain
from jamrank.report.record import Report
from jamrank.report.section import Section
from jamrank.report.sections.ranking import figure
from jamrank.report.tables import Column, whole_table

_DRAWN = 20


def _render(report: Report) -> str:
    if report.features is None or report.features.is_empty():
        return ""
    frame = report.features.sort(pl.col("effect").abs(), descending=True, maintain_order=True)
    largest = max((abs(e) for e in map(finite, frame["effect"]) if e is not None), default=0.0)
    digits = digits_for(largest)
    marks = [
        svg.Mark(plain(name), finite(effect), tip=f"{plain(name)}: effect {decimal(finite(effect), digits)}")
        for name, effect in frame.select("feature", "effect").head(_DRAWN).iter_rows()
    ]
    reach = 1.05 * largest or 1.0
    chart = svg.bar_chart(
        marks,
        svg.Axis(
            -reach, reach, "change of the score per standard deviation", svg.ticks(-reach, reach), reference=0.0
        ),
        title="Features: effects on the score",
        desc=f"The {len(marks)} strongest of {frame.height:,} features. Bars to the right raise the score, bars to "
        "the left lower it. The table below lists the numbers.",
        head="feature",
    )
    columns = [
        Column("feature", lambda row: plain(row["feature"]), "name"),
        Column("effect (per standard deviation)", lambda row: decimal(finite(row["effect"]), digits)),
        Column("per unit", lambda row: f"{row['coef']:.4g}".replace("-", "−")),
    ]
    text = (
        "The change of the score when a feature increases by one standard deviation and the others stay the same. "
        "Correlated features share their effect."
    )
    caption, safe = "All features, strongest first", report.spreadsheet_safe
    written = whole_table(frame, columns, caption, "features.csv", spreadsheet_safe=safe)
    return paragraph(text) + figure(chart) + written


SECTION = Section("features", "Feature effects", _render, link="Features")
