"""The comparison graph: its connected components and its bridges."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.examination import MOST_LISTED, Examination, json_ids
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.diagnostics.graph import WELL_JOINED, find_bridges, question_of_items
from jamrank.text import many, safe_text
from jamrank.typing import IntArray

_SIZES_SHOWN = 3


def connection(examination: Examination) -> CheckResult:
    """Report a problem where the graph of decided votes has several components."""
    n_groups = examination.n_components
    counts = {"components": n_groups}
    if not examination.n_decided:
        return CheckResult(counts=counts)
    if n_groups == 1 and examination.weakly_joined is not None:
        sizes = examination.weakly_joined
        sentence = (
            f"Fewer than {WELL_JOINED} votes join {len(sizes):,} groups of items (of {_listed(sizes)} items): how "
            "items of different groups compare rests mostly on the assumption that the groups are equally strong. "
            "Collect votes on pairs across the groups."
        )
        return CheckResult([Finding("warning", sentence, "connection")], counts)
    if n_groups == 1:
        return CheckResult([Finding("good", "Decided votes connect all items.", "connection")], counts)
    question = question_of_items(examination.votes)
    if question is not None and n_groups == len(np.unique(question)):
        sentence = (
            f"Every item belongs to one of {n_groups:,} questions, within which decided votes connect all items: "
            "scores of items of different questions cannot be compared."
        )
        return CheckResult([Finding("note", sentence, "connection")], counts)
    sizes = np.sort(np.bincount(examination.component))[::-1]
    within = "" if question is None else " of the same question"
    sentence = (
        f"The items form {n_groups:,} groups (of {_listed(sizes)} items) with no decided vote between them: scores "
        f"of different groups cannot be compared. Collect votes across the groups{within}, or provide features."
    )
    return CheckResult([Finding("problem", sentence, "connection")], counts)


def _listed(sizes: IntArray) -> str:
    return ", ".join(f"{size:,}" for size in sizes[:_SIZES_SHOWN]) + (", …" if len(sizes) > _SIZES_SHOWN else "")


def bridges(examination: Examination) -> CheckResult:
    """Warn of pairs whose votes alone connect two groups of items, and count items with one opponent."""
    if not examination.n_decided:
        return CheckResult()
    items, pairs = examination.votes.items, examination.pair_counts
    found = find_bridges(pairs)
    left, right = items[pairs.first[found.duel]], items[pairs.second[found.duel]]
    n_votes = (pairs.wins + pairs.losses)[found.duel]
    listed = [
        {"left": a, "right": b, "votes": float(n), "cut_off": int(cut)}
        for a, b, n, cut in zip(
            json_ids(left), json_ids(right), n_votes[:MOST_LISTED], found.cut_off[:MOST_LISTED], strict=True
        )
    ]
    findings = []
    large = int((found.cut_off > 1).sum())
    if large and examination.weakly_joined is None:
        verb = "connects" if n_votes[0] == 1 else "connect"
        more = f" ({many(large - 1, 'more case')})" if large > 1 else ""
        findings.append(
            Finding(
                "warning",
                f"Only the {many(n_votes[0], 'vote')} between {safe_text(left[0])} and {safe_text(right[0])} "
                f"{verb} {many(int(found.cut_off[0]), 'item')} to the rest{more}: the scores of these items "
                "depend on those votes. Collect votes on other pairs across the two groups.",
                "bridges",
            )
        )
    ones = np.ones(len(pairs))
    single = int((pairs.by_item(ones, ones) == 1).sum())
    if single and examination.votes.n_items > 2:
        verb = "was" if single == 1 else "were"
        findings.append(
            Finding("note", f"{many(single, 'item')} {verb} compared with only one other item.", "bridges")
        )
    return CheckResult(findings, {"bridges": len(found.duel), "single_opponent": single}, details={"bridges": listed})
