"""Annotators who contradict themselves."""

from __future__ import annotations

import numpy as np

from jamrank.data.ids import names_annotators
from jamrank.diagnostics.checks.cycles import NEARLY_CHANCE
from jamrank.diagnostics.examination import Examination, json_ids, named
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import in_percent, many
from jamrank.typing import BoolArray, FloatArray, IntArray

# Two votes on a pair agree this often: consistent; hardly more often than at random; as a rule.
_CONSISTENT, _NEARLY_RANDOM, _USUAL = 0.9, 0.6, 0.7
# Fewest repeated pairs for a finding on all annotators.
_FEWEST_REPEATS = 5
# Fewest repeated pairs, and fewest triads, for a finding on one annotator.
_ENOUGH_REPEATS, _ENOUGH_TRIADS = 20, 100
# Where the votes of others are circular more often than this, items are close rather than an annotator careless.
_RARELY_CIRCULAR = 0.1


def contradictions(examination: Examination) -> CheckResult:
    """Say how often repeated votes on a pair agree; warn of annotators whose own do hardly more than random ones.

    Repeated votes differ where items are close: only in comparison with others do they tell of an annotator.
    """
    if not examination.n_decided:
        return CheckResult()
    votes, found = examination.votes, examination.consistency
    names, repeated, both = votes.annotators, float(found.repeated.sum()), float(found.contradicted.sum())
    findings, twice = [], float(found.twice.sum())
    if twice and repeated >= _FEWEST_REPEATS:
        agree = float(found.agreeing.sum()) / twice
        who = "Votes of the same annotator on the same pair" if names_annotators(names) else "Votes on the same pair"
        where = f"{many(repeated, 'pair')} with repeated votes"
        sentence = f"{who} agree in {in_percent(agree)} of the cases ({where}); random votes would agree in 50 %."
        findings.append(Finding("good" if agree >= _CONSISTENT else "note", sentence, "contradictions"))
    rate = _share(found.agreeing, found.twice)
    others = _share_of_others(found.agreeing, found.twice)
    worst = _ordered(rate, (found.repeated >= _ENOUGH_REPEATS) & (rate < _NEARLY_RANDOM) & (others > _USUAL))
    if len(worst):
        sentence = (
            f"The repeated votes of {_lower(named(names[worst], 'annotator'))} agree nearly as rarely as random "
            f"votes; those of others agree in {in_percent(float(others[worst[0]]), 0)} of the cases."
        )
        findings.append(Finding("warning", sentence, "contradictions"))
    return CheckResult(
        findings,
        {"repeated_pairs": int(repeated), "contradicted_pairs": int(both)},
        {"contradicted_share": both / repeated if repeated >= _FEWEST_REPEATS else None},
        {"contradict_themselves": json_ids(names[worst])},
    )


def circular_annotators(examination: Examination) -> CheckResult:
    """Warn of those whose votes are circular nearly as often as random ones, where those of others are not."""
    if not examination.n_decided:
        return CheckResult()
    names, found = examination.votes.annotators, examination.consistency
    triads = found.circular + found.ordered
    share, others = _share(found.circular, triads), _share_of_others(found.circular, triads)
    often = (triads >= _ENOUGH_TRIADS) & (share >= NEARLY_CHANCE) & (others <= _RARELY_CIRCULAR)
    worst = _ordered(-share, often & (triads < triads.sum()))
    findings = []
    if len(worst):
        sentence = (
            f"The votes of {_lower(named(names[worst], 'annotator'))} are circular (a over b, b over c, c over a) "
            "nearly as often as random votes; those of others rarely are."
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


def _share_of_others(part: FloatArray, whole: FloatArray) -> FloatArray:
    return _share(part.sum() - part, whole.sum() - whole)


def _ordered(value: FloatArray, which: BoolArray) -> IntArray:
    chosen = np.flatnonzero(which)
    return chosen[np.argsort(value[chosen], kind="stable")]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
