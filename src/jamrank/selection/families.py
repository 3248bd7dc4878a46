"""Whether annotators share tastes, or have their own: a quick test, and FamilyBT where it fails."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.fitting.family_normal import nearly_normal
from jamrank.fitting.family_votes import MOST_SAMPLED
from jamrank.inference.differing_tastes import likely_tastes
from jamrank.inference.families import agreement_with_ranking
from jamrank.models.base import RankingModel
from jamrank.models.registry import find_model
from jamrank.selection.cross_validation import HeldOut, hold_out
from jamrank.selection.differing_tastes import may_tell_tastes, taste_differences
from jamrank.selection.trials import Candidate

NOT_INDEPENDENT = "annotators do not err independently"
# Of the votes at least so many are outside a fold.
_TRAINING = 0.75
# Held-out losses need fewer draws than intervals.
_DRAWS = 160
_LIKELY = 0.5
# A ranking less correlated with what annotators without a family have in mind is nobody's.
_IN_COMMON = 0.5


def differ_in_taste(votes: Comparisons) -> bool:
    """Tell whether annotators may not err independently, by a test that takes a fraction of a second.

    Where the test takes longer than FamilyBT does by its normal approximation, they may. It is not made where the
    compared pairs leave scores open: where items fall into groups, or without a cycle, as with one shared baseline.
    """
    known = int(np.count_nonzero(votes.annotator_decided > 0))
    if known * votes.n_items**3 > MOST_SAMPLED:
        decided = float(votes.annotator_decided.sum())
        return may_tell_tastes(votes, known) and nearly_normal(known, votes.n_items, _TRAINING * decided)
    return taste_differences(votes)


def fit_families(votes: Comparisons) -> RankingModel | None:
    """Fit FamilyBT where annotators may share tastes; None where it finds that they do not, or no common ranking."""
    if votes.n_ties or not differ_in_taste(votes):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        model = find_model("FamilyBT")().fit(votes)
    return model if _own_tastes(model) > _LIKELY and _alike(model) >= _IN_COMMON else None


def try_families(found: HeldOut, forward: bool = False) -> HeldOut:
    """Hold votes out from FamilyBT, too, and choose it where it finds tastes and its loss is not higher.

    It is left out where nearly all of what annotators have in mind is their own: its ranking would be nobody's.
    """
    name, kind = found.choice(), find_model("FamilyBT")
    made: list[RankingModel] = []

    def make() -> RankingModel:
        made.append(kind().set_params(n_draws=_DRAWS))
        return made[-1]

    candidate = Candidate("FamilyBT", make, annotators=True, model=kind())
    alone = hold_out(found.votes, found.fold, [candidate], forward=forward)
    both = replace(found, trials={**found.trials, **alone.trials})
    likely = float(np.mean([_own_tastes(model) for model in made]))
    if np.mean([_alike(model) for model in made]) < _IN_COMMON:
        return replace(found, left_out={**found.left_out, "FamilyBT": "it finds no ranking that annotators share"})
    return replace(both, by_tastes=likely > _LIKELY and not both.difference("FamilyBT", name).low > 0)


def _alike(model: RankingModel) -> float:
    """Return how much the ranking agrees with what annotators without a family have in mind."""
    return agreement_with_ranking(model.result_.extras, model.result_.votes.decided_votes > 0)


def _own_tastes(model: RankingModel) -> float:
    """Return how likely annotators do not all have one taste: any two of them differ, or each has an own one."""
    return likely_tastes(model.result_.extras, model.result_.votes.decided_votes > 0)
