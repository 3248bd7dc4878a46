"""The frozen, encoded table of votes that every other room works on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from jamrank.data.ids import Column, as_array, as_column, as_text, encode, first_missing, is_missing, take
from jamrank.data.storage import FIRST, MISSING, SECOND, TIE, DenseVotes, VoteTable
from jamrank.errors import InputError
from jamrank.kernels import default_threads, kernels
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

if TYPE_CHECKING:
    from jamrank.io.read_log import ReadLog

__all__ = ["FIRST", "REQUIRED", "SECOND", "TIE", "Comparisons", "Packing"]

_WINNERS = {"left": FIRST, "right": SECOND, "tie": TIE}
# Two bad items are a tie to the models, an abstention is no vote; both are rare, and looked for last.
_RARE_WINNERS = {"both_bad": TIE, "abstain": MISSING}
_OUTCOMES = "expected 1 (left), 0 (right), 0.5 (tie) or NaN (no vote)"
_RATINGS = "expected a finite number, higher for better, or NaN (no rating)"
REQUIRED = ("annotator", "left", "right", "winner")


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
    cast : VoteTable or Jury
        The votes, as they are stored; ``vote_start`` and its kin show them one by one.
    n_votes : int
        Votes as given, before folding; ties included, missing ones not.
    n_missing : int
        Votes that were listed without an outcome.
    readings : tuple of Reading
        How the files were understood, where the votes came from files.
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

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
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
        return cls._from_results(left, right, annotator, _outcomes(outcome), weight, question)

    @classmethod
    def _from_results(
        cls, left: Any, right: Any, annotator: Any, results: NDArray[np.int8], weight: Any, question: Any
    ) -> Comparisons:
        columns = {"left": as_column(left), "right": as_column(right), "annotator": as_column(annotator)}
        if question is not None:
            columns["question"] = fill_questions(as_column(question))
        weights = None if weight is None else parse_weights(weight)
        _check_lengths({**columns, "outcome": results, **({} if weights is None else {"weight": weights})})
        for name, column in columns.items():
            refuse_missing(name, column)
        items, (left_code, right_code) = encode(columns["left"], columns["right"])
        refuse_self_pairs(items, left_code, right_code)
        annotators, (annotator_code,) = encode(columns["annotator"])
        questions, question_code = _encode_questions(columns.get("question"))
        return _fold(
            _Encoded(
                items, annotators, questions, left_code, right_code, annotator_code, question_code, results, weights
            )
        )

    @classmethod
    def from_matrix(cls, left: Any, right: Any, outcomes: ArrayLike, annotators: Any = None) -> Comparisons:
        """Encode votes given as a pairs × annotators matrix, as juries have them.

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
        matrix = _as_matrix(outcomes)
        n_pairs, n_annotators = matrix.shape
        names = as_column(range(n_annotators) if annotators is None else annotators)
        columns = {"left": as_column(left), "right": as_column(right)}
        _check_lengths({**columns, "outcomes": matrix})
        _check_lengths({"annotators": names, "columns of outcomes": matrix.T})
        for name, column in {**columns, "annotators": names}.items():
            refuse_missing(name, column)
        items, (left_code, right_code) = encode(columns["left"], columns["right"])
        refuse_self_pairs(items, left_code, right_code)
        labels, (annotator_code,) = encode(names)
        if len(labels) < n_annotators:
            raise InputError("two columns of outcomes have the same annotator", "give each column its own id")
        results = _matrix_results(matrix)
        order = np.argsort(annotator_code)
        if (np.diff(order) < 0).any():
            results = np.ascontiguousarray(results[:, order])
        folded = _fold_matrix(items, labels, left_code, right_code, results)
        if folded is not None:
            return folded
        return _fold(
            _Encoded(
                items,
                labels,
                np.array([""], dtype=object),
                np.repeat(left_code, n_annotators),
                np.repeat(right_code, n_annotators),
                np.tile(np.arange(n_annotators, dtype=np.int32), n_pairs),
                None,
                results.ravel(),
                None,
            )
        )

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
            Its models answer in pandas where the votes came as pandas, in polars otherwise.
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
            With the item that sorts first on the left of every vote, so that sides mean nothing. An annotator
            who rated a single item casts no votes. Annotators without votes, and items that nobody compared
            with another, are not in it.
        """
        columns = {"item": as_column(item), "annotator": as_column(annotator)}
        if question is not None:
            columns["question"] = fill_questions(as_column(question))
        ratings = _ratings(rating)
        _check_lengths({**columns, "rating": ratings}, "rating")
        for name, column in columns.items():
            refuse_missing(name, column, "rating")
        rated = ~np.isnan(ratings)
        ratings, columns = ratings[rated], {name: take(column, rated) for name, column in columns.items()}
        items, (item_code,) = encode(columns["item"])
        annotators, (annotator_code,) = encode(columns["annotator"])
        questions, question_code = _encode_questions(columns.get("question"))
        asked = np.zeros(len(ratings), dtype=np.int32) if question_code is None else question_code
        ballot, n_ballots = _mixed_radix([(annotator_code, len(annotators)), (asked, len(questions))])
        left, right = _pairs_within(ballot, n_ballots, item_code, len(items))
        if not len(left):
            raise InputError(
                "no two ratings to compare",
                "expected an annotator who rated at least two different items"
                + ("" if question is None else " within one question"),
            )
        votes = cls.from_arrays(
            item_code[left],
            item_code[right],
            annotator_code[left],
            np.where(ratings[left] == ratings[right], 0.5, ratings[left] > ratings[right]),
            question=asked[left],
        )
        return replace(
            votes,
            items=items[votes.items],
            annotators=annotators[votes.annotators],
            questions=questions[votes.questions],
        )

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
            return 0.0 if self.storage.decided else float(_count(self.storage.results, TIE))
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
        """Return some of the votes alone, under the same ids.

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
        """Return the votes on some of the pairs alone, under the same ids; a jury stays one."""
        if not isinstance(self.storage, DenseVotes):
            return self.only(chosen[self.vote_pair])
        results, swapped = self.storage.results[chosen], self.storage.swapped
        n_missing = 0 if self.storage.decided else _count(results, MISSING)
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
        """Return a data frame of the kind in which the votes came."""
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


def require_columns(names: Iterable[str]) -> None:
    """Make sure that the columns of the canonical form are there."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise InputError(
            f"no column {', '.join(map(repr, missing))} among {', '.join(map(repr, names))}",
            "needed: annotator, left, right, winner; optional: weight, question",
        )


def open_frame(frame: Any, error: type[InputError]) -> nw.DataFrame[Any]:
    """Return a user's data frame behind one interface, whichever library it is from."""
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise error(
            f"a {type(frame).__name__} where a data frame should be",
            "give a pandas, polars or arrow frame (collect() a lazy one; files are for read_comparisons)",
        ) from None


def make_frame(columns: dict[str, Any], library: str) -> Any:
    """Return a pandas or polars frame of the columns."""
    plain = {name: values.tolist() if values.dtype.kind == "O" else values for name, values in columns.items()}
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(plain)
    return pl.DataFrame(plain, strict=False)


def parse_winners(column: Column) -> NDArray[np.int8]:
    """Return a result code for each canonical winner; anything else is refused, never taken for a tie."""
    if not isinstance(column, pl.Series):
        return np.array([_winner(value, row) for row, value in enumerate(column.tolist())], dtype=np.int8)
    results = np.full(len(column), MISSING, dtype=np.int8)
    known = column.is_null()
    for winner, result in {**_WINNERS, **_RARE_WINNERS}.items():
        if winner in _RARE_WINNERS and known.all():
            continue
        same = (column == winner).fill_null(False)
        results[same.to_numpy()] = result
        known |= same
    if not known.all():
        row = int((~known).arg_max() or 0)
        _winner(column[row], row)
    return results


def _winner(value: Any, row: int) -> int:
    result = _WINNERS.get(value, _RARE_WINNERS.get(value)) if isinstance(value, str) else None
    if result is None and not is_missing(value):
        raise InputError(f"winner is {value!r}", "expected 'left', 'right' or 'tie'", row=row + 1)
    return MISSING if result is None else result


def _outcomes(outcome: Any) -> NDArray[np.int8]:
    """Return a result code for each outcome, seen from the left."""
    column = as_array(outcome)
    if column.dtype.kind == "b":
        return column.astype(np.int8)
    if column.dtype.kind in "iuf":
        return _results(column.astype(np.float64))
    return _results(np.array([_number(value, row) for row, value in enumerate(column.tolist())], dtype=np.float64))


def _number(value: Any, row: int) -> float:
    if is_missing(value):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"outcome {value!r}", _OUTCOMES, row=row + 1) from None


def _as_matrix(outcomes: ArrayLike) -> NDArray[Any]:
    try:
        matrix = np.asarray(outcomes)
        if matrix.dtype.kind not in "biuf":
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"outcomes that are no matrix of numbers ({error})", _OUTCOMES) from None
    if matrix.ndim != 2:
        raise InputError(f"outcomes with {matrix.ndim} dimensions", "expected pairs × annotators")
    return matrix


def _matrix_results(matrix: NDArray[Any]) -> NDArray[np.int8]:
    if matrix.dtype.kind == "b":
        return matrix.astype(np.int8)
    if matrix.dtype.kind != "i":
        return _results(matrix.astype(np.float64))
    low, high = (int(matrix.min()), int(matrix.max())) if matrix.size else (0, 0)
    if low < -1 or high > 1:
        row, column = np.argwhere((matrix < -1) | (matrix > 1))[0]
        raise InputError(
            f"outcome {matrix[row, column]} in column {column + 1}",
            "expected 1 (left), 0 (right) or -1 (no vote)",
            row=int(row) + 1,
        )
    results = np.array(matrix, dtype=np.int8, order="C")
    if low < 0:
        results[results < 0] = MISSING
    return results


def _results(outcome: FloatArray) -> NDArray[np.int8]:
    results: NDArray[np.int8] = (outcome == 1.0).astype(np.int8)
    if np.all((outcome == 0.0) | (results == FIRST)):
        return results
    results[:] = -1
    for value, result in ((1.0, FIRST), (0.0, SECOND), (0.5, TIE)):
        results[outcome == value] = result
    results[np.isnan(outcome)] = MISSING
    if (results < 0).any():
        row = int(np.argwhere(results < 0)[0][0])
        value = outcome[results < 0][0]
        hint = _OUTCOMES
        if 0 < value < 1:
            hint += f"; write a soft vote as two votes, 1 with weight {value:g} and 0 with weight {1 - value:g}"
        raise InputError(f"outcome {value:g}", hint, row=row + 1)
    return results


def parse_weights(weight: Any) -> FloatArray:
    column = as_array(weight)
    try:
        weights = column.astype(np.float64)
    except (TypeError, ValueError):
        weights = np.array([np.nan if v is None or not isinstance(v, (int, float)) else v for v in column.tolist()])
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"weight is {column.tolist()[row]!r}", "expected a number of at least 0", row=row + 1)
    return weights


def _ratings(rating: Any) -> NDArray[Any]:
    """Return the ratings as integers or floats, NaN for none."""
    column = as_array(rating)
    if column.dtype.kind in "biu":
        return column
    if column.dtype.kind != "f":
        column = np.array([_rating(value, row) for row, value in enumerate(column.tolist())], dtype=np.float64)
    infinite = np.isinf(column)
    if infinite.any():
        row = int(infinite.argmax())
        raise InputError(f"rating is {column[row]:g}", _RATINGS, row=row + 1)
    return column


def _rating(value: Any, row: int) -> float:
    if is_missing(value):
        return np.nan
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"rating is {value!r}", _RATINGS, row=row + 1)


def _check_lengths(columns: dict[str, Any], of: str = "vote") -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"columns of different length ({told})", f"expected one value for each {of}")
    if not any(lengths.values()):
        raise InputError(f"no {of}s", "expected at least one")


def refuse_missing(name: str, column: Column, of: str = "vote") -> None:
    row = first_missing(column)
    if row is not None:
        raise InputError(f"{name} is missing", f"every {of} needs an id there", row=row + 1)


def refuse_empty(name: str, column: Column) -> None:
    """Refuse ids that are empty text, as files may have them."""
    if isinstance(column, pl.Series) and (empty := column == "").any():
        raise InputError(f"{name} is missing", "every vote needs an id there", row=int(empty.arg_max() or 0) + 1)


def refuse_self_pairs(items: NDArray[Any], left: Int32Array, right: Int32Array) -> None:
    same = left == right
    if same.any():
        row = int(same.argmax())
        item = items[left[row]]
        raise InputError(f"{item!s} is compared with itself", "left and right must be different items", row=row + 1)


def fill_questions(column: Column, gaps: bool | None = None) -> Column:
    """Return the questions with empty ones as one question of their own; all are text then.

    Parameters
    ----------
    column : ndarray or polars.Series
        From ``as_column``.
    gaps : bool, optional
        Whether there are empty ones, here or in another part of the votes; without it, whether there are any here.
    """
    if not (first_missing(column) is not None if gaps is None else gaps):
        return column
    return as_text(column, of_any_kind=True).fill_null("")


def _encode_questions(column: Column | None) -> tuple[NDArray[Any], Int32Array | None]:
    if column is None:
        return np.array([""], dtype=object), None
    labels, (codes,) = encode(column)
    return labels, codes


def _pairs_within(ballot: IntArray, n_ballots: int, item: Int32Array, n_items: int) -> tuple[IntArray, IntArray]:
    """Return every two rows of one ballot and different items, the row of the lower item first."""
    key, _ = _mixed_radix([(ballot, n_ballots), (item, n_items)])
    order = np.argsort(key, kind="stable")
    key, ballot = key[order], ballot[order]
    # A row is paired with all rows of its ballot that come after those of its item.
    begin = np.searchsorted(key, key, side="right")
    count = np.searchsorted(ballot, ballot, side="right") - begin
    left = np.repeat(np.arange(len(key)), count)
    right = np.arange(len(left)) + np.repeat(begin - (np.cumsum(count) - count), count)
    return order[left], order[right]


def _turned(results: NDArray[np.int8], swapped: BoolArray) -> NDArray[np.int8]:
    """Return results seen from the canonical order: turned over where the first item stood on the right."""
    turned: NDArray[np.int8] = np.where(swapped & (results <= FIRST), FIRST - results, results).astype(np.int8)
    return turned


@dataclass(frozen=True)
class _Encoded:
    """Votes in codes, as they were given; no question where there is but one, no weights where all are 1."""

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]
    left: Int32Array
    right: Int32Array
    annotator: Int32Array
    question: Int32Array | None
    results: NDArray[np.int8]
    weights: FloatArray | None


def _fold(votes: _Encoded) -> Comparisons:
    """Sort the votes by pair and annotator and fold equal ones."""
    packing = Packing(votes.items, votes.annotators, votes.questions)
    if not packing.possible:
        return _fold_many(votes)
    keys = packing.pack(votes.left, votes.right, votes.annotator, votes.question, votes.results)
    n_missing = _count(votes.results, MISSING)
    return packing.unpack(*sorted_keys(keys, votes.weights), len(keys) - n_missing, n_missing)


@dataclass(frozen=True)
class Packing:
    """Votes as integers that sort by pair, question and annotator: the bits of a vote's codes, side by side."""

    items: NDArray[Any]
    annotators: NDArray[Any]
    questions: NDArray[Any]

    @property
    def bits(self) -> tuple[int, int, int]:
        """Bits of an item, a question and an annotator."""
        return _bits(len(self.items)), _bits(len(self.questions)), _bits(len(self.annotators))

    @property
    def possible(self) -> bool:
        """Whether a vote fits into an integer."""
        items, questions, annotators = self.bits
        return 2 * items + questions + annotators + 3 <= 63

    @property
    def below_pair(self) -> int:
        """Bits that do not belong to the pair of items."""
        return self.bits[1] + self.bits[2] + 3

    def pack(
        self,
        left: Int32Array,
        right: Int32Array,
        annotator: Int32Array,
        question: Int32Array | None,
        results: NDArray[np.int8],
    ) -> IntArray:
        """Return an integer for each vote, results seen from the left."""
        keys = np.empty(len(results), dtype=np.int64)
        asked = np.empty(0, dtype=np.int32) if question is None else question
        kernels.pack_votes(left, right, annotator, asked, results, *self.bits, keys, default_threads())
        return keys

    def unpack(self, keys: IntArray, weight: FloatArray, n_votes: int, n_missing: int) -> Comparisons:
        """Return the votes of distinct, sorted integers; no weights: all 1."""
        threads, bits = default_threads(), self.bits
        n_pairs = kernels.count_pairs(keys, bits[2] + 3, threads)
        first, second = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int32)
        asked = np.empty(n_pairs if len(self.questions) > 1 else 0, dtype=np.int32)
        start, who = np.empty(n_pairs + 1, dtype=np.int64), np.empty(len(keys), dtype=np.int32)
        result, swapped = np.empty(len(keys), dtype=np.int8), np.empty(len(keys), dtype=bool)
        kernels.unpack_votes(keys, *bits, first, second, asked, start, who, result, swapped, threads)
        if n_missing:
            voted = result != MISSING
            start = np.concatenate([[0], np.cumsum(voted)])[start]
            who, result, swapped = who[voted], result[voted], swapped[voted]
            weight = weight[voted] if len(weight) else weight
        return Comparisons(
            self.items,
            self.annotators,
            self.questions,
            first,
            second,
            asked if len(self.questions) > 1 else np.broadcast_to(np.int32(0), n_pairs),
            VoteTable(start, who, result, swapped if swapped.any() else np.empty(0, dtype=bool), weight),
            n_votes=n_votes,
            n_missing=n_missing,
        )


def _count(results: NDArray[np.int8], result: int) -> int:
    """Count the votes that came out so."""
    return int(np.count_nonzero(results == result))


def _fold_many(votes: _Encoded) -> Comparisons:
    """Fold votes with so many ids that a vote does not fit into an integer: by the ranks of the pairs that occur."""
    first, second = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    asked = np.zeros(len(first), dtype=np.int32) if votes.question is None else votes.question
    n_items, n_questions = len(votes.items), len(votes.questions)
    wide, _ = _mixed_radix([(first, n_items), (second, n_items), (asked, n_questions)])
    _, at, rank = np.unique(wide, return_index=True, return_inverse=True)
    # Two made-up items keep the side on which each was shown; the rank of the pair, in order, is the question.
    swapped = (votes.left > votes.right).astype(np.int32)
    folded = _fold(
        replace(
            votes,
            items=np.arange(2),
            questions=np.arange(len(at)),
            left=swapped,
            right=1 - swapped,
            question=rank.astype(np.int32),
        )
    )
    return replace(
        folded,
        items=votes.items,
        questions=votes.questions,
        pair_first=first[at],
        pair_second=second[at],
        pair_question=asked[at],
    )


def _rising(first: Int32Array, second: Int32Array) -> bool:
    """Tell whether pairs are in order and no two are the same."""
    same = first[1:] == first[:-1]
    return bool((first[1:] >= first[:-1]).all() and (~same | (second[1:] > second[:-1])).all())


def _bits(count: int) -> int:
    """Return how many bits the codes of so many ids need."""
    return max(count - 1, 0).bit_length()


def _starts_of_runs(keys: IntArray) -> BoolArray:
    """Tell for each of some sorted keys whether it differs from the one before."""
    new = np.empty(len(keys), dtype=bool)
    new[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return new


def sorted_keys(key: IntArray, weights: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """Sort keys and fold equal ones: distinct keys, and the weight of each (empty: all 1)."""
    if weights is None:
        threads = default_threads()
        kernels.sort_keys(key, int(key.max(initial=0)).bit_length(), threads)
        n_distinct = kernels.count_pairs(key, 0, threads)
        if n_distinct == len(key):
            return key, np.empty(0)
        distinct, times = np.empty(n_distinct, dtype=np.int64), np.empty(n_distinct)
        kernels.fold_keys(key, distinct, times, threads)
        return distinct, times
    # Equal votes by weight, so that the last bit of their sum does not depend on the order of the rows.
    order = np.lexsort((weights, key))
    key, weights = key[order], weights[order]
    starts = np.flatnonzero(_starts_of_runs(key))
    folded = np.add.reduceat(weights, starts)
    return key[starts], folded if (folded != 1).any() else np.empty(0)


def _mixed_radix(digits: list[tuple[NDArray[Any], int]]) -> tuple[IntArray, int]:
    """Return one sortable integer for each row of digits, and a bound on it."""
    key, bound = np.zeros(len(digits[0][0]), dtype=np.int64), 1
    for digit, radix in digits:
        if bound * radix >= 2**63:
            # Too wide for one integer: replace what stands so far by its rank.
            distinct, key = np.unique(key, return_inverse=True)
            bound = len(distinct)
        key = key * radix + digit
        bound *= radix
    return key, bound


def _fold_matrix(
    items: NDArray[Any], annotators: NDArray[Any], left: Int32Array, right: Int32Array, results: NDArray[np.int8]
) -> Comparisons | None:
    """Encode a matrix whose rows are distinct pairs as a jury; None where they are not."""
    swapped = left > right
    if swapped.any():
        first, second = np.where(swapped, right, left), np.where(swapped, left, right)
        results = _turned(results, swapped[:, None])
    else:
        first, second, swapped = left, right, np.empty(0, dtype=bool)
    if not _rising(first, second):
        key = first.astype(np.int64) * len(items) + second
        order = np.argsort(key, kind="stable")
        if (np.diff(key[order]) == 0).any():
            return None
        first, second, results = first[order], second[order], results[order]
        swapped = swapped[order] if len(swapped) else swapped
    # Most tables have neither ties nor gaps, and one look tells.
    decided = bool(results.max(initial=SECOND) <= FIRST)
    n_missing = 0 if decided else _count(results, MISSING)
    return Comparisons(
        items,
        annotators,
        np.array([""], dtype=object),
        first,
        second,
        np.broadcast_to(np.int32(0), len(first)),
        DenseVotes(results, swapped, decided),
        n_votes=results.size - n_missing,
        n_missing=n_missing,
    )
