"""Health of the data."""

from __future__ import annotations

from html import escape

from jamrank.report.markup import count, finite, plain, section, tag
from jamrank.report.record import Report

__all__ = ["health"]

_NAMES = {"folded": "repeated votes", "components": "linked groups of items"}


def health(report: Report) -> str:
    """Write what is wrong, risky or fine about the votes, and their counts."""
    if not report.health and not report.counts:
        return ""
    told = (
        tag("li", tag("strong", escape(level)), " ", escape(plain(sentence)), class_=f"l-{escape(level)}")
        for level, sentence in report.health
    )
    counts = (
        tag("div", tag("dt", escape(_NAMES.get(name, name))), tag("dd", count(finite(value))))
        for name, value in report.counts.items()
    )
    return section(
        "health", "Health of the data", tag("ul", *told, class_="findings"), tag("dl", *counts, class_="counts")
    )
