"""Health of the data."""

from __future__ import annotations

from html import escape

from jamrank.report.markup import count, finite, plain, section, tag
from jamrank.report.record import Report

__all__ = ["health"]

# What the numbers are in plain words.
_NAMES = {
    "rows": "rows read",
    "decided": "decided votes",
    "missing": "votes without a winner",
    "folded": "repeated votes",
    "without_weight": "votes of weight 0",
    "components": "linked groups of items",
    "bridges": "pairs that alone link two groups",
    "single_opponent": "items compared with one other only",
    "win_groups": "groups linked by wins both ways",
    "never_lost": "items that never lost",
    "never_won": "items that never won",
    "triads": "triples of items all compared",
    "circular_triads": "triples that run in a circle",
    "against_best_order": "votes against the best order",
    "repeated_pairs": "pairs on which somebody voted twice",
    "contradicted_pairs": "pairs on which somebody voted both ways",
    "one_sided_annotators": "annotators who always pick one side",
    "annotators_with_few_votes": "annotators with fewer than ten votes",
    "uninformative": "votes that tell nothing of the items",
}


def health(report: Report) -> str:
    """Write what is wrong, risky or fine about the votes, and their counts."""
    if not report.health and not report.counts:
        return ""
    told = (
        tag("li", tag("strong", escape(level)), " ", escape(plain(sentence)), class_=f"l-{escape(level)}")
        for level, sentence in report.health
    )
    counts = (
        tag("div", tag("dt", escape(_NAMES.get(name, name.replace("_", " ")))), tag("dd", count(finite(value))))
        for name, value in report.counts.items()
        if value
    )
    return section(
        "health", "Health of the data", tag("ul", *told, class_="findings"), tag("dl", *counts, class_="counts")
    )
