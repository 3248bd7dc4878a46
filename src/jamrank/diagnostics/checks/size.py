"""How much data there is."""

from __future__ import annotations

from jamrank.data.soft import exact_duplicates
from jamrank.data.storage import DenseVotes
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding


def size(examination: Examination) -> CheckResult:
    """Count rows, items, annotators and votes; a problem where no vote is decided."""
    votes = examination.as_written
    # Dense votes have no duplicates and no weights; listing them one by one would take memory.
    dense = isinstance(votes.storage, DenseVotes)
    counts: dict[str, int | float] = {
        "rows": votes.n_votes + votes.n_missing,
        "items": votes.n_items,
        "annotators": votes.n_annotators,
        "questions": len(votes.questions),
        "pairs": votes.n_pairs,
        "votes": votes.n_votes,
        "decided": float(votes.annotator_decided.sum()),
        "ties": votes.n_ties,
        "missing": votes.n_missing,
        "folded": 0 if dense else exact_duplicates(votes),
        "without_weight": 0 if dense else int((votes.vote_weight == 0).sum()),
    }
    voted = votes.pair_weight[votes.pair_weight > 0]
    measures = {
        "votes_a_pair": float(voted.mean()) if len(voted) else None,
        "votes_an_annotator": float(votes.annotator_weight.mean()),
    }
    findings = []
    if not examination.n_decided:
        findings.append(Finding("problem", "No vote is decided; there is nothing to rank.", "connection"))
    return CheckResult(findings, counts, measures)
