"""Votes that carry no information about the items."""

from __future__ import annotations

from jamrank.data.duplicates import as_if_included
from jamrank.data.soft import exact_duplicates
from jamrank.data.storage import DenseVotes
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import in_percent, many


def uninformative(examination: Examination) -> CheckResult:
    """Note ties, rows without a winner, votes of weight 0, duplicates, and votes that cancel out."""
    votes = examination.as_written
    dense = isinstance(votes.storage, DenseVotes)
    weightless = 0 if dense else int((votes.vote_weight == 0).sum())
    duplicates = 0 if dense else exact_duplicates(votes)
    findings = []
    if votes.n_ties:
        share = votes.n_ties / votes.annotator_weight.sum()
        verb = "is a tie" if votes.n_ties == 1 else "are ties"
        sentence = f"{many(votes.n_ties, 'vote')} ({in_percent(share)}) {verb}; most models use them as outcomes."
        findings.append(Finding("note", sentence, "ties"))
    if votes.n_missing:
        sentence = f"{many(votes.n_missing, 'row')} without a winner excluded."
        findings.append(Finding("note", sentence, "rows"))
    if weightless:
        findings.append(Finding("note", f"{many(weightless, 'vote')} with weight 0 excluded.", "rows"))
    if examination.times_written > 1:
        findings.append(Finding("warning", _included_again(examination), "duplicates"))
    elif duplicates and votes.has_questions:
        verb = "is an exact duplicate of another" if duplicates == 1 else "are exact duplicates of others"
        sentence = (
            f"{many(duplicates, 'vote')} {verb} (annotator, pair, sides and winner). Duplicates count as separate "
            "votes; remove them if a file was included twice."
        )
        findings.append(Finding("note", sentence, "duplicates"))
    cancelled = one_sided = 0.0
    if examination.n_decided:
        # Only where votes on a pair share one truth; otherwise they tell that the items are close.
        result = examination.result
        if result is not None and result.spec.unit == "pair":
            cancelled = float(examination.consistency.cancelled.sum())
        one_sided = float(examination.sides.decided[examination.one_sided].sum())
    if one_sided:
        sentence = f"{many(one_sided, 'vote')} by those who always choose the same side say nothing about the items."
        findings.append(Finding("note", sentence, "idle"))
    if cancelled:
        verb = "is" if cancelled == 1 else "are"
        sentence = (
            f"{many(cancelled, 'vote')} {verb} cancelled by the same annotator's vote for the other item: where the "
            "votes on a pair share one truth, as in JAM, they say nothing about the items."
        )
        findings.append(Finding("note", sentence, "idle"))
    return CheckResult(findings, {"uninformative": weightless + cancelled + one_sided})


def _included_again(examination: Examination) -> str:
    """Return what follows if a file is included several times, and what to do."""
    here = ", as this check does" if examination.quick else ""
    return (
        f"{as_if_included(examination.times_written)}. If it was, a fit's intervals are too narrow and its verdicts "
        f"too sure; --once (once=True in Python) counts it once{here}."
    )
