"""The direction of the ranking: whether most votes agree with the scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.inference.result import RankingResult

# In standard errors. Scores are fitted to the same votes: even of random votes, slightly more than half agree.
_ENOUGH = 4.0
# Annotators who vote against the scores must weigh at least this much, beside those who vote for them, to leave the
# direction open: few votes of annotators who agree are no reason to believe that most are wrong.
_OPPOSED = 1 / 3
# The share below which votes may as well be random.
_RANDOM = 0.6


@dataclass(frozen=True)
class Orientation:
    """The share of votes that agree with the scores, and its standard error.

    With all scores negated and every flip replaced by one minus it, the votes are as likely as before; the share then
    becomes one minus it. Where either could be above one half, and annotators contradict each other, the votes do not
    determine the direction.

    share, se: The share and its standard error.
    opposed: Weight of the annotators with flips above one half, beside that of the others: votes times ``|1 - 2
        flip|``.
    by_gold: Whether pairs of known truth determine the direction.
    """

    share: float
    se: float
    opposed: float
    by_gold: bool = False

    @property
    def settled(self) -> bool:
        """Whether the direction is determined."""
        return self.certain or (self.opposed < _OPPOSED and self.share > _RANDOM)

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
    opposed = float(-lean[lean < 0].sum()) / max(float(lean[lean > 0].sum()), 1e-300)
    return Orientation(share, float(np.sqrt(((votes * np.minimum(spread, 0.5)) ** 2).sum())) / total, opposed)


def orientation_of(result: RankingResult) -> Orientation:
    """Return how the votes of a fit agree with its scores."""
    annotators = result.judging.annotators
    found = orientation(annotators.overall, annotators.flip_information, result.votes.decided_votes)
    return replace(found, by_gold=result.votes.gold is not None)
