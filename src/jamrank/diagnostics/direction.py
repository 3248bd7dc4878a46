"""What the votes say of the direction of the ranking: one answer for ``check``, report, ``next`` and ``plan``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics.sign import annotators_differ_from_random, differ_from_random
from jamrank.inference.orientation import Orientation
from jamrank.rows import PairCounts

# With fewer votes, an undetermined direction only means that there are few.
_ENOUGH_VOTES = 50

Kind = Literal["known", "few", "divided", "random", "opposed", "open"]


@dataclass(frozen=True)
class Direction:
    """What the votes say of the direction of the ranking.

    kind: ``"known"``; ``"few"``, where there are too few votes to tell and more are assumed to be right than wrong;
        ``"divided"``, where the larger part of the annotators is assumed to be right; ``"random"``, where the votes
        are like random ones; ``"opposed"``, where annotators vote against each other with about equal weight; or
        ``"open"``, where as many votes may be wrong as right.
    orientation: How the votes agree with the scores of a fit.
    """

    kind: Kind
    orientation: Orientation

    @property
    def open(self) -> bool:
        """Whether the ranking may as well be upside down."""
        return self.kind in ("opposed", "open")


def direction_of(votes: Comparisons, counts: PairCounts, found: Orientation) -> Direction:
    """Judge the direction.

    counts: The decided votes on each pair.
    found: How the votes agree with the scores of a fit.
    """
    few = float(votes.annotator_decided.sum()) < _ENOUGH_VOTES
    differ = not few and differ_from_random(counts)
    if found.certain or (not few and (found.settled or (found.agreed and differ))):
        return Direction("known", found)
    if few:
        return Direction("few", found)
    if not (found.agreed or found.open) and found.share - 0.5 > 2 * found.se:
        return Direction("divided", found)
    if not differ and not annotators_differ_from_random(votes):
        return Direction("random", found)
    # Where annotators are consistent, and all together are not, they balance each other, whether or not flips tell.
    return Direction("opposed" if found.open or found.agreed else "open", found)
