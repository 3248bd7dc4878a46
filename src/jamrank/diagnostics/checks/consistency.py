"""Annotators who contradict themselves."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.checks.cycles import ENOUGH_TRIADS, NEARLY_CHANCE
from jamrank.diagnostics.examination import Examination, json_ids, named
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import in_percent, many, number
from jamrank.typing import FloatArray, IntArray

_OFTEN, _ENOUGH_REPEATS = 0.25, 5


def contradictions(examination: Examination) -> CheckResult:
    """Compare repeated votes of an annotator on a pair; warn where they often differ."""
    if not examination.n_decided:
        return CheckResult()
    names, found = examination.votes.annotators, examination.consistency
    repeated, both = float(found.repeated.sum()), float(found.contradicted.sum())
    findings = []
    if repeated:
        often = both / repeated > _OFTEN and repeated >= _ENOUGH_REPEATS
        sentence = (
            f"Annotators voted more than once on {many(repeated, 'pair')}, and in both directions on {number(both)} "
            f"of them ({in_percent(both / repeated)})."
        )
        level = "warning" if often else "note" if both else "good"
        findings.append(Finding(level, sentence, "contradictions"))
    rate = _share(found.contradicted, found.repeated)
    worst = _highest(rate, (found.repeated >= _ENOUGH_REPEATS) & (rate > _OFTEN))
    if len(worst):
        sentence = (
            f"{named(names[worst], 'annotator')} voted in both directions on more than {in_percent(_OFTEN, 0)} of "
            "the repeated pairs."
        )
        findings.append(Finding("warning", sentence, "contradictions"))
    return CheckResult(
        findings,
        {"repeated_pairs": int(repeated), "contradicted_pairs": int(both)},
        {"contradicted_share": both / repeated if repeated else None},
        {"contradict_themselves": json_ids(names[worst])},
    )


def circular_annotators(examination: Examination) -> CheckResult:
    """Warn of annotators whose own votes are circular about as often as random ones."""
    if not examination.n_decided:
        return CheckResult()
    names, found = examination.votes.annotators, examination.consistency
    triads = found.circular + found.ordered
    share = _share(found.circular, triads)
    worst = _highest(share, (triads >= ENOUGH_TRIADS) & (share >= NEARLY_CHANCE))
    findings = []
    if len(worst):
        sentence = (
            f"The votes of {_lower(named(names[worst], 'annotator'))} are circular (a over b, b over c, c over a) "
            "nearly as often as random votes."
        )
        findings.append(Finding("warning", sentence, "circles"))
    total = float(triads.sum())
    return CheckResult(
        findings,
        measures={"own_circular_share": float(found.circular.sum()) / total if total else None},
        details={"vote_in_circles": json_ids(names[worst])},
    )


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _highest(value: FloatArray, which: np.ndarray) -> IntArray:
    chosen = np.flatnonzero(which)
    return chosen[np.argsort(-value[chosen], kind="stable")]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
