"""The direction of the ranking: whether most votes agree with the scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from jamrank.data.comparisons import Comparisons
from jamrank.linalg.laplacian import potentials
from jamrank.rows import PairCounts
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

# In standard errors. Scores are fitted to the same votes: even of random votes, slightly more than half agree.
_ENOUGH = 4.0
# Annotators who vote against the scores, and not by chance, must weigh at least this much beside those who vote for
# them to leave the direction open: few votes of annotators who agree are no reason to believe that most are wrong.
_OPPOSED, _NO_CHANCE = 1 / 3, 2.0
# The share below which votes may as well be random, unless scores fit them better than random votes.
_RANDOM, _SIGNIFICANT = 0.6, 1e-3
# Annotators whose votes are compared with random ones: those with the most.
_MOST_ANNOTATORS = 50


@dataclass(frozen=True)
class Orientation:
    """The share of votes that agree with the scores, and its standard error.

    With all scores negated and every flip replaced by one minus it, the votes are as likely as before; the share then
    becomes one minus it. Where either could be above one half, and annotators contradict each other, the votes do not
    determine the direction.

    share, se: The share and its standard error.
    opposed: Weight of the annotators with flips above one half by two standard errors, beside that of those with
        flips below: votes times ``|1 - 2 flip|``.
    by_gold: Whether pairs of known truth determine the direction.
    """

    share: float
    se: float
    opposed: float
    by_gold: bool = False

    @property
    def settled(self) -> bool:
        """Whether the direction is determined."""
        return self.certain or (self.agreed and self.share > _RANDOM)

    @property
    def agreed(self) -> bool:
        """Whether few votes are by annotators who vote against the others."""
        return self.opposed < _OPPOSED

    @property
    def certain(self) -> bool:
        """Whether it is determined beyond the assumption that annotators who agree with each other are right."""
        return self.by_gold or self.share - 0.5 > _ENOUGH * self.se


def orientation(flip: FloatArray, information: FloatArray, votes: FloatArray) -> Orientation:
    """Combine the flips of all annotators.

    flip: Flip of each annotator.
    information: Fisher information on the logit of each flip.
    votes: Decided votes of each annotator.
    """
    spread = np.divide(flip * (1 - flip), np.sqrt(information), out=np.full(len(flip), 0.5), where=information > 0)
    total = float(votes.sum())
    share = float((votes * (1 - flip)).sum()) / total
    lean = votes * (1 - 2 * flip)
    against = flip - 0.5 > _NO_CHANCE * np.minimum(spread, 0.5)
    opposed = float(-lean[against].sum()) / max(float(lean[lean > 0].sum()), 1e-300)
    return Orientation(share, float(np.sqrt(((votes * np.minimum(spread, 0.5)) ** 2).sum())) / total, opposed)


def orientation_of(result: RankingResult) -> Orientation:
    """Return how the votes of a fit agree with its scores."""
    annotators = result.judging.annotators
    found = orientation(annotators.overall, annotators.flip_information, result.votes.decided_votes)
    return replace(found, by_gold=result.votes.gold is not None)


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
    return bool(chdtrc(free, explained) < _SIGNIFICANT)


def annotators_differ_from_random(votes: Comparisons) -> bool:
    """Tell it of the votes of each annotator, also where annotators contradict each other."""
    most = np.argsort(-votes.annotator_decided, kind="stable")[:_MOST_ANNOTATORS]
    whose = votes.vote_annotator
    return differ_from_random(
        *(PairCounts.decided(votes.only(whose == k)) for k in most if votes.annotator_decided[k] > 0)
    )
