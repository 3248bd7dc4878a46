"""The votes of a result: ids, counts, pairs; and the votes themselves if available."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jamrank.data.comparisons import Comparisons
from jamrank.data.frames import make_frame
from jamrank.data.gold import KnownTruths
from jamrank.errors import NotStoredError
from jamrank.io.out_of_core.parted import Votes
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

# Smaller weights are as they were given.
_TINY = 1e-3


@dataclass(frozen=True)
class PairArrays:
    """The pairs of a fit: codes of both items and of the question, and the total weight of the votes."""

    first: Int32Array
    second: Int32Array
    question: Int32Array
    votes: FloatArray


@dataclass(frozen=True, eq=False)
class VoteSummary:
    """Ids and counts of the votes of a fit.

    items, annotators, questions: The ids.
    frames ({"polars", "pandas"}): The kind of data frame of votes and results.
    n_votes: Votes as given, before equal ones were folded.
    n_ties: Tie votes, by weight.
    annotator_votes, decided_votes: Votes, and decided votes, of each annotator, by weight.
    source: The votes; None if not available, as in some saved models.
    gold: Pairs of known truth that were used.
    stored_pairs: The pairs, if they came from a file without votes.
    copy_of: As in :class:`Comparisons`.
    """

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]
    frames: str
    n_votes: int
    n_ties: float
    annotator_votes: FloatArray
    decided_votes: FloatArray
    source: Votes | None = None
    gold: KnownTruths | None = None
    stored_pairs: PairArrays | None = None
    copy_of: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, votes: Votes, gold: KnownTruths | None = None) -> Self:
        """Return the summary of votes."""
        return cls(
            votes.items,
            votes.annotators,
            votes.questions,
            votes.frames,
            votes.n_votes,
            float(votes.n_ties),
            votes.annotator_weight,
            votes.annotator_decided,
            votes,
            gold,
            copy_of=votes.copy_of if isinstance(votes, Comparisons) else np.empty(0, np.int64),
        )

    @cached_property
    def pairs(self) -> PairArrays:
        """The pairs; those of votes on disk are read on first access."""
        if self.stored_pairs is not None:
            return self.stored_pairs
        if self.source is None:
            raise NotStoredError("the saved model does not have the pairs; fit again")
        votes = self.source
        return PairArrays(votes.pair_first, votes.pair_second, votes.pair_question, votes.pair_weight)

    @cached_property
    def has_cycle(self) -> bool:
        """Whether the compared pairs form a cycle: there are more of them than a forest on the items has."""
        n = len(self.items)
        first, second = np.divmod(np.unique(self.pairs.first.astype(np.int64) * n + self.pairs.second), n)
        graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
        return bool(len(first) > n - connected_components(graph, directed=False)[0])

    @property
    def pair_items(self) -> tuple[Int32Array, Int32Array]:
        """The codes of both items of each pair."""
        votes = self.in_memory
        if self.stored_pairs is None and votes is not None:
            return votes.pair_first, votes.pair_second
        return self.pairs.first, self.pairs.second

    @property
    def in_memory(self) -> Comparisons | None:
        """The votes, if they are in memory."""
        return self.source if isinstance(self.source, Comparisons) else None

    def require(self) -> Votes:
        """Return the votes; raise if they are not available."""
        if self.source is None:
            raise NotStoredError("the saved model has no votes from which this could be computed; fit again")
        return self.source

    @cached_property
    def stands_for(self) -> IntArray:
        """Who stands for each annotator: of a copy the one whose votes were counted, of others themselves."""
        own = np.arange(len(self.annotators))
        return np.where(self.copy_of >= 0, self.copy_of, own) if len(self.copy_of) else own

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return the margin of each pair: score of the first item minus score of the second."""
        return np.asarray(scores[self.pairs.first] - scores[self.pairs.second])

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return a data frame of the same kind as the votes."""
        return make_frame(columns, self.frames)

    def with_gaps(self, values: NDArray[Any], known: BoolArray) -> NDArray[Any]:
        """Return values with missing ones as NaN for pandas and null for polars."""
        if known.all():
            return values
        if self.frames == "pandas":
            return np.where(known, values, np.nan)
        gaps = np.empty(len(values), dtype=object)
        gaps[:] = [value if there else None for value, there in zip(values.tolist(), known, strict=True)]
        return gaps

    def __getstate__(self) -> dict[str, Any]:
        # Votes on disk and on clusters belong to this process.
        state = {name: vars(self)[name] for name in self.__dataclass_fields__}
        return state | {"source": self.in_memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def whole_numbers(weights: FloatArray) -> NDArray[Any]:
    """Return sums of weights without errors of rounding, whole numbers as integers."""
    summed = np.where(np.abs(weights) < _TINY, weights, np.round(weights, 9))
    whole = summed.astype(np.int64)
    return whole if (whole == summed).all() else summed
