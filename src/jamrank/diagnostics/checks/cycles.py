"""Circular triads of majorities."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.cycles import count_triads, majorities
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import in_percent, many

# A quarter of the triads of random votes is circular.
_CHANCE, NEARLY_CHANCE, ENOUGH_TRIADS = 0.25, 0.2, 20
_FEW = 0.05


def cycles(examination: Examination) -> CheckResult:
    """Count triads in which the majorities are circular; a warning where they are as frequent as by chance."""
    if not examination.n_decided:
        return CheckResult()
    winner, loser = majorities(examination.pair_counts)
    triads = count_triads(winner, loser, np.zeros(examination.votes.n_items, dtype=np.int64), 1)
    circular, total = float(triads.circular[0]), float(triads.circular[0] + triads.ordered[0])
    counts = {"triads": round(total), "circular_triads": round(circular)}
    if not total:
        return CheckResult(counts=counts, measures={"circular_share": None})
    share, about = circular / total, "" if triads.exact else "about "
    level = "good" if share < _FEW else "note"
    if share >= NEARLY_CHANCE and total >= ENOUGH_TRIADS:
        level = "warning"
    sentence = (
        f"Of {about}{many(round(total), 'triad')} of items with a majority on all three pairs, {round(circular):,} "
        f"({in_percent(share)}) are circular; random votes would give {in_percent(_CHANCE, 0)}."
    )
    return CheckResult([Finding(level, sentence, "cycles")], counts, {"circular_share": share})
