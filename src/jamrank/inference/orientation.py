"""The direction of the ranking, as annotators' flips tell it: whether most votes are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.typing import FloatArray

# In standard errors. Scores are fitted to the same votes: even of random votes, slightly more than half agree.
_ENOUGH = 4.0
# Annotators who vote against the scores, and not by chance, must weigh at least this much beside those who vote for
# them to leave the direction open: few votes of annotators who agree are no reason to believe that most are wrong.
# From the second share on they balance them, however many votes both have.
_OPPOSED, _BALANCED, _NO_CHANCE = 1 / 3, 3 / 4, 2.0
# The share below which votes may as well be random, unless scores fit them better than random votes.
_RANDOM = 0.6


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
    def open(self) -> bool:
        """Whether annotators balance each other: the votes then do not tell which of them are right."""
        return self.opposed >= _BALANCED and not self.by_gold

    @property
    def agreed(self) -> bool:
        """Whether few votes are by annotators who vote against the others."""
        return self.opposed < _OPPOSED

    @property
    def certain(self) -> bool:
        """Whether it is determined beyond the assumption that annotators who agree with each other are right."""
        return self.by_gold or (not self.open and self.share - 0.5 > _ENOUGH * self.se)


def orientation(flip: FloatArray, information: FloatArray, votes: FloatArray) -> Orientation:
    """Combine the flips of all annotators.

    flip: Flip of each annotator.
    information: Fisher information on the logit of each flip.
    votes: Decided votes of each annotator.
    """
    total = float(votes.sum())
    if not total:
        return Orientation(0.5, 0.5, 0.0)
    spread = np.divide(flip * (1 - flip), np.sqrt(information), out=np.full(len(flip), 0.5), where=information > 0)
    share = float((votes * (1 - flip)).sum()) / total
    lean = votes * (1 - 2 * flip)
    against = flip - 0.5 > _NO_CHANCE * np.minimum(spread, 0.5)
    opposed = float(-lean[against].sum()) / max(float(lean[lean > 0].sum()), 1e-300)
    return Orientation(share, float(np.sqrt(((votes * np.minimum(spread, 0.5)) ** 2).sum())) / total, opposed)
