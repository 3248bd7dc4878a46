"""Annotators who cannot be assessed: alone, or with few votes."""

from __future__ import annotations

from jamrank.diagnostics.examination import FEW_VOTES, Examination
from jamrank.diagnostics.findings import CheckResult, Finding


def annotators(examination: Examination) -> CheckResult:
    """Note a single annotator, and annotators with few votes."""
    if not examination.n_decided:
        return CheckResult()
    votes, findings = examination.votes, []
    if int((votes.annotator_decided > 0).sum()) == 1 and examination.n_decided > 1:
        sentence = (
            "With one annotator, the flip measures only how consistent the votes are with each other, not whether "
            "they are right. Have others vote on the same pairs."
        )
        findings.append(Finding("note", sentence, "alone"))
    few = int((votes.annotator_weight < FEW_VOTES).sum())
    if few:
        sentence = (
            f"{few:,} of {votes.n_annotators:,} annotators cast fewer than {FEW_VOTES} votes, too few to assess them "
            "individually."
        )
        findings.append(Finding("note", sentence))
    return CheckResult(findings, {"annotators_with_few_votes": few})
