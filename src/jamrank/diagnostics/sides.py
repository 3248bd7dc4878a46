"""Votes for the left and the right side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.inference.response_bias import chunks
from jamrank.typing import BoolArray, FloatArray


@dataclass(frozen=True)
class Sides:
    """Decided votes of each annotator, and those of them for the item on the left; by weight."""

    decided: FloatArray
    left: FloatArray

    @property
    def share_left(self) -> float:
        """Share of all decided votes that are for the left; NaN where there are none."""
        total = float(self.decided.sum())
        return float(self.left.sum()) / total if total else float("nan")

    def one_sided(self, least: int) -> BoolArray:
        """Return which annotators cast at least so many decided votes, all of them for the same side."""
        return np.asarray((self.decided >= least) & ((self.left == 0) | (self.left == self.decided)))


def sides(votes: Comparisons) -> Sides:
    """Count the votes for either side."""
    n = votes.n_annotators
    decided, left = np.zeros(n), np.zeros(n)
    for piece in chunks(votes):
        weight = piece.weight * (piece.result != TIE)
        decided += np.bincount(piece.annotator, weight, n)
        left += np.bincount(piece.annotator, weight * ((piece.result == FIRST) ^ piece.swapped), n)
    return Sides(decided, left)
