"""Whether annotators do not err independently, as where they differ in taste: a quick test."""

from __future__ import annotations

import warnings

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.errors import JamrankWarning
from jamrank.fitting.family_votes import MOST_SAMPLED, FamilyVotes
from jamrank.inference.taste_test import taste_p_value
from jamrank.models.registry import find_model
from jamrank.rows import PairCounts

# The share of sets with independent annotators for which FamilyBT is tried.
_FALSE_ALARM = 0.02
# Two annotators alone do not tell who has a taste of their own.
_FEWEST_ANNOTATORS, _MOST_ANNOTATORS = 3, 100


def taste_differences(votes: Comparisons) -> bool:
    """Tell whether annotators do not err independently, by a test that takes a fraction of a second.

    Not where it would take longer: where annotators times the cube of the items are many.
    """
    known = int(np.count_nonzero(votes.annotator_decided > 0))
    if known * votes.n_items**3 > MOST_SAMPLED or not may_tell_tastes(votes, known):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        null = find_model("CrowdBT")().fit(votes)
    said, items, annotators = FamilyVotes.of(votes).ordered()
    flips = np.asarray(null.result_.annotators.overall)
    return taste_p_value(said, null.scores_[items], flips[annotators]) <= _FALSE_ALARM


def may_tell_tastes(votes: Comparisons, known: int) -> bool:
    """Return whether so many annotators, on these pairs, can tell tastes."""
    return _FEWEST_ANNOTATORS <= known <= _MOST_ANNOTATORS and _in_cycles(votes)


def _in_cycles(votes: Comparisons) -> bool:
    """Return whether decided votes join all items that have some, by more pairs than needed."""
    counts = PairCounts.decided(votes)
    voted = counts.opponents > 0
    return len(np.unique(counts.component[voted])) == 1 and len(counts.first) >= int(np.count_nonzero(voted))
