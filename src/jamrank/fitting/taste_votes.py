"""Votes as the model of own tastes uses them: by annotator and two items, in blocks of annotators of similar size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.fitting.family_votes import FamilyVotes
from jamrank.typing import BoolArray, FloatArray, IntArray

# Numbers in the matrices of one block of annotators.
_MOST_NUMBERS = 2_000_000


@dataclass(frozen=True)
class Block:
    """Annotators with votes on a similar number of items.

    annotators: Who.
    items: The items of each, padded with the number of items.
    rows: Indices of their votes.
    who, first, second: Of these votes, the annotator and the places of both items among those of the annotator.
    """

    annotators: IntArray
    items: IntArray
    rows: IntArray
    who: IntArray
    first: IntArray
    second: IntArray

    @property
    def there(self) -> BoolArray:
        """Which items are not padding."""
        return np.arange(self.items.shape[1]) < self._size[:, None]

    @cached_property
    def _size(self) -> IntArray:
        last = np.zeros(len(self.annotators), dtype=np.int64)
        np.maximum.at(last, self.who, np.maximum(self.first, self.second) + 1)
        return last

    def laplacian(self, weight: FloatArray) -> FloatArray:
        """Return the graph Laplacian of each annotator's votes."""
        k, m = self.items.shape
        off = np.bincount((self.who * m + self.first) * m + self.second, weight, k * m * m).reshape(k, m, m)
        found = -(off + off.transpose(0, 2, 1))
        at = np.arange(m)
        found[:, at, at] = -found.sum(axis=2)
        return np.asarray(found)

    def by_item(self, values: FloatArray) -> FloatArray:
        """Add up values of the votes, for the first item, less those for the second."""
        k, m = self.items.shape
        found = np.bincount(self.who * m + self.first, values, k * m)
        found = found - np.bincount(self.who * m + self.second, values, k * m)
        return np.asarray(found.reshape(k, m), np.float64)

    def of_votes(self, covariance: FloatArray) -> FloatArray:
        """Return the variance of the margin of each vote."""
        a, b, k = self.first, self.second, self.who
        return np.asarray(covariance[k, a, a] + covariance[k, b, b] - 2 * covariance[k, a, b])


@dataclass(frozen=True)
class TasteVotes:
    """How often each annotator preferred the first of two items, the second, or neither.

    items, annotators: The order in which both are numbered, which does not depend on names.
    """

    annotator: IntArray
    first: IntArray
    second: IntArray
    won: FloatArray
    lost: FloatArray
    tied: FloatArray
    items: IntArray
    annotators: IntArray

    @classmethod
    def of(cls, votes: Comparisons, ties: bool) -> TasteVotes:
        """Count the votes. ``ties``: Whether ties count."""
        _, items, annotators = FamilyVotes.of(votes).ordered(sort=False)
        place, place_of_annotator = np.argsort(items), np.argsort(annotators)
        kept = (votes.vote_weight > 0) & (ties | (votes.vote_result != TIE))
        pair, n = votes.vote_pair[kept], votes.n_items
        a, b = place[votes.pair_first[pair]], place[votes.pair_second[pair]]
        who, result, weight = (
            place_of_annotator[votes.vote_annotator[kept]],
            votes.vote_result[kept],
            votes.vote_weight[kept],
        )
        low, high = np.minimum(a, b), np.maximum(a, b)
        cell, at = np.unique((who * n + low) * n + high, return_inverse=True)
        tie, for_low = result == TIE, (result == FIRST) == (a < b)
        won, lost, tied = (
            np.bincount(at, weight * which, len(cell)).astype(np.float64)
            for which in (~tie & for_low, ~tie & ~for_low, tie)
        )
        return cls(cell // n**2, cell // n % n, cell % n, won, lost, tied, items, annotators)

    @property
    def total(self) -> FloatArray:
        """How many votes."""
        return self.won + self.lost + self.tied

    @cached_property
    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return each annotator's items as annotator times items plus item, and where both items of a vote are."""
        base = self.annotator * len(self.items)
        cell, at = np.unique(np.concatenate([base + self.first, base + self.second]), return_inverse=True)
        return cell, at[: len(base)], at[len(base) :]

    @property
    def work(self) -> float:
        """The cubes of the numbers of items of each annotator, added up, and that of all items."""
        size = np.bincount(self.cells[0] // len(self.items)).astype(np.float64)
        return float((size**3).sum()) + float(len(self.items)) ** 3

    def blocks(self) -> list[Block]:
        """Return blocks of annotators whose numbers of items have the same power of two."""
        cell, first, second = self.cells
        n = len(self.items)
        who = cell // n
        size = np.bincount(who, minlength=len(self.annotators))
        start = np.concatenate([[0], np.cumsum(size)])
        width = 2 ** np.ceil(np.log2(np.maximum(size, 2))).astype(np.int64)
        found = []
        for m in np.unique(width[size > 0]):
            of_size = np.flatnonzero((width == m) & (size > 0))
            # As few columns as there are items.
            m = int(size[of_size].max())
            several = max(1, _MOST_NUMBERS // (m + 1) ** 2)
            for begin in range(0, len(of_size), several):
                own = of_size[begin : begin + several]
                place = np.full(len(self.annotators), -1)
                place[own] = np.arange(len(own))
                items = np.full((len(own), m), n)
                inside = place[who] >= 0
                items[place[who[inside]], np.flatnonzero(inside) - start[who[inside]]] = cell[inside] % n
                rows = np.flatnonzero(place[self.annotator] >= 0)
                begins = start[self.annotator[rows]]
                found.append(
                    Block(own, items, rows, place[self.annotator[rows]], first[rows] - begins, second[rows] - begins)
                )
        return found
