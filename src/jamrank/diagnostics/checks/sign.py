"""Whether the votes determine the direction of the ranking."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.direction import Direction
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.inference.orientation import Orientation
from jamrank.text import in_percent, many
from jamrank.typing import FloatArray


def sign(examination: Examination) -> CheckResult:
    """Report a problem where as many votes may be against the scores as for them."""
    direction, result = examination.direction, examination.result
    if direction is None or result is None:
        return CheckResult()
    for_better = _for_the_better(examination, result.scores.scores)
    if direction.kind == "known":
        by = f"By {examination.fit_name}, " if examination.quick else ""
        sentence = f"{by}{in_percent(for_better)} of the decided votes are for the item with the higher score."
        finding = Finding("good", sentence, "sign")
    elif direction.kind == "few":
        sentence = (
            f"{many(examination.n_decided, 'decided vote')} are too few to distinguish them from random votes; it is "
            "assumed that more are right than wrong."
        )
        finding = Finding("note", sentence, "few votes")
    elif direction.kind == "divided":
        sentence = (
            f"Annotators vote against each other: {_right(direction.orientation)} of the votes are right if the "
            "larger part of them is; add gold pairs (--gold) to confirm the direction of the ranking."
        )
        finding = Finding("note", sentence, "sign")
    elif direction.kind == "random":
        # Two nearly equal items are an answer; an order of many that is random is none.
        level = "note" if examination.votes.n_items == 2 else "problem"
        finding = Finding(level, like_random(examination.n_decided), "sign")
    else:
        finding = Finding("problem", _open(direction), "sign")
    return CheckResult([finding], measures={"votes_with_the_scores": for_better})


def like_random(n_decided: float) -> str:
    """Return that so many votes are like random ones."""
    return (
        f"The {many(n_decided, 'decided vote')} cannot be distinguished from random ones: items may be nearly "
        "equal, or annotators may guess."
    )


def _open(direction: Direction) -> str:
    why = "annotators vote against each other with about equal weight"
    if direction.kind != "opposed":
        why = f"as many votes may be wrong as right (of all votes, {_right(direction.orientation)} may be right)"
    return (
        f"Orientation open: {why}, so the ranking may be upside down (probabilities and intervals assume that it "
        "is not); add gold pairs (--gold)."
    )


def _right(found: Orientation) -> str:
    """Return between which shares the votes are right."""
    low, high = np.clip([found.share - 2 * found.se, found.share + 2 * found.se], 0.0, 1.0)
    return f"{in_percent(low, 0)} to {in_percent(high, 0)}"


def _for_the_better(examination: Examination, scores: FloatArray) -> float:
    """Return the share of the decided votes for the item with the higher score; of equal scores, half count."""
    pairs = examination.pair_counts
    gap = np.sign(np.round(scores[pairs.first] - scores[pairs.second], 9))
    return float((pairs.wins * (1 + gap) + pairs.losses * (1 - gap)).sum() / (2 * pairs.votes.sum()))
