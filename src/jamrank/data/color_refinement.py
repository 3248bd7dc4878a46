"""Color refinement of votes: hashes of items, annotators and votes that do not depend on names or order."""

from __future__ import annotations

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import SECOND, TIE
from jamrank.typing import BoolArray, HashArray

# Rounds in which colours are updated from those of the neighbours.
_ROUNDS = 3
_UNIT = 2.0**20
ODD = [np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)]


def decided(votes: Comparisons) -> BoolArray:
    """Return which of the folded votes are decided and have a positive weight."""
    return np.asarray((votes.vote_result != TIE) & (votes.vote_weight > 0))


def signatures(votes: Comparisons) -> tuple[HashArray, HashArray]:
    """Return a hash of each folded vote that identifies its position among the others, and one of each annotator."""
    colors = ColorRefinement(votes)
    for _ in range(_ROUNDS):
        colors.refine()
    return colors.vote, colors.annotator


class ColorRefinement:
    """Colour refinement: all colours start equal, and each round adds the colours of neighbours.

    That is a sum over them, so that their order does not matter. Ties and votes of weight 0 are distinguished.

    sides: Whether the side of an item matters.
    """

    def __init__(self, votes: Comparisons, sides: bool = False) -> None:
        pair = votes.vote_pair
        first, second = votes.pair_first[pair], votes.pair_second[pair]
        turned, self._tie, self._counts = votes.vote_result == SECOND, votes.vote_result == TIE, decided(votes)
        self._winner, self._loser = np.where(turned, second, first), np.where(turned, first, second)
        self._who, self._asked = votes.vote_annotator, votes.pair_question[pair]
        # In sums a vote of weight 2 is the vote written twice.
        self._weight = np.rint(votes.vote_weight * _UNIT).astype(np.uint64)
        graded = bool(votes.n_grades) or bool(votes.vote_soft.any())
        self._grade = mix((votes.vote_grade.astype(np.int64) + 1).astype(np.uint64)) if graded else None
        sizes = votes.n_items, votes.n_annotators, len(votes.questions)
        self.item, self.annotator, self.question = (np.full(n, odd) for n, odd in zip(sizes, ODD[:3], strict=True))
        self.vote = self._weight
        # For a decided vote, the side of the winner; for a tie, the item on the left.
        on_left = votes.vote_swapped == turned
        self._side = np.where(on_left, ODD[0], ODD[1]) if sides else np.zeros(1, np.uint64)
        self._left_first = on_left if sides else None

    def refine(self) -> None:
        """Update the colour of every item, annotator and question from its votes."""
        item, winner, loser = self.item, self._winner, self._loser
        # In a tie neither item has won: their order must not count.
        sides = np.where(
            self._tie, mix(item[winner] + item[loser]), mix(item[winner] * ODD[0] + item[loser] * ODD[1])
        )
        if self._left_first is not None:
            left, right = np.where(self._left_first, winner, loser), np.where(self._left_first, loser, winner)
            in_place = mix(item[left] * ODD[2] + item[right] * ODD[3])
            sides = np.where(self._tie, in_place, mix(sides + self._side))
        if self._grade is not None:
            sides = mix(sides + self._grade)
        said = mix(sides + mix(self.annotator[self._who] * ODD[2] + self.question[self._asked] * ODD[3]))
        self.vote, seen = said * self._weight, np.where(self._counts, mix(said) * self._weight, np.uint64(0))
        sent = np.where(self._counts, self.vote, np.uint64(0))
        heard = np.zeros_like(item), np.zeros_like(self.annotator), np.zeros_like(self.question)
        for kind, group, what in ((0, winner, sent), (0, loser, seen), (1, self._who, sent), (2, self._asked, sent)):
            np.add.at(heard[kind], group, what)
        self.item, self.annotator, self.question = (
            mix(old + new) for old, new in zip((item, self.annotator, self.question), heard, strict=True)
        )


def mix(values: HashArray) -> HashArray:
    """Hash each value by the finaliser of splitmix64."""
    mixed = values + ODD[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
