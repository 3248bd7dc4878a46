"""Preference for the left or the right side."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.diagnostics.examination import Examination, json_ids, named
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import in_percent

# With fewer votes, an uneven share is no evidence.
_ENOUGH_VOTES = 50
_ENOUGH_PAIRS = 10
_UNEVEN, _SLIGHTLY_UNEVEN = 0.05, 0.02
# In standard errors.
_SIGNIFICANT = 3.0
_SMALL = 0.001


def side_preference(examination: Examination) -> CheckResult:
    """Compare votes for the left and for the right; warn of annotators who always choose the same side."""
    if not examination.n_decided:
        return CheckResult()
    votes, share = examination.votes, examination.sides.share_left
    always = examination.one_sided
    return CheckResult(
        list(_findings(examination, share)),
        {"one_sided_annotators": int(always.sum())},
        {"left_share": share if examination.has_sides else None},
        {"one_sided": json_ids(votes.annotators[always])},
    )


def _findings(examination: Examination, share: float) -> list[Finding]:
    if examination.winner_on_one_side:
        side = "left" if share else "right"
        sentence = (
            f"Every decided vote is for the {side}: the file apparently lists the winner on the {side}, so "
            "position bias cannot be measured."
        )
        return [Finding("note", sentence, "balance")]
    findings = []
    n, off = float(examination.sides.decided.sum()), abs(share - 0.5)
    # Where items explain who stood on the left, or nobody saw sides, the share says nothing.
    error = _standard_error(examination.votes, n) if n >= _ENOUGH_VOTES and examination.has_sides else np.inf
    if off > max(_SLIGHTLY_UNEVEN, _SIGNIFICANT * error):
        chance = 2 * float(ndtr(-off / error))
        sentence = (
            f"{in_percent(share)} of the decided votes are for the left. With sides assigned at random and no "
            f"preference for a side, a share this far from 50 % has a probability of "
            f"{'less than 0.1 %' if chance < _SMALL else in_percent(chance)}."
        )
        findings.append(Finding("warning" if off > _UNEVEN else "note", sentence, "balance"))
    if examination.one_sided.any():
        names = examination.votes.annotators[examination.one_sided]
        verb = "always chooses" if len(names) == 1 else "always choose"
        findings.append(Finding("warning", f"{named(names, 'annotator')} {verb} the same side.", "sides"))
    return findings


def _standard_error(votes: Comparisons, n_decided: float) -> float:
    """Return the standard error of the share of the left.

    Votes on a pair may have been shown in one order, or be about one truth: their sum is what varies. Of few pairs it
    says little of its variance.
    """
    if not votes.has_questions and votes.n_pairs < _ENOUGH_PAIRS:
        return float(np.sqrt(0.25 / n_decided))
    decided = votes.vote_result != TIE
    left = (votes.vote_result[decided] == FIRST) ^ votes.vote_swapped[decided]
    surplus = np.where(left, 0.5, -0.5) * votes.vote_weight[decided]
    return float(np.sqrt((np.bincount(votes.vote_pair[decided], surplus) ** 2).sum()) / n_decided)
