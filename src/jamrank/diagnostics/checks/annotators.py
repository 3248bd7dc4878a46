"""Annotators who cannot be assessed: alone, or with few votes."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from jamrank.data.ids import names_annotators
from jamrank.diagnostics.examination import FEW_VOTES, Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import many


def annotators(examination: Examination) -> CheckResult:
    """Note a single annotator, and annotators with few votes."""
    if not examination.n_decided:
        return CheckResult()
    votes, findings = examination.votes, []
    if int((votes.annotator_decided > 0).sum()) == 1 and examination.n_decided > 1:
        findings.append(Finding("note", alone_sentence(votes.annotators), "alone"))
    few = int((votes.annotator_weight < FEW_VOTES).sum())
    if few and names_annotators(votes.annotators):
        sentence = (
            f"{few:,} of {many(votes.n_annotators, 'annotator')} cast fewer than {FEW_VOTES} votes, too few to "
            "assess them individually."
        )
        findings.append(Finding("note", sentence))
    return CheckResult(findings, {"annotators_with_few_votes": few})


def alone_sentence(annotators: NDArray[Any]) -> str:
    """Say what cannot be known where all votes are by one annotator, or name none."""
    if not names_annotators(annotators):
        return "The votes name no annotators: reliabilities cannot be estimated."
    return "All votes are by one annotator: whether they are right cannot be judged without votes of others."
