"""The frozen, encoded table of votes that all other code works on."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jamrank.data.folding import EncodedVotes, compare_ratings, count, fold, fold_matrix
from jamrank.data.frames import make_frame, open_frame
from jamrank.data.ids import as_column, encode, keep_used, take
from jamrank.data.packing import Packing
from jamrank.data.parsing import (
    as_matrix,
    check_lengths,
    encode_questions,
    fill_questions,
    parse_matrix,
    parse_outcomes,
    parse_ratings,
    parse_weights,
    parse_winners,
    refuse_missing,
    refuse_self_pairs,
    require_columns,
)
from jamrank.data.storage import FIRST, MISSING, TIE, DenseVotes, VoteTable
from jamrank.errors import InputError
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

if TYPE_CHECKING:
    from jamrank.io.read_log import ReadLog

__all__ = ["Comparisons"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """Votes on pairs of items: encoded, in canonical order, equal votes folded into weights.

    Build one with :meth:`from_arrays`, :meth:`from_matrix`, :meth:`from_frame`, :meth:`from_ratings` or
    :func:`jamrank.read_comparisons`.

    A pair is two items within a question, ``pair_first < pair_second`` in the order of ``items``; pairs are
    sorted by first item, second item and question. The votes on pair ``p`` are
    ``vote_start[p]:vote_start[p + 1]``, sorted by annotator. A pair that was listed but never voted on is kept,
    without votes.

    Attributes
    ----------
    items, annotators, questions : ndarray
        The ids, sorted.
    pair_first, pair_second, pair_question : ndarray of int32
        Codes into ``items`` and ``questions``, one for each pair.
    storage : VoteTable or DenseVotes
        The votes as they are stored; ``vote_start``, ``vote_annotator`` and so on list them one by one.
    n_votes : int
        Votes as given, before folding; ties included, missing ones not.
    n_missing : int
        Votes that were listed without an outcome.
    readings : tuple of ReadLog
        How the files were read, where the votes came from files.
    copy_of : ndarray of int
        Of annotators whose votes are not here because they are those of another one, the code of this one; -1 for the
        others. Empty where there are no such annotators.
    """

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]
    pair_first: Int32Array
    pair_second: Int32Array
    pair_question: Int32Array
    storage: VoteTable | DenseVotes
    n_votes: int
    n_missing: int
    frames: Literal["polars", "pandas"] = "polars"
    readings: tuple[ReadLog, ...] = ()
    copy_of: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def vote_start(self) -> IntArray:
        """Where the votes on each pair begin; one entry more than there are pairs."""
        return self.storage.table.start

    @property
    def vote_annotator(self) -> Int32Array:
        """Codes into ``annotators``, one for each folded vote."""
        return self.storage.table.annotator

    @property
    def vote_result(self) -> NDArray[np.int8]:
        """1 where the pair's first item won, 0 where the second did, 2 for a tie."""
        return self.storage.table.result

    @property
    def vote_swapped(self) -> BoolArray:
        """True where the first item was shown on the right."""
        swapped = self.storage.table.swapped
        return swapped if len(swapped) else np.broadcast_to(np.False_, len(self.vote_result))

    @property
    def vote_weight(self) -> FloatArray:
        """Weight of each folded vote."""
        weight = self.storage.table.weight
        return weight if len(weight) else np.broadcast_to(np.float64(1.0), len(self.vote_result))

    @classmethod
    def from_arrays(
        cls,
        left: Any,
        right: Any,
        annotator: Any,
        outcome: Any,
        weight: Any = None,
        question: Any = None,
    ) -> Comparisons:
        """Encode votes given as parallel arrays.

        Parameters
        ----------
        left, right : array-like
            Ids of the items shown on each side, of any kind.
        annotator : array-like
            Who voted.
        outcome : array-like
            1 where left won, 0 where right won, 0.5 for a tie, NaN for no vote.
        weight : array-like, optional
            Weight of each vote; a vote of weight 2 counts as the same vote written twice.
        question : array-like, optional
            Prompt, scene or topic; a truth is shared only within one question.

        Returns
        -------
        Comparisons
        """
        return cls._from_results(left, right, annotator, parse_outcomes(outcome), weight, question)

    @classmethod
    def _from_results(
        cls, left: Any, right: Any, annotator: Any, results: NDArray[np.int8], weight: Any, question: Any
    ) -> Comparisons:
        columns = {"left": as_column(left), "right": as_column(right), "annotator": as_column(annotator)}
        if question is not None:
            columns["question"] = fill_questions(as_column(question))
        weights = None if weight is None else parse_weights(weight)
        check_lengths({**columns, "outcome": results, **({} if weights is None else {"weight": weights})})
        for name, column in columns.items():
            refuse_missing(name, column)
        items, (left_code, right_code) = encode(columns["left"], columns["right"])
        refuse_self_pairs(items, left_code, right_code)
        annotators, (annotator_code,) = encode(columns["annotator"])
        questions, question_code = encode_questions(columns.get("question"))
        return cls._fold(
            EncodedVotes(
                items, annotators, questions, left_code, right_code, annotator_code, question_code, results, weights
            )
        )

    @classmethod
    def _fold(cls, votes: EncodedVotes) -> Comparisons:
        return cls(votes.items, votes.annotators, votes.questions, *fold(votes))

    @classmethod
    def unpack(
        cls, packing: Packing, keys: IntArray, weight: FloatArray, n_votes: int, n_missing: int
    ) -> Comparisons:
        """Return the votes of distinct, sorted integers of a :class:`jamrank.data.packing.Packing`.

        Parameters
        ----------
        packing : Packing
            The ids, and how votes are packed.
        keys : ndarray of int64
            One for each folded vote.
        weight : ndarray of float64
            Empty where all are 1.
        n_votes, n_missing : int
        """
        return cls(
            packing.items, packing.annotators, packing.questions, *packing.unpack(keys, weight, n_votes, n_missing)
        )

    @classmethod
    def from_matrix(cls, left: Any, right: Any, outcomes: ArrayLike, annotators: Any = None) -> Comparisons:
        """Encode votes given as a pairs × annotators matrix, as a jury gives them.

        Parameters
        ----------
        left, right : array-like of shape (pairs,)
            Ids of the items shown on each side.
        outcomes : array-like of shape (pairs, annotators)
            1 where left won, 0 where right won; -1 (integers) or NaN (floats) for no vote, 0.5 for a tie.
        annotators : array-like, optional
            Ids of the annotators, one for each column; 0, 1, 2, … without it.

        Returns
        -------
        Comparisons
        """
        matrix = as_matrix(outcomes)
        n_annotators = matrix.shape[1]
        names = as_column(range(n_annotators) if annotators is None else annotators)
        columns = {"left": as_column(left), "right": as_column(right)}
        check_lengths({**columns, "outcomes": matrix})
        check_lengths({"annotators": names, "columns of outcomes": matrix.T})
        for name, column in {**columns, "annotators": names}.items():
            refuse_missing(name, column)
        items, (left_code, right_code) = encode(columns["left"], columns["right"])
        refuse_self_pairs(items, left_code, right_code)
        labels, (annotator_code,) = encode(names)
        if len(labels) < n_annotators:
            raise InputError("two columns of outcomes have the same annotator", "give each column its own id")
        results = parse_matrix(matrix)
        order = np.argsort(annotator_code)
        if (np.diff(order) < 0).any():
            results = np.ascontiguousarray(results[:, order])
        no_question = np.array([""], dtype=object)
        folded = fold_matrix(items, labels, no_question, left_code, right_code, results)
        return cls(items, labels, no_question, *folded)

    @classmethod
    def from_frame(cls, frame: Any) -> Comparisons:
        """Encode votes given as a pandas, polars or arrow table in the canonical form.

        Parameters
        ----------
        frame : data frame
            Columns ``annotator``, ``left``, ``right`` and ``winner`` (``left``, ``right``, ``tie``; ``both_bad``,
            which counts as a tie; ``abstain`` or empty for no vote), optionally ``weight`` and ``question``.

        Returns
        -------
        Comparisons
            Models fitted to it return pandas frames where the votes came as pandas, polars frames otherwise.
        """
        table = open_frame(frame, InputError)
        require_columns(table.columns)
        column = {name: table.get_column(name).to_native() for name in table.columns}
        votes = cls._from_results(
            column["left"],
            column["right"],
            column["annotator"],
            parse_winners(as_column(column["winner"])),
            column.get("weight"),
            column.get("question"),
        )
        if table.implementation.is_pandas():
            object.__setattr__(votes, "frames", "pandas")
        return votes

    @classmethod
    def from_ratings(cls, item: Any, annotator: Any, rating: Any, question: Any = None) -> Comparisons:
        """Turn ratings on an ordinal scale into votes.

        Every two ratings of different items by one annotator, within one question, are a vote for the item that
        is rated higher, or a tie where both are rated the same. Ratings of different annotators are never
        compared, so each may use the scale in their own way.

        Parameters
        ----------
        item : array-like
            Ids of the items that were rated, of any kind.
        annotator : array-like
            Who rated.
        rating : array-like
            Numbers, higher for better; NaN or None for no rating. Only their order counts.
        question : array-like, optional
            Prompt, scene or topic; only ratings within one question are compared.

        Returns
        -------
        Comparisons
            With the item that sorts first on the left of every vote, so that sides carry no information. Annotators
            who rated a single item, and items that were never rated beside another, are left out.
        """
        columns = {"item": as_column(item), "annotator": as_column(annotator)}
        if question is not None:
            columns["question"] = fill_questions(as_column(question))
        ratings = parse_ratings(rating)
        check_lengths({**columns, "rating": ratings}, "rating")
        for name, column in columns.items():
            refuse_missing(name, column, "rating")
        rated = ~np.isnan(ratings)
        ratings, columns = ratings[rated], {name: take(column, rated) for name, column in columns.items()}
        items, (item_code,) = encode(columns["item"])
        annotators, (annotator_code,) = encode(columns["annotator"])
        questions, question_code = encode_questions(columns.get("question"))
        asked = np.zeros(len(ratings), dtype=np.int32) if question_code is None else question_code
        left, right, who, about, results = compare_ratings(ratings, item_code, len(items), annotator_code, asked)
        if not len(left):
            raise InputError(
                "no two ratings to compare",
                "expected an annotator who rated at least two different items"
                + ("" if question is None else " within one question"),
            )
        items, (left, right) = keep_used(items, left, right)
        annotators, (who,) = keep_used(annotators, who)
        questions, (about,) = keep_used(questions, about)
        return cls._fold(EncodedVotes(items, annotators, questions, left, right, who, about, results, None))

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
        return len(self.pair_first)

    @cached_property
    def n_ties(self) -> float:
        """Total weight of the tie votes."""
        if isinstance(self.storage, DenseVotes):
            return 0.0 if self.storage.decided else float(count(self.storage.results, TIE))
        tied = self.vote_result == TIE
        return float(self.vote_weight[tied].sum()) if tied.any() else 0.0

    @property
    def has_questions(self) -> bool:
        """Whether the votes name more than one question."""
        return len(self.questions) > 1

    @cached_property
    def vote_pair(self) -> IntArray:
        """The pair of each folded vote."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.vote_start))

    @cached_property
    def pair_weight(self) -> FloatArray:
        """Total weight of the votes on each pair, ties included."""
        if isinstance(self.storage, DenseVotes):
            if not self.n_missing:
                return np.full(self.n_pairs, float(self.n_annotators))
            return np.asarray((self.storage.results != MISSING).sum(axis=1), dtype=np.float64)
        if not len(self.storage.weight):
            return np.diff(self.vote_start).astype(np.float64)
        return np.asarray(np.bincount(self.vote_pair, self.vote_weight, self.n_pairs), dtype=np.float64)

    @cached_property
    def annotator_weight(self) -> FloatArray:
        """Total weight of each annotator's votes, ties included."""
        if isinstance(self.storage, DenseVotes):
            if not self.n_missing:
                return np.full(self.n_annotators, float(self.n_pairs))
            return np.asarray((self.storage.results != MISSING).sum(axis=0), dtype=np.float64)
        return np.asarray(np.bincount(self.vote_annotator, self.vote_weight, self.n_annotators), dtype=np.float64)

    @cached_property
    def annotator_decided(self) -> FloatArray:
        """Total weight of each annotator's decided votes."""
        if not self.n_ties:
            return self.annotator_weight
        ties = self.vote_result == TIE
        tied = np.bincount(self.vote_annotator[ties], self.vote_weight[ties], self.n_annotators)
        return self.annotator_weight - tied

    def only(self, chosen: BoolArray) -> Comparisons:
        """Return some of the votes, with the same ids.

        Parameters
        ----------
        chosen : ndarray of bool
            One for each folded vote. Items and annotators without chosen votes stay in the lists of ids; pairs
            without chosen votes do not stay.
        """
        table, pair = self.storage.table, self.vote_pair[chosen]
        count = np.bincount(pair, minlength=self.n_pairs)
        kept = count > 0
        return replace(
            self,
            pair_first=self.pair_first[kept],
            pair_second=self.pair_second[kept],
            pair_question=self.pair_question[kept],
            storage=VoteTable(
                np.concatenate([[0], np.cumsum(count[kept])]),
                table.annotator[chosen],
                table.result[chosen],
                table.swapped[chosen] if len(table.swapped) else table.swapped,
                table.weight[chosen] if len(table.weight) else table.weight,
            ),
            n_votes=len(pair),
            n_missing=0,
        )

    def only_pairs(self, chosen: BoolArray) -> Comparisons:
        """Return the votes on some of the pairs, with the same ids; a matrix of votes stays one."""
        if not isinstance(self.storage, DenseVotes):
            return self.only(chosen[self.vote_pair])
        results, swapped = self.storage.results[chosen], self.storage.swapped
        n_missing = 0 if self.storage.decided else count(results, MISSING)
        return replace(
            self,
            pair_first=self.pair_first[chosen],
            pair_second=self.pair_second[chosen],
            pair_question=self.pair_question[chosen],
            storage=DenseVotes(results, swapped[chosen] if len(swapped) else swapped, self.storage.decided),
            n_votes=results.size - n_missing,
            n_missing=n_missing,
        )

    @property
    def n_folded(self) -> int:
        """Number of folded votes, ties included."""
        if isinstance(self.storage, DenseVotes):
            return self.storage.results.size - self.n_missing
        return len(self.storage.result)

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return a data frame of the library from which the votes came."""
        return make_frame(columns, self.frames)

    def to_frame(self) -> Any:
        """Return the folded votes in the canonical form, each as it was shown."""
        pair = self.vote_pair
        first, second = self.items[self.pair_first[pair]], self.items[self.pair_second[pair]]
        left_won = (self.vote_result == FIRST) ^ self.vote_swapped
        winner = np.where(self.vote_result == TIE, "tie", np.where(left_won, "left", "right"))
        columns = {
            "annotator": self.annotators[self.vote_annotator],
            "left": np.where(self.vote_swapped, second, first),
            "right": np.where(self.vote_swapped, first, second),
            "winner": winner,
            "weight": self.vote_weight,
        }
        if self.has_questions:
            columns["question"] = self.questions[self.pair_question[pair]]
        return self.frame(columns)

    def __repr__(self) -> str:
        return (
            f"Comparisons({self.n_votes:,} votes by {self.n_annotators:,} annotators "
            f"on {self.n_pairs:,} pairs of {self.n_items:,} items)"
        )
