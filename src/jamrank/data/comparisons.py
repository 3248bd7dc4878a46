"""The frozen, encoded table of votes that all other code works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jamrank.data import subsets
from jamrank.data.covariates import covariate_columns, parse_covariates
from jamrank.data.folding import EncodedVotes, count, fold, fold_matrix
from jamrank.data.frames import make_frame, native_columns
from jamrank.data.ids import as_column, encode
from jamrank.data.packing import Packing
from jamrank.data.parsing import (
    as_matrix,
    check_lengths,
    encode_pairs,
    encode_votes,
    is_soft,
    parse_matrix,
    parse_outcomes,
    parse_weights,
    parse_winners,
    refuse_missing,
    refuse_self_pairs,
    require_columns,
)
from jamrank.data.periods import find_times, parse_times, with_periods
from jamrank.data.ratings import encode_ratings
from jamrank.data.soft import canonical_columns, grades_of_winners, parse_grades, parse_soft, spell_out
from jamrank.data.storage import MISSING, SOFT, TIE, DenseVotes, VoteTable
from jamrank.errors import InputError
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import extremes
from jamrank.text import many, pairs_of_items
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

if TYPE_CHECKING:
    from jamrank.io.read_log import ReadLog


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
    covariates : tuple of str
        Names of the covariates of the votes.
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
    covariates: tuple[str, ...] = ()

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

    @property
    def vote_grade(self) -> NDArray[np.int8]:
        """How clearly the winner won, from 1; 0 for a plain vote, -1 for the two parts of a soft vote."""
        grade = self.storage.table.grade
        return grade if len(grade) else np.broadcast_to(np.int8(0), len(self.vote_result))

    @property
    def vote_soft(self) -> BoolArray:
        """Whether each folded vote is one of the two parts, one for either item, of a soft vote."""
        return np.asarray(self.vote_grade == SOFT)

    @cached_property
    def n_grades(self) -> int:
        """The highest grade; 0 where votes have none."""
        return 0 if isinstance(self.storage, DenseVotes) else max(int(self.storage.grade.max(initial=0)), 0)

    @classmethod
    def from_arrays(
        cls,
        left: Any,
        right: Any,
        annotator: Any,
        outcome: Any,
        weight: Any = None,
        question: Any = None,
        grade: Any = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> Comparisons:
        """Encode votes given as parallel arrays.

        Parameters
        ----------
        left, right : array-like
            Ids of the items shown on each side, of any kind.
        annotator : array-like
            Who voted.
        outcome : array-like
            1 where left won, 0 where right won, 0.5 for a tie, NaN for no vote; another fraction is one soft vote:
            the probability that left is better.
        weight : array-like, optional
            Weight of each vote; a vote of weight 2 counts as the same vote written twice.
        question : array-like, optional
            Prompt, scene or topic; a truth is shared only within one question.
        grade : array-like, optional
            How clearly the winner won, from 1; 0, NaN or None where that is not known.
        covariates : mapping of str to array-like, optional
            Numbers that may sway a vote, left minus right, for :class:`jamrank.CovariateBT`.

        Returns
        -------
        Comparisons
        """
        results, p_left = parse_outcomes(outcome)
        grades = None if grade is None else parse_grades(as_column(grade))
        return cls._from_results(left, right, annotator, results, weight, question, p_left, grades, None, covariates)

    @classmethod
    def _from_results(
        cls,
        left: Any,
        right: Any,
        annotator: Any,
        results: NDArray[np.int8],
        weight: Any,
        question: Any,
        p_left: FloatArray | None = None,
        grades: NDArray[np.int8] | None = None,
        times: FloatArray | None = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> Comparisons:
        weights = None if weight is None else parse_weights(weight)
        ids = {"left": left, "right": right, "annotator": annotator}
        ids |= {} if question is None else {"question": question}
        optional = {"weight": weights, "p_left": p_left, "grade": grades}
        coded = encode_votes(ids, {"outcome": results, **{k: v for k, v in optional.items() if v is not None}})
        items, (left_code, right_code) = coded["left", "right"]
        refuse_self_pairs(items, left_code, right_code)
        annotators, (annotator_code,) = coded["annotator",]
        questions, (question_code,) = coded["question",]
        codes = left_code, right_code, annotator_code, question_code
        swaying = parse_covariates(covariates or {}, results, p_left)
        winners = grades_of_winners(grades, results)
        encoded = EncodedVotes(items, annotators, questions, *codes, results, weights, winners, swaying)
        votes = cls._fold(encoded, p_left)
        object.__setattr__(votes, "covariates", tuple(covariates or ()))
        return votes if times is None else with_periods(votes, encoded, times)

    @classmethod
    def _fold(cls, votes: EncodedVotes, p_left: FloatArray | None = None) -> Comparisons:
        spelled, n_soft = (votes, 0) if p_left is None else spell_out(votes, p_left)
        folded = fold(spelled)
        folded = folded._replace(n_votes=folded.n_votes - n_soft)
        return cls(votes.items, votes.annotators, votes.questions, *folded)

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
            1 where left won, 0 where right won; -1 (integers) or NaN (floats) for no vote, 0.5 for a tie, other
            fractions for soft votes.
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
        items, left_code, right_code, in_order = encode_pairs(columns["left"], columns["right"])
        labels, (annotator_code,) = encode(names)
        if len(labels) < n_annotators:
            raise InputError("two columns of outcomes have the same annotator", "give each column its own id")
        if matrix.dtype.kind == "f" and is_soft(matrix).any():
            of_pair, who = (at.ravel() for at in np.indices(matrix.shape))
            codes = left_code[of_pair], right_code[of_pair], annotator_code[who]
            results, p_left = parse_outcomes(matrix.ravel())
            return cls._fold(EncodedVotes(items, labels, np.array([""], object), *codes, None, results, None), p_left)
        votes, order = parse_matrix(matrix), np.argsort(annotator_code)
        if (np.diff(order) < 0).any():
            votes = DenseVotes(np.ascontiguousarray(votes.results[:, order]), votes.swapped, votes.decided)
        no_question = np.array([""], dtype=object)
        folded = fold_matrix(items, labels, no_question, left_code, right_code, votes, in_order)
        return cls(items, labels, no_question, *folded)

    @classmethod
    def from_frame(cls, frame: Any, covariates: Any = ()) -> Comparisons:
        """Encode votes given as a pandas, polars or arrow table in the canonical form.

        Parameters
        ----------
        frame : data frame
            Columns ``annotator``, ``left``, ``right`` and ``winner`` (``left``, ``right``, ``tie``; ``both_bad``,
            which counts as a tie; ``abstain`` or empty for no vote), optionally ``weight``, ``question``, ``p_left``
            (a probability, which takes the winner's place), ``grade`` (how clearly, from 1) and ``time``,
            ``timestamp``, ``tstamp`` or ``order``: when a vote was cast, or as which.
        covariates : list of str, optional
            Further columns to keep: numbers that may sway a vote, left minus right.

        Returns
        -------
        Comparisons
            Models fitted to it return pandas frames where the votes came as pandas, polars frames otherwise.
        """
        column, library = native_columns(frame, InputError)
        require_columns(list(column))
        times = find_times(column)
        votes = cls._from_results(
            column["left"],
            column["right"],
            column["annotator"],
            parse_winners(column["winner"]),
            column.get("weight"),
            column.get("question"),
            parse_soft(as_column(column["p_left"])) if "p_left" in column else None,
            parse_grades(as_column(column["grade"])) if "grade" in column else None,
            None if times is None else parse_times(as_column(times)),
            covariate_columns(column, covariates),
        )
        object.__setattr__(votes, "frames", library)
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
        return cls._fold(encode_ratings(item, annotator, rating, question))

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
        result = self.vote_result
        if not len(result) or extremes(result)[1] < TIE:
            return 0.0
        return float(self.vote_weight[result == TIE].sum())

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
        total = np.empty(self.n_pairs)
        kernels.sum_by_link(self.vote_start, self.storage.weight, total, default_threads())
        return total

    @cached_property
    def annotator_weight(self) -> FloatArray:
        """Total weight of each annotator's votes, ties included."""
        if isinstance(self.storage, DenseVotes):
            if not self.n_missing:
                return np.full(self.n_annotators, float(self.n_pairs))
            return np.asarray((self.storage.results != MISSING).sum(axis=0), dtype=np.float64)
        total = np.empty(self.n_annotators)
        kernels.sum_by_code(self.vote_annotator, self.storage.weight, total, default_threads())
        return total

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
        return subsets.only(self, chosen)

    def ungraded(self) -> Comparisons:
        """Return the votes without their grades: who won, and soft votes, stay."""
        return subsets.ungraded(self)

    def only_pairs(self, chosen: BoolArray) -> Comparisons:
        """Return the votes on some of the pairs, with the same ids; a matrix of votes stays one."""
        return subsets.only_pairs(self, chosen)

    @property
    def n_folded(self) -> int:
        """Number of folded votes, ties included; the two parts of a soft vote are one."""
        if isinstance(self.storage, DenseVotes):
            return self.storage.shape[0] * self.storage.shape[1] - self.n_missing
        return len(self.storage.result) - int(np.count_nonzero(self.storage.grade == SOFT)) // 2

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return a data frame of the library from which the votes came."""
        return make_frame(columns, self.frames)

    def to_frame(self) -> Any:
        """Return the folded votes in the canonical form, each as it was shown."""
        return self.frame(canonical_columns(self))

    def __repr__(self) -> str:
        by = f"{many(self.n_votes, 'vote')} by {many(self.n_annotators, 'annotator')}"
        return f"Comparisons({by} on {pairs_of_items(self.n_pairs, self.n_items, len(self.questions))})"
