"""The data checks: findings, and counts."""

from __future__ import annotations

from html import escape

from jamrank.report.markup import count, finite, plain, tag
from jamrank.report.record import Report
from jamrank.report.section import Section

# Names of the numbers.
_NAMES = {
    "rows": "rows read",
    "decided": "decided votes",
    "missing": "votes without a winner",
    "folded": "duplicate votes",
    "without_weight": "votes with weight 0",
    "components": "connected components",
    "bridges": "bridges",
    "single_opponent": "items with one opponent",
    "win_groups": "strongly connected components of wins",
    "never_lost": "items that never lost",
    "never_won": "items that never won",
    "triads": "triads of items",
    "circular_triads": "circular triads",
    "repeated_pairs": "pairs with repeated votes of an annotator",
    "contradicted_pairs": "pairs with contradictory votes of an annotator",
    "one_sided_annotators": "annotators who always choose one side",
    "annotators_with_few_votes": "annotators with fewer than ten votes",
    "uninformative": "uninformative votes",
}


def _render(report: Report) -> str:
    if not report.health and not report.counts:
        return ""
    findings = (
        tag("li", tag("strong", escape(level)), " ", escape(plain(sentence)), class_=f"l-{escape(level)}")
        for level, sentence in report.health
    )
    counts = (
        tag("div", tag("dt", escape(_NAMES.get(name, name.replace("_", " ")))), tag("dd", count(finite(value))))
        for name, value in report.counts.items()
        if value
    )
    return tag("ul", *findings, class_="findings") + tag("dl", *counts, class_="counts")


SECTION = Section("checks", "Data checks", _render, link="Data checks")
