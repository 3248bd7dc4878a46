"""Votes that say more than who won: a probability, or a grade of how much better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.covariates import covariate_of
from jamrank.data.folding import EncodedVotes
from jamrank.data.ids import Column, as_array, is_missing
from jamrank.data.storage import FIRST, SECOND, SOFT, TIE
from jamrank.errors import InputError
from jamrank.typing import FloatArray

if TYPE_CHECKING:
    from jamrank.data.comparisons import Comparisons

MOST_GRADES = 9
_GRADES = f"expected a whole number from 1 to {MOST_GRADES}, higher for a clearer win, or nothing"
_SOFT = "expected the probability that left is better, from 0 to 1, or nothing"


def parse_soft(column: Column) -> FloatArray:
    """Return the probability of each soft vote; NaN where a vote is not soft."""
    return _numbers(column, "p_left", _SOFT, lambda values: (values >= 0) & (values <= 1))


def parse_grades(column: Column) -> NDArray[np.int8]:
    """Return the grade of each vote; 0 where it has none."""
    whole = _numbers(
        column,
        "grade",
        _GRADES,
        lambda values: (values == np.floor(values)) & (values >= 0) & (values <= MOST_GRADES),
    )
    return np.nan_to_num(whole).astype(np.int8)


def grades_of_winners(grades: NDArray[np.int8] | None, results: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Return the grades of decided votes, and none of others; None where there are none."""
    if grades is None or not grades.any():
        return None
    return np.where(results <= FIRST, grades, np.int8(0)).astype(np.int8)


def _numbers(column: Column, name: str, expected: str, good: Any) -> FloatArray:
    if isinstance(column, pl.Series) and column.dtype.is_numeric():
        values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    else:
        given = as_array(column).tolist()
        values = np.array([_number(value, row, name, expected) for row, value in enumerate(given)], dtype=np.float64)
    bad = ~np.isnan(values) & ~good(values)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{name} is {values[row]:g}", expected, row=row + 1)
    return np.asarray(values)


def _number(value: Any, row: int, name: str, expected: str) -> float:
    if is_missing(value) or value == "":
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}", expected, row=row + 1) from None


def refuse_graded(columns: Iterable[str]) -> None:
    """Refuse a table of graded or soft votes where votes are not in memory."""
    found = [name for name in ("p_left", "grade") if name in columns]
    if found:
        raise InputError(
            f"a column {found[0]!r}: soft and graded votes are fitted in memory only",
            "use engine='memory', or leave the column out",
        )


def spell_out(votes: EncodedVotes, p_left: FloatArray) -> tuple[EncodedVotes, int]:
    """Return every soft vote as two parts that share its weight, and how many soft votes there are.

    The parts are marked as soft, so that nothing takes them for two votes. A probability of 0 or 1 is a plain vote.
    """
    results = np.where(p_left == 1, FIRST, np.where(p_left == 0, SECOND, votes.results)).astype(np.int8)
    soft = (p_left > 0) & (p_left < 1)
    if not soft.any():
        return replace(votes, results=results), 0
    at = np.repeat(np.arange(len(soft)), 1 + soft)
    halved = soft[at]
    n_soft = int(soft.sum())
    results = results[at]
    results[halved] = np.tile(np.array([FIRST, SECOND], dtype=np.int8), n_soft)
    share = np.where(halved, np.where(results == FIRST, p_left[at], 1.0 - p_left[at]), 1.0)
    grades = np.zeros(len(soft), dtype=np.int8) if votes.grades is None else votes.grades
    spelled = replace(
        votes,
        left=votes.left[at],
        right=votes.right[at],
        annotator=votes.annotator[at],
        question=None if votes.question is None else votes.question[at],
        results=results,
        weights=share if votes.weights is None else votes.weights[at] * share,
        grades=np.where(halved, np.int8(SOFT), grades[at]).astype(np.int8),
        covariates=None if votes.covariates is None else votes.covariates[at],
    )
    return spelled, n_soft


def exact_duplicates(votes: Comparisons) -> int:
    """Return how many votes repeat another in everything; of soft votes that is not known, and they do not count."""
    soft = votes.vote_soft
    n_soft = round(float(votes.vote_weight[soft].sum())) if soft.any() else 0
    return max(votes.n_votes - n_soft - int(np.count_nonzero(~soft)), 0)


def canonical_columns(votes: Comparisons) -> dict[str, Any]:
    """Return the folded votes as columns of the canonical form, each as it was shown; a soft vote is one row."""
    swapped, result, weight, soft = votes.vote_swapped, votes.vote_result, votes.vote_weight, votes.vote_soft
    left_won = (result == FIRST) ^ swapped
    p_left = np.full(len(result), np.nan)
    shown = np.ones(len(result), dtype=bool)
    if soft.any():
        # The two parts of a soft vote: the same pair, annotator, sides and covariates.
        covariates = votes.storage.table.covariate.T
        place = np.lexsort((result, *covariates, swapped, votes.vote_annotator, votes.vote_pair))
        place = place[soft[place]]
        second, first = place[::2], place[1::2]
        weight = weight.copy()
        total = weight[first] + weight[second]
        for_first = np.divide(weight[first], total, out=np.full(len(total), 0.5), where=total > 0)
        weight[first], shown[second] = total, False
        p_left[first] = np.where(swapped[first], 1.0 - for_first, for_first)
        left_won = np.where(soft, p_left > 0.5, left_won)
    pair = votes.vote_pair[shown]
    first_item, second_item = votes.items[votes.pair_first[pair]], votes.items[votes.pair_second[pair]]
    turned = swapped[shown]
    columns = {
        "annotator": votes.annotators[votes.vote_annotator[shown]],
        "left": np.where(turned, second_item, first_item),
        "right": np.where(turned, first_item, second_item),
        "winner": np.where(result == TIE, "tie", np.where(left_won, "left", "right"))[shown],
        "weight": weight[shown],
    }
    if votes.has_questions:
        columns["question"] = votes.questions[votes.pair_question[pair]]
    if soft.any():
        columns["p_left"] = _with_gaps(p_left[shown], ~np.isnan(p_left[shown]))
    if votes.n_grades:
        grade = np.maximum(votes.vote_grade[shown], 0)
        columns["grade"] = _with_gaps(grade, grade > 0)
    return columns | {name: covariate_of(votes, name)[shown] for name in votes.covariates}


def _with_gaps(values: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    gaps = np.empty(len(values), dtype=object)
    gaps[:] = [value if there else None for value, there in zip(values.tolist(), known, strict=True)]
    return gaps
