"""Annotators with the same votes: copies, who are counted once, and those who may be copies."""

from __future__ import annotations

import numpy as np

from jamrank.data.ids import names_annotators
from jamrank.data.storage import TIE
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.inference.error_correlation import agreements
from jamrank.inference.same_votes import same_votes
from jamrank.text import many, safe_text

# Findings of either kind.
_MOST = 3


def same(examination: Examination) -> CheckResult:
    """Warn of annotators with the same votes on many common pairs."""
    votes, result = examination.votes, examination.result
    if result is None or not names_annotators(votes.annotators) or votes.n_annotators < 2:
        return CheckResult()
    copy_of = result.votes.copy_of
    copied = np.flatnonzero(copy_of >= 0)
    if len(copied):
        own = np.isin(votes.vote_annotator, copied)
        others = votes.only(~own)
    else:
        others = votes
    findings = [_copy(examination, int(k), int(copy_of[k])) for k in copied[:_MOST]]
    if len(copied) > _MOST:
        findings.append(
            Finding(
                "warning",
                f"{'So is' if len(copied) == _MOST + 1 else 'So are'} {many(len(copied) - _MOST, 'more annotator')}.",
                "same votes",
            )
        )
    found = same_votes(others, agreements(others))
    findings += [Finding("warning", group.sentence(votes.annotators), "same votes") for group in found[:_MOST]]
    if len(found) > _MOST:
        more = f"So did {many(len(found) - _MOST, 'more group')} of annotators."
        findings.append(Finding("warning", more, "same votes"))
    counts = {"copies": len(copied), "same_votes": sum(len(group.annotators) for group in found)}
    return CheckResult(findings, counts if findings else {})


def _copy(examination: Examination, copy: int, first: int) -> Finding:
    votes = examination.votes
    decided = (votes.vote_annotator == copy) & (votes.vote_result != TIE)
    pairs = many(len(np.unique(votes.vote_pair[decided])), "pair")
    names = [safe_text(votes.annotators[k]) for k in (copy, first)]
    sentence = (
        f"{names[0]} is a copy of {names[1]}: independent annotators would not cast the same votes "
        f"on all {pairs}. A fit counts them once."
    )
    return Finding("warning", sentence, "same votes")
