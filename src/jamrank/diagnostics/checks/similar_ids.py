"""Ids that are probably meant to be the same."""

from __future__ import annotations

from typing import Any

from jamrank.diagnostics.examination import MOST_LISTED, Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.diagnostics.similar_ids import similar_ids, told_apart
from jamrank.text import many


def similar(examination: Examination) -> CheckResult:
    """Warn of ids that differ only by spaces, case or Unicode normalisation."""
    votes = examination.votes
    findings, details = [], dict[str, list[Any]]()
    for noun, labels in (("item", votes.items), ("annotator", votes.annotators), ("question", votes.questions)):
        groups = similar_ids(labels)
        details[f"similar_{noun}s"] = list(groups[:MOST_LISTED])
        if groups:
            more = f" ({many(len(groups) - 1, 'more case')})" if len(groups) > 1 else ""
            findings.append(
                Finding(
                    "warning",
                    f"The {noun} ids {told_apart(groups[0])} differ only by spaces, case or Unicode "
                    f"normalisation{more} and count as different {noun}s; use one spelling if they are the same.",
                    "ids",
                )
            )
    return CheckResult(findings, details=details)
