"""Whether the votes determine the direction of the ranking."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.diagnostics.sign import annotators_differ_from_random, differ_from_random, orientation_of
from jamrank.text import in_percent, many
from jamrank.typing import FloatArray

# With fewer votes, an undetermined direction only means that there are few.
_ENOUGH_VOTES = 50


def sign(examination: Examination) -> CheckResult:
    """Report a problem where as many votes may be against the scores as for them."""
    orienting, result = examination.orienting, examination.result
    if np.count_nonzero(examination.votes.annotator_decided) < 2 or orienting is None or result is None:
        return CheckResult()  # one annotator is taken at the word
    found = orientation_of(orienting)
    for_better = _for_the_better(examination, result.scores.scores)
    share = f"{in_percent(found.share)} ± {in_percent(2 * found.se)}"
    few = examination.n_decided < _ENOUGH_VOTES
    settled = found.settled or (found.agreed and not few and differ_from_random(examination.pair_counts))
    if found.certain or (settled and not few):
        by = f"By {examination.fit_name}, " if examination.quick else ""
        sentence = f"{by}{in_percent(for_better)} of the decided votes are for the item with the higher score."
        finding = Finding("good", sentence, "sign")
    elif few:
        sentence = (
            f"{many(examination.n_decided, 'decided vote')} are too few to distinguish them from random votes; it is "
            "assumed that more are right than wrong."
        )
        finding = Finding("note", sentence, "few votes")
    elif not (found.agreed or found.open) and found.share - 0.5 > 2 * found.se:
        sentence = (
            f"Annotators vote against each other: {share} of the votes are right if the larger part of them is; add "
            "gold pairs (--gold) to confirm the direction of the ranking."
        )
        finding = Finding("note", sentence, "sign")
    elif found.agreed and not annotators_differ_from_random(examination.votes):
        sentence = (
            f"The {many(examination.n_decided, 'decided vote')} cannot be distinguished from random ones: items may "
            "be nearly equal, or annotators may guess."
        )
        # Two nearly equal items are an answer; an order of many that is random is none.
        finding = Finding("note" if examination.votes.n_items == 2 else "problem", sentence, "sign")
    else:
        why = f"as many votes may be wrong as right ({share} are right)"
        if found.open:
            why = "annotators vote against each other with about equal weight"
        sentence = (
            f"Orientation open: {why}, so the ranking may be upside down (probabilities and intervals assume that it "
            "is not); add gold pairs (--gold)."
        )
        finding = Finding("problem", sentence, "sign")
    return CheckResult([finding], measures={"votes_with_the_scores": for_better})


def _for_the_better(examination: Examination, scores: FloatArray) -> float:
    """Return the share of the decided votes for the item with the higher score; of equal scores, half count."""
    pairs = examination.pair_counts
    gap = np.sign(np.round(scores[pairs.first] - scores[pairs.second], 9))
    return float((pairs.wins * (1 + gap) + pairs.losses * (1 - gap)).sum() / (2 * pairs.votes.sum()))
