"""What a vote may say, and the words for it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.errors import InputError
from jamrank.io import reading
from jamrank.io.documents import shown

__all__ = [
    "ABSTAIN",
    "BOTH_BAD",
    "INCONSISTENT",
    "LEFT",
    "MISSING",
    "NOT_DECIDED",
    "OUTCOMES",
    "RIGHT",
    "TIE",
    "WINNERS",
    "Outcomes",
    "by_words",
    "by_words_or_ids",
    "turned",
]

Outcomes = NDArray[np.int8]

LEFT, RIGHT, TIE, BOTH_BAD, ABSTAIN, INCONSISTENT, MISSING = range(7)
# As people read them, and as the canonical form writes them.
OUTCOMES = ("left", "right", "tie", reading.BOTH_BAD, reading.ABSTAINED, reading.INCONSISTENT, reading.NO_ANSWER)
WINNERS = ("left", "right", "tie", "both_bad", "abstain", "tie", None)

# Words that mean the same wherever they stand.
NOT_DECIDED = {
    "tie": TIE,
    "draw": TIE,
    "both_bad": BOTH_BAD,
    "both bad": BOTH_BAD,
    "bothbad": BOTH_BAD,
    "tie (bothbad)": BOTH_BAD,
    "tie (both bad)": BOTH_BAD,
    "abstain": ABSTAIN,
    "skip": ABSTAIN,
}
_UNKNOWN = -1


def by_words(words: pl.Series, meaning: Mapping[str, int]) -> Outcomes:
    """Return the outcome that each word means; none is guessed.

    Parameters
    ----------
    words : polars.Series
        Text, null where there is no answer; its name is used in errors.
    meaning : mapping
        Outcomes by word.

    Returns
    -------
    ndarray of int8

    Raises
    ------
    InputError
        At the first word without a meaning.
    """
    said = _meant(words, meaning)
    _refuse_unknown(said, words, meaning)
    return said


def by_words_or_ids(words: pl.Series, left: pl.Series, right: pl.Series, meaning: Mapping[str, int]) -> Outcomes:
    """Return outcomes where a word may also be the id of the item that won.

    Parameters
    ----------
    words : polars.Series
        Text, null where there is no answer.
    left, right : polars.Series
        The ids of the items on each side.
    meaning : mapping
        Outcomes by word.

    Returns
    -------
    ndarray of int8

    Raises
    ------
    InputError
        At the first word that is neither, or that could be either.
    """
    said = _meant(words, meaning)
    left, right = left.cast(pl.String), right.cast(pl.String)
    won_left, won_right = ((words == side).fill_null(False).to_numpy() for side in (left, right))
    by_id = np.where(won_left, LEFT, np.where(won_right, RIGHT, _UNKNOWN)).astype(np.int8)
    answered = words.is_not_null().to_numpy()
    called_so = pl.concat([left, right]).unique()
    named = words.is_in(called_so.filter(called_so.is_in(list(meaning))).to_list()).fill_null(False).to_numpy()
    doubt = answered & named & (said != by_id)
    if doubt.any():
        row = int(doubt.argmax())
        problem = f"{words.name} is {shown(words[row])}, which is an outcome and the name of an item"
        raise InputError(problem, "rename the item, or write the winner's id in every row", row=row + 1)
    said = np.where(answered & (by_id != _UNKNOWN), by_id, said).astype(np.int8)
    _refuse_unknown(said, words, meaning, "the id of one of the two items, or ")
    return said


def turned(said: Outcomes, where: NDArray[np.bool_]) -> Outcomes:
    """Return the outcomes with left and right exchanged at some places."""
    return np.where(where & (said <= RIGHT), RIGHT - said, said).astype(np.int8)


def _meant(words: pl.Series, meaning: Mapping[str, int]) -> Outcomes:
    known = words.replace_strict(dict(meaning), default=_UNKNOWN, return_dtype=pl.Int8)
    return np.where(words.is_null().to_numpy(), MISSING, known.fill_null(_UNKNOWN).to_numpy()).astype(np.int8)


def _refuse_unknown(said: Outcomes, words: pl.Series, meaning: Mapping[str, int], more: str = "") -> None:
    wrong = said == _UNKNOWN
    if wrong.any():
        row = int(wrong.argmax())
        expected = more + ", ".join(map(repr, meaning))
        raise InputError(f"{words.name} is {shown(words[row])}", f"expected {expected}", row=row + 1)
