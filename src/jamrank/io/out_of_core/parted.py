"""Votes in parts, each a range of pairs: on disk, or on the workers of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.packing import Packing
from jamrank.text import pairs_of_items
from jamrank.typing import FloatArray, Int32Array, IntArray


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PartedComparisons(ABC):
    """The counterpart of :class:`jamrank.Comparisons` for votes in parts.

    Attributes with one entry per pair are fetched on access, and must fit into memory.
    """

    # Where fits run, for messages.
    place: ClassVar[str]

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]
    part_pairs: IntArray
    n_votes: int
    n_missing: int
    n_ties: float
    annotator_weight: FloatArray
    annotator_decided: FloatArray
    frames: Literal["polars", "pandas"] = "polars"

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotators)

    @property
    def n_pairs(self) -> int:
        """Number of distinct pairs, counted within each question."""
        return int(self.part_pairs.sum())

    @property
    def has_questions(self) -> bool:
        """Whether the votes name more than one question."""
        return len(self.questions) > 1

    @cached_property
    def packing(self) -> Packing:
        """How votes are written as integers."""
        return Packing(self.items, self.annotators, self.questions)

    @abstractmethod
    def part(self, number: int) -> Comparisons:
        """Return the votes of one part; their ids are those of all."""

    def parts(self) -> Iterator[Comparisons]:
        """Yield the votes part by part, in the order of their pairs."""
        for number in range(len(self.part_pairs)):
            yield self.part(number)

    @property
    def pair_first(self) -> Int32Array:
        """Code of each pair's first item."""
        return np.concatenate([part.pair_first for part in self.parts()])

    @property
    def pair_second(self) -> Int32Array:
        """Code of each pair's second item."""
        return np.concatenate([part.pair_second for part in self.parts()])

    @property
    def pair_question(self) -> Int32Array:
        """Code of each pair's question."""
        return np.concatenate([part.pair_question for part in self.parts()])

    @property
    def pair_weight(self) -> FloatArray:
        """Total weight of the votes on each pair, ties included."""
        return np.concatenate([part.pair_weight for part in self.parts()])

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n_votes:,} votes by {self.n_annotators:,} annotators "
            f"on {pairs_of_items(self.n_pairs, self.n_items, len(self.questions))} {self._where})"
        )

    @property
    @abstractmethod
    def _where(self) -> str:
        """Where the votes are, for messages."""


# Votes of models that can fit in parts.
Votes = Comparisons | PartedComparisons
