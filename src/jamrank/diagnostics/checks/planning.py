"""Expected accuracy of the ranking, and the votes needed for a target."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.diagnostics.planning import expected_accuracy, more_votes, score_errors
from jamrank.inference.differing_tastes import has_tastes
from jamrank.text import about, in_percent

# What brings the error down where annotators have tastes, in which they are not wrong.
FURTHER_KINDS = (
    "annotators of further kinds help, or a ranking of each family (in Python, FamilyBT has rankings_by_family_)"
)
DISAGREE = f"since annotators differ in taste, more votes of the same ones help little: {FURTHER_KINDS}"
TASTES_DIFFER = (
    "Annotators seem to differ in taste (p ≤ 0.02): a quick fit does not tell how many pairs of items are in the "
    "right order; jamrank fit tries models that allow for tastes."
)


def planning(examination: Examination) -> CheckResult:
    """Estimate the share of pairs of items in the right order, and how many more votes a target needs."""
    result, target = examination.result, examination.target
    if not examination.n_decided or result is None or examination.n_components > 1:
        return CheckResult()
    direction, two = examination.direction, examination.votes.n_items == 2
    if direction is not None and (direction.open or (direction.kind == "random" and not two)):
        return CheckResult()  # an order that may be upside down, or none
    if examination.tastes_differ:
        return CheckResult([Finding("note", TASTES_DIFFER, "tastes")])
    scores, variance = result.scores.scores, result.scores.score_variance
    se = score_errors(result)
    if len(se) < 2 or not np.isfinite(se).all():
        return CheckResult()
    accuracy = expected_accuracy(scores, se, variance)
    more = more_votes(scores, se, variance, float(examination.votes.annotator_weight.sum()), target)  # ties too
    where = _where(examination)
    if more != 0 and where is None and examination.quick:  # another model may need fewer votes, or none
        return CheckResult()
    by = f"By {examination.fit_name}"
    if examination.quick:
        by += " (jamrank fit selects a model for the votes and may differ)"
    # A share that misses the target must not look like it.
    digits = int(more != 0 and in_percent(accuracy, 0) == in_percent(target, 0))
    share = f"about {in_percent(accuracy, digits)}"
    if len(scores) == 2:
        sentence = f"{by}, the order of the two items is right with a probability of {share}"
    else:
        sentence = f"{by}, {share} of all pairs of items are in the right order"
    if examination.weakly_joined is not None:
        sentence += ", if the groups that few votes join are equally strong"
    level = "note"
    if more == 0:
        level = "note" if examination.weakly_joined is not None else "good"
        sentence = f"{sentence}, which meets the target ({in_percent(target, 0)})."
    elif has_tastes(result):
        sentence, more = f"{sentence}; {DISAGREE}.", None
    elif more is None:
        sentence = f"{sentence}; {in_percent(target, 0)} cannot be reached with votes like these."
    elif where is None:
        sentence, more = f"{sentence}.", None
    else:
        needed = about(max(more, 1.0), "more vote")
        sentence = f"{sentence}; {in_percent(target, 0)} needs {needed} like these{where}."
    measures = {"expected_accuracy": accuracy, "target": target, "more_votes": more}
    return CheckResult([Finding(level, sentence, "planning")], measures=measures)


def _where(examination: Examination) -> str | None:
    """Return where further votes say something new; None if nowhere.

    Where the votes on a pair share one truth, more votes on it say little.
    """
    if examination.result is None or examination.result.spec.unit != "pair":
        return ""
    new_pairs = [] if examination.no_new_pairs else ["on new pairs"]
    new_questions = ["under new questions"] if examination.votes.has_questions else []
    return f", {' or '.join(new_pairs + new_questions)}" if new_pairs or new_questions else None
