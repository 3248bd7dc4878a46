"""Separated data: scores that only a prior keeps finite."""

from __future__ import annotations

from typing import Any

from jamrank.diagnostics.examination import Examination, json_ids, named
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.diagnostics.graph import separation

_DIVERGING = "Diverging scores (separated data)"


def separated(examination: Examination) -> CheckResult:
    """Note items that won or lost every vote, and groups between which all votes point one way.

    There the likelihood of the scores has no finite maximum; how far apart they are is decided by the prior.
    """
    if not examination.n_decided:
        return CheckResult()
    items, found = examination.votes.items, separation(examination.pair_counts)
    counts: dict[str, int | float] = {"win_groups": found.n_groups}
    findings, details = [], dict[str, list[Any]]()
    for name, which, verb, side in (
        ("never_lost", found.never_lost, "won", "above"),
        ("never_won", found.never_won, "lost", "below"),
    ):
        counts[name] = len(which)
        details[name] = json_ids(items[which])
        if len(which):
            subject = named(items[which], "item")
            sentence = (
                f"{_DIVERGING}: {subject[0].lower()}{subject[1:]} {verb} every decided vote; the prior decides how "
                f"far {side} the others {'it is' if len(which) == 1 else 'they are'}."
            )
            findings.append(Finding("note", sentence, "separation"))
    extremes = len(found.never_lost) + len(found.never_won)
    if found.n_groups > 1 + extremes and examination.n_components == 1:
        sentence = (
            f"{_DIVERGING}: the items form {found.n_groups:,} groups between which all votes point one way; the "
            "prior decides how far apart the groups are."
        )
        findings.append(Finding("note", sentence, "separation"))
    return CheckResult(findings, counts, details=details)
