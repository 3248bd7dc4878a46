"""Whether votes as a whole are for the truth or against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.typing import FloatArray

__all__ = ["Orientation", "orientation"]


# Scores are fitted to the very votes: even of coin tosses, somewhat more than half go with them.
_FOR_SURE = 4.0


@dataclass(frozen=True)
class Orientation:
    """The share of votes that go with the scores, and its standard error.

    Scores turned upside down explain the votes as well as they are: then the share that is for them becomes the share
    that is against. Where both could be the larger one, the votes do not say which way is up.
    """

    share: float
    se: float

    @property
    def settled(self) -> bool:
        """Whether more votes are for the scores than against, for sure."""
        return self.share - 0.5 > _FOR_SURE * self.se


def orientation(flip: FloatArray, information: FloatArray, votes: FloatArray) -> Orientation:
    """Add up what annotators' flips say of all their votes.

    Parameters
    ----------
    flip : ndarray
        Of each annotator.
    information : ndarray
        On the logit of each flip.
    votes : ndarray
        Decided votes of each annotator.
    """
    spread = np.divide(flip * (1 - flip), np.sqrt(information), out=np.full(len(flip), 0.5), where=information > 0)
    total = float(votes.sum())
    share = float((votes * (1 - flip)).sum()) / total
    return Orientation(share, float(np.sqrt(((votes * np.minimum(spread, 0.5)) ** 2).sum())) / total)
