"""Whether the votes determine the direction of the ranking."""

from __future__ import annotations

import numpy as np

from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.diagnostics.sign import orientation_of
from jamrank.text import in_percent, many

# With fewer votes, an undetermined direction only means that there are few.
_ENOUGH_VOTES = 50


def sign(examination: Examination) -> CheckResult:
    """Report a problem where as many votes may be against the scores as for them."""
    if np.count_nonzero(examination.votes.annotator_decided) < 2 or examination.result is None:
        return CheckResult()  # one annotator is taken at the word
    found = orientation_of(examination.result)
    share = f"{in_percent(found.share)} ± {in_percent(2 * found.se)}"
    few = examination.n_decided < _ENOUGH_VOTES
    if found.certain or (found.settled and not few):
        sentence = f"By {examination.fit_name}, about {share} of the decided votes agree with the scores."
        finding = Finding("good", sentence, "sign")
    elif few:
        sentence = (
            f"{many(examination.n_decided, 'decided vote')} are too few to distinguish them from random votes; it is "
            "assumed that more are right than wrong."
        )
        finding = Finding("note", sentence, "few votes")
    else:
        sentence = (
            f"Orientation open: as many votes may disagree with the scores as agree ({share} agree), so the ranking "
            "may be upside down; add gold pairs (--gold)."
        )
        finding = Finding("problem", sentence, "sign")
    measures = {"votes_with_the_scores": found.share, "votes_with_the_scores_se": found.se}
    return CheckResult([finding], measures=measures)
