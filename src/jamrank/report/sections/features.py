"""Which features drive the score."""

from __future__ import annotations

import polars as pl

from jamrank.report import svg
from jamrank.report.markup import decimal, digits_for, finite, paragraph, plain, section
from jamrank.report.record import Report
from jamrank.report.sections.ranking import figure
from jamrank.report.tables import Column, whole_table

__all__ = ["features"]

_DRAWN = 20


def features(report: Report) -> str:
    """Write the effects, the strongest first."""
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
            -reach, reach, "change of the score for one standard deviation", svg.ticks(-reach, reach), reference=0.0
        ),
        title="Features: what drives the score",
        desc=f"The {len(marks)} strongest of {frame.height:,} features. Bars to the right raise the score, bars to "
        "the left lower it. The table below has numbers.",
        head="feature",
    )
    columns = [
        Column("feature", lambda row: plain(row["feature"]), "name"),
        Column("effect (one standard deviation)", lambda row: decimal(finite(row["effect"]), digits)),
        Column("for one unit", lambda row: f"{row['coef']:.4g}".replace("-", "−")),
    ]
    told = (
        "How much the score changes when a feature is one standard deviation higher and the others stay the same. "
        "Features that go together share their effect between them."
    )
    return section(
        "features",
        "What drives the score",
        paragraph(told),
        figure(chart),
        whole_table(frame, columns, "All features, strongest first", "features.csv"),
    )
