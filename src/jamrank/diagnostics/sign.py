"""The direction of the ranking: whether most votes agree with the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from jamrank.data.comparisons import Comparisons
from jamrank.inference.orientation import Orientation
from jamrank.linalg.laplacian import potentials
from jamrank.rows import PairCounts

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

# Scores fit votes better than random ones if these fit as well with a smaller probability; the second one is for two
# items, whose order is then certain at 95 %.
_SIGNIFICANT, _SIGNIFICANT_ORDER = 1e-3, 0.05
# Annotators whose votes are compared with random ones: those with the most.
_MOST_ANNOTATORS = 50


def orientation_of(result: RankingResult) -> Orientation:
    """Return how the votes of a fit agree with its scores."""
    return result.judging.annotators.orientation


def differ_from_random(*counts: PairCounts) -> bool:
    """Tell whether votes fit scores better than random ones: by least squares, and so whatever the flips are.

    Of random votes, the sum of squares that scores explain has a mean of one for each free score. With the counts of
    several annotators, each may have scores of their own.
    """
    explained, free = 0.0, 0
    for one in counts:
        flow = (one.wins - one.losses) / one.votes
        scores, _ = potentials(one, flow, one.votes)
        explained += float((one.votes * flow * (scores[one.first] - scores[one.second])).sum())
        voted = one.opponents > 0
        free += int(np.count_nonzero(voted)) - len(np.unique(one.component[voted]))
    return bool(chdtrc(free, explained) < (_SIGNIFICANT_ORDER if free == 1 else _SIGNIFICANT))


def annotators_differ_from_random(votes: Comparisons) -> bool:
    """Tell it of the votes of each annotator, also where annotators contradict each other."""
    most = np.argsort(-votes.annotator_decided, kind="stable")[:_MOST_ANNOTATORS]
    whose = votes.vote_annotator
    return differ_from_random(
        *(PairCounts.decided(votes.only(whose == k)) for k in most if votes.annotator_decided[k] > 0)
    )
