"""From columns of any kind to result codes, weights and ratings; bad values raise an error with their row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from jamrank.data.ids import (
    Column,
    as_array,
    as_column,
    as_text,
    encode,
    encode_small_pairs,
    first_missing,
    is_missing,
    missing_rows,
    places_in_categories,
)
from jamrank.data.storage import FIRST, LARGEST_SMALL_JURY, MISSING, SECOND, TIE, DenseVotes, Verdicts
from jamrank.data.text_ids import encode_text
from jamrank.errors import InputError
from jamrank.kernels import default_threads, kernels
from jamrank.kernels.in_threads import copied, extremes, taken
from jamrank.typing import BoolArray, FloatArray, Int32Array, IntArray

# Beyond these, one vote more or less is lost to rounding, and reciprocals or steps of a fit overflow.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-100, 1e12
# Labels, and the codes of each column; None for a column that is not there.
Encoded = tuple[NDArray[Any], list[Any]]

REQUIRED = ("annotator", "left", "right", "winner")
# Why a row is no vote, of many rows together.
SELF_PAIR = "an item compared with itself"
WINNERS = {"left": FIRST, "right": SECOND, "tie": TIE}
# "Both bad" counts as a tie and an abstention as no vote; both are rare and checked last.
_RARE_WINNERS = {"both_bad": TIE, "abstain": MISSING}
_OUTCOMES = "expected 1 (left), 0 (right), 0.5 (tie), another fraction (soft vote) or NaN (no vote)"
_RATINGS = "expected a finite number, higher for better, or NaN (no rating)"


def require_columns(names: Iterable[str]) -> None:
    """Refuse a table without the columns of the canonical form."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise InputError(
            f"no column {', '.join(map(repr, missing))} among {', '.join(map(repr, names))}",
            "needed: annotator, left, right, winner; optional: weight, question, p_left, grade",
        )


def parse_winners(given: Any) -> NDArray[np.int8]:
    """Return a result code for each canonical winner; any other value is refused."""
    if isinstance(given, pl.Series) and isinstance(given.dtype, pl.Enum):
        return _parse_categories(given, given.dtype.categories.to_list())
    column = as_column(given)
    if not isinstance(column, pl.Series):
        return np.array([_parse_winner(value, row) for row, value in enumerate(column.tolist())], dtype=np.int8)
    results = np.full(len(column), MISSING, dtype=np.int8)
    known = column.is_null()
    for winner, result in {**WINNERS, **_RARE_WINNERS}.items():
        if winner in _RARE_WINNERS and known.all():
            continue
        same = (column == winner).fill_null(False)
        results[same.to_numpy()] = result
        known |= same
    if not known.all():
        rows = (~known).arg_true().to_list()
        raise _unknown_winner(column[rows[0]], rows)
    return results


def _parse_categories(column: pl.Series, words: list[str]) -> NDArray[np.int8]:
    known = {**WINNERS, **_RARE_WINNERS}
    if not set(words) <= set(known):
        return parse_winners(column.cast(pl.String))
    meaning = np.array([*(known[word] for word in words), MISSING], dtype=np.int8)
    return taken(meaning, places_in_categories(column, len(words)))


def _parse_winner(value: Any, row: int) -> int:
    result = WINNERS.get(value, _RARE_WINNERS.get(value)) if isinstance(value, str) else None
    if result is None and not is_missing(value):
        raise _unknown_winner(value, [row])
    return MISSING if result is None else result


def _unknown_winner(value: Any, rows: list[int]) -> InputError:
    expected = "expected 'left', 'right' or 'tie'"
    return InputError(f"winner is {value!r}", expected, **_places(rows), reason="unknown winner")


def _places(rows: Sequence[int] | IntArray) -> dict[str, Any]:
    """Return rows counted from 0 as an error names them."""
    return {"row": int(rows[0]) + 1, "rows": [int(row) + 1 for row in rows]}


def parse_outcomes(outcome: Any) -> tuple[NDArray[np.int8], FloatArray | None]:
    """Return a result code for each outcome, seen from the left, and the probabilities of soft votes, if any."""
    column = as_array(outcome)
    if column.dtype.kind == "b":
        return column.astype(np.int8), None
    if column.dtype.kind in "iuf":
        values = column.astype(np.float64)
    else:
        values = np.array([_outcome(value, row) for row, value in enumerate(column.tolist())], dtype=np.float64)
    soft = is_soft(values)
    if not soft.any():
        return _results(values), None
    return _results(np.where(soft, 1.0, values)), np.where(soft, values, np.nan)


def is_soft(outcome: NDArray[Any]) -> BoolArray:
    """Tell which outcomes are probabilities: fractions other than 1/2, which is a tie."""
    return np.asarray((outcome > 0) & (outcome < 1) & (outcome != 0.5))


def _outcome(value: Any, row: int) -> float:
    if is_missing(value):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"outcome {value!r}", _OUTCOMES, row=row + 1) from None


def as_matrix(outcomes: ArrayLike) -> NDArray[Any]:
    """Return outcomes as a matrix of numbers."""
    try:
        matrix = np.asarray(outcomes)
        if matrix.dtype.kind not in "biuf":
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"outcomes that are not a matrix of numbers ({error})", _OUTCOMES) from None
    if matrix.ndim != 2:
        raise InputError(f"outcomes with {matrix.ndim} dimensions", "expected pairs × annotators")
    return matrix


def parse_matrix(matrix: NDArray[Any]) -> DenseVotes:
    """Return the votes of a matrix of outcomes, seen from the left; those of a small jury without gaps in short."""
    never = np.empty(0, bool)
    if matrix.dtype.kind == "b":
        matrix = matrix.view(np.int8)
    if matrix.dtype.kind != "i":
        results = _results(matrix.astype(np.float64))
        return DenseVotes(results, never, not results.size or extremes(results)[1] <= FIRST)
    verdicts = _packed(matrix)
    if verdicts is not None:
        return DenseVotes(None, never, True, verdicts)
    results, (low, high) = _copied(matrix)
    if low < -1 or high > 1:
        row, column = np.argwhere((matrix < -1) | (matrix > 1))[0]
        raise InputError(
            f"outcome {matrix[row, column]} in column {column + 1}",
            "expected 1 (left), 0 (right) or -1 (no vote)",
            row=int(row) + 1,
        )
    if low < 0:
        results[results < 0] = MISSING
    return DenseVotes(results, never, low >= 0)


def _packed(matrix: NDArray[Any]) -> Verdicts | None:
    """Return the verdicts of a small jury, where the matrix has a byte each and nothing but sides."""
    n_pairs, n_annotators = matrix.shape
    if not matrix.size or matrix.dtype != np.int8 or not matrix.flags.c_contiguous:
        return None
    if n_annotators > LARGEST_SMALL_JURY:
        return None
    found = np.empty(n_pairs, dtype=np.uint8), np.empty(1 << n_annotators, dtype=np.int64)
    decided = kernels.pack_verdicts(matrix.ravel(), n_annotators, *found, default_threads())
    return Verdicts(*found) if decided else None


def _copied(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], tuple[int, int]]:
    """Return a matrix of integers in a byte each, and bounds of its values."""
    if not matrix.size:
        return matrix.astype(np.int8), (0, 0)
    if matrix.dtype != np.int8 or not matrix.flags.c_contiguous:
        low, high = extremes(matrix)
        return copied(matrix, np.int8), (int(low), int(high))
    results = np.empty(matrix.shape, dtype=np.int8)
    return results, kernels.copy_bounded(matrix.ravel(), results.ravel(), default_threads())


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
        raise InputError(f"outcome {value:g}", _OUTCOMES, row=row + 1)
    return results


def parse_weights(weight: Any) -> FloatArray:
    """Return the weights as numbers; each must be 0, or at least 1e-100 and at most a trillion."""
    column = as_array(weight)
    try:
        weights = column.astype(np.float64)
    except (TypeError, ValueError):
        weights = np.array([np.nan if v is None or not isinstance(v, (int, float)) else v for v in column.tolist()])
    bad = ~((weights == 0) | ((weights >= _LEAST_WEIGHT) & (weights <= _MOST_WEIGHT)))
    if bad.any():
        rows = np.flatnonzero(bad)
        raise bad_weights(repr(column.tolist()[rows[0]]), rows)
    return weights


def bad_weights(value: str, rows: IntArray) -> InputError:
    """Return the error about weights that cannot be used: the first of them as it is shown, and the rows of all."""
    span = f"0, or a number from {_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}"
    expected = f"expected how many votes the row stands for: {span}"
    return InputError(f"weight is {value}", expected, **_places(rows), reason="bad weight")


def parse_ratings(rating: Any) -> NDArray[Any]:
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


def check_lengths(columns: dict[str, Any], of: str = "vote") -> None:
    """Refuse columns of different lengths, and empty ones."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"columns of different length ({found})", f"expected one value for each {of}")
    if not any(lengths.values()):
        raise InputError(f"no {of}s", "expected at least one")


def refuse_missing(name: str, column: Column, of: str = "vote") -> None:
    """Refuse a column of ids in which one is missing."""
    rows = missing_rows(column)
    if len(rows):
        raise InputError(f"{name} is missing", f"every {of} needs an id there", **_places(rows))


def refuse_empty(name: str, column: Column) -> None:
    """Refuse ids that are empty text, as files may have them."""
    if isinstance(column, pl.Series) and (empty := column == "").any():
        raise InputError(f"{name} is missing", "every vote needs an id there", **_places(empty.arg_true().to_list()))


def encode_pairs(left: Column, right: Column) -> tuple[NDArray[Any], Int32Array, Int32Array, bool]:
    """Return the sorted distinct items of pairs, the codes of both, and whether the pairs are sorted and distinct.

    Sorted pairs name the lower item first. Pairs of an item and itself are refused.
    """
    found = encode_small_pairs(left, right)
    if found is None:
        items, (left_code, right_code) = encode(left, right)
        return items, left_code, right_code, refuse_self_pairs(items, left_code, right_code)
    items, (left_code, right_code), in_order = found
    if not in_order:
        _refuse_equal(items, left_code, right_code)
    return items, left_code, right_code, in_order


def refuse_self_pairs(items: NDArray[Any], left: Int32Array, right: Int32Array) -> bool:
    """Refuse a vote on an item and itself; return whether the pairs are sorted and distinct, the lower item first."""
    if kernels.in_order(left, right, default_threads()):
        return True
    _refuse_equal(items, left, right)
    return False


def _refuse_equal(items: NDArray[Any], left: Int32Array, right: Int32Array) -> None:
    if kernels.any_equal(left, right, default_threads()):
        rows = np.flatnonzero(left == right)
        problem = f"{items[left[rows[0]]]!s} is compared with itself"
        raise InputError(problem, "left and right must be different items", **_places(rows), reason=SELF_PAIR)


def fill_questions(column: Column, gaps: bool | None = None) -> Column:
    """Return the questions as text, with missing ones as one question of their own, where any is missing.

    column: From ``as_column``.
    gaps: Whether any is missing, here or in another part of the votes; looked up in this column unless given.
    """
    if not (first_missing(column) is not None if gaps is None else gaps):
        return column
    return as_text(column, of_any_kind=True).fill_null("")


def encode_questions(column: Column | None) -> tuple[NDArray[Any], Int32Array | None]:
    """Return the distinct questions and the code of each vote's question; no codes where there is no column."""
    if column is None:
        return np.array([""], dtype=object), None
    labels, (codes,) = encode(column)
    return labels, codes


def encode_votes(ids: dict[str, Any], others: dict[str, Any]) -> dict[tuple[str, ...], Encoded]:
    """Return labels and codes of the ids of votes: of left and right together, of annotators, and of questions.

    ids: ``left``, ``right``, ``annotator`` and, if need be, ``question``, as they were given.
    others: Whatever else must have one value for each vote.
    """
    every: list[tuple[str, ...]] = [("left", "right"), ("annotator",), ("question",)]
    roles = [role for role in every if role[0] in ids]
    coded = {role: encode_text(*(ids[name] for name in role)) for role in roles}
    columns: dict[str, Column] = {}
    for role, found in coded.items():
        own = [as_column(ids[name]) for name in role] if found is None else found[1]
        columns |= dict(zip(role, own, strict=True))
    if coded.get(("question",), ()) is None:
        columns["question"] = fill_questions(columns["question"])
    check_lengths({**columns, **others})
    for name, column in columns.items():
        refuse_missing(name, column)
    encoded: dict[tuple[str, ...], Encoded] = {("question",): (np.array([""], dtype=object), [None])}
    for role, found in coded.items():
        encoded[role] = found or encode(*(columns[name] for name in role))
    return encoded
