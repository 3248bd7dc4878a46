"""What is wrong or risky in votes, before any fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.comparisons import FIRST, TIE, Comparisons
from jamrank.text import many

__all__ = ["Finding", "Health", "check"]

_FEW_VOTES = 10


@dataclass(frozen=True)
class Finding:
    """One thing to know: how grave it is (``good``, ``note``, ``warning``, ``problem``), a sentence, its subject."""

    level: str
    sentence: str
    about: str = ""


@dataclass(frozen=True)
class Health:
    """Counts, and findings from the gravest to the lightest."""

    counts: dict[str, int | float]
    findings: list[Finding]

    @property
    def comparable(self) -> bool:
        """Whether all items can be put on one scale."""
        return not any(finding.level == "problem" for finding in self.findings)


def check(votes: Comparisons) -> Health:
    """Look over the votes.

    Parameters
    ----------
    votes : Comparisons
        What to look over.

    Returns
    -------
    Health
    """
    decided = float(votes.vote_weight[votes.vote_result != TIE].sum())
    counts: dict[str, int | float] = {
        "items": votes.n_items,
        "annotators": votes.n_annotators,
        "questions": len(votes.questions),
        "pairs": votes.n_pairs,
        "votes": votes.n_votes,
        "decided": decided,
        "ties": votes.n_ties,
        "missing": votes.n_missing,
        "folded": votes.n_votes - len(votes.vote_result),
        "components": _components(votes),
    }
    findings = [*_connection(votes, counts), *_ties(votes), *_missing(votes), *_sides(votes), *_few(votes)]
    order = ["problem", "warning", "note", "good"]
    return Health(counts, sorted(findings, key=lambda finding: order.index(finding.level)))


def _components(votes: Comparisons) -> int:
    """Count the groups of items with no decided vote between them."""
    pair = votes.vote_pair[(votes.vote_result != TIE) & (votes.vote_weight > 0)]
    first, second = votes.pair_first[pair], votes.pair_second[pair]
    graph = coo_array((np.ones(len(pair), bool), (first, second)), shape=(votes.n_items, votes.n_items))
    return int(connected_components(graph, directed=False)[0])


def _connection(votes: Comparisons, counts: dict[str, int | float]) -> list[Finding]:
    if not counts["decided"]:
        return [Finding("problem", "No vote is decided: there is nothing to rank by.")]
    if counts["components"] > 1:
        return [
            Finding(
                "problem",
                f"The items fall into {counts['components']} groups with no decided vote between them: "
                "scores of different groups cannot be compared. Collect votes across the groups, or give "
                "features.",
            )
        ]
    return [Finding("good", "Every item is linked to every other through decided votes.")]


def _ties(votes: Comparisons) -> list[Finding]:
    if not votes.n_ties:
        return []
    share = votes.n_ties / votes.vote_weight.sum()
    verb = "is a tie" if votes.n_ties == 1 else "are ties"
    told = f"{many(votes.n_ties, 'vote')} ({share:.1%}) {verb}; the models leave ties out and say so."
    return [Finding("note", told)]


def _missing(votes: Comparisons) -> list[Finding]:
    if not votes.n_missing:
        return []
    return [Finding("note", f"{many(votes.n_missing, 'vote')} without a winner: counted as not cast.")]


def _sides(votes: Comparisons) -> list[Finding]:
    """Find annotators who pick one side far more often than chance has it, and a tilt of all votes."""
    decided = votes.vote_result != TIE
    left_won = (votes.vote_result == FIRST) ^ votes.vote_swapped
    who, weight = votes.vote_annotator[decided], votes.vote_weight[decided]
    total = np.bincount(who, weight, votes.n_annotators)
    left = np.bincount(who, weight * left_won[decided], votes.n_annotators)
    one_sided = (total >= _FEW_VOTES) & ((left == 0) | (left == total))
    if not one_sided.any():
        return []
    names = [str(name) for name in votes.annotators[one_sided]]
    if len(names) == 1:
        return [Finding("warning", f"Annotator {names[0]} always picks the same side.", "sides")]
    told = ", ".join(names[:5])
    return [Finding("warning", f"{len(names)} annotators always pick the same side, among them {told}.", "sides")]


def _few(votes: Comparisons) -> list[Finding]:
    total = np.bincount(votes.vote_annotator, votes.vote_weight, votes.n_annotators)
    few = int((total < _FEW_VOTES).sum())
    if not few:
        return []
    return [
        Finding(
            "note",
            f"{few:,} of {votes.n_annotators:,} annotators cast fewer than {_FEW_VOTES} votes: little can be said of "
            "each of them.",
        )
    ]
