"""Whether annotators share tastes, or have their own: a quick test, and FamilyBT where it fails."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.inference.taste_test import taste_p_value
from jamrank.models.base import RankingModel
from jamrank.models.registry import find_model
from jamrank.selection.cross_validation import Candidate, HeldOut, hold_out

# The share of sets with independent annotators for which FamilyBT is tried.
_FALSE_ALARM = 0.02
# Two annotators alone do not tell who has a taste of their own.
_FEWEST_ANNOTATORS, _MOST_ANNOTATORS = 3, 100
# Annotators times the cube of the items: with more, FamilyBT takes more than some ten seconds.
_MOST_WORK = 500_000
# Held-out losses need fewer draws than intervals.
_DRAWS = 160
_LIKELY = 0.5


def differ_in_taste(votes: Comparisons) -> bool:
    """Tell whether annotators do not err independently, by a test that takes a fraction of a second."""
    known = np.flatnonzero(votes.annotator_decided > 0)
    if not _FEWEST_ANNOTATORS <= len(known) <= _MOST_ANNOTATORS or len(known) * votes.n_items**3 > _MOST_WORK:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        null = find_model("CrowdBT")().fit(votes)
    said, items, annotators = FamilyVotes.of(votes).ordered()
    flips = np.asarray(null.result_.annotators.overall)
    return taste_p_value(said, null.scores_[items], flips[annotators]) <= _FALSE_ALARM


def family_candidate(made: list[RankingModel]) -> Candidate:
    """Return FamilyBT as a candidate; models that are fitted are put into a list."""
    kind = find_model("FamilyBT")

    def make() -> RankingModel:
        made.append(kind().set_params(n_draws=_DRAWS))
        return made[-1]

    return Candidate("FamilyBT", make, annotators=True, model=kind())


def try_families(found: HeldOut, forward: bool) -> tuple[HeldOut, str | None]:
    """Hold votes out from FamilyBT, too, and return why it is to be chosen, or None if it is not."""
    name = found.choice()
    made: list[RankingModel] = []
    candidate = family_candidate(made)
    alone = hold_out(found.votes, found.fold, [candidate], forward=forward)
    both = replace(found, trials={**found.trials, **alone.trials})
    likely = float(np.mean([_own_tastes(model) for model in made]))
    gap = both.difference("FamilyBT", name)
    if likely <= _LIKELY or gap.low > 0:
        return both, None
    return both, (
        "FamilyBT: annotators do not err independently, and its intervals allow for tastes, shared or their own; "
        f"{both.log_loss('FamilyBT').value:.4f} nats per "
        f"{'later' if forward else 'held-out'} vote, {abs(gap.value):.4f} {'lower' if gap.value < 0 else 'higher'} "
        f"than {name}."
    )


def _own_tastes(model: RankingModel) -> float:
    """Return how likely annotators do not all have one taste: any two of them differ, or each has an own one."""
    found, known = model.result_.extras, model.result_.votes.decided_votes > 0
    same = found["same_taste"][np.ix_(known, known)]
    return max(1.0 - float(same.min()), float((found["sds"][:, 2] > 0).mean()))
