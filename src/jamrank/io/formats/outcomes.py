"""What a vote may say, and the words for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.ids import places_in_categories
from jamrank.errors import InputError
from jamrank.io import read_log
from jamrank.io.documents import shown
from jamrank.kernels.in_threads import taken
from jamrank.typing import BoolArray

Outcomes = NDArray[np.int8]

LEFT, RIGHT, TIE, BOTH_BAD, ABSTAIN, INCONSISTENT, MISSING = range(7)
# As people read them, and as the canonical form writes them.
OUTCOMES = ("left", "right", "tie", read_log.BOTH_BAD, read_log.ABSTAINED, read_log.INCONSISTENT, read_log.NO_ANSWER)
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
    "neither": BOTH_BAD,
    "equal": TIE,
    "same": TIE,
    "both_good": TIE,
    "both good": TIE,
    "bothgood": TIE,
    "tie (bothgood)": TIE,
    "abstain": ABSTAIN,
    "skip": ABSTAIN,
    "skipped": ABSTAIN,
}
# Judges' verdicts on answers A and B, shown left and right, and how strongly they prefer one.
VERDICTS = {
    "a": LEFT,
    "b": RIGHT,
    "[[a]]": LEFT,
    "[[b]]": RIGHT,
    "[[c]]": TIE,
    "a>b": LEFT,
    "b>a": RIGHT,
    "a=b": TIE,
    "b=a": TIE,
    "a>>b": LEFT,
    "b>>a": RIGHT,
    "[[a>b]]": LEFT,
    "[[b>a]]": RIGHT,
    "[[a=b]]": TIE,
    "[[a>>b]]": LEFT,
    "[[b>>a]]": RIGHT,
}
_UNKNOWN = -1
# What the words of a user may mean, as the canonical form writes it.
MEANINGS = {"left": LEFT, "right": RIGHT, "tie": TIE, "both_bad": BOTH_BAD, "abstain": ABSTAIN}
_NOTHING: Mapping[str, int] = {}
# Of more words than this, an error names the first: of known and of unknown ones.
_FEW_WORDS, _FEW_UNKNOWN = 8, 3


def by_words(words: pl.Series, meaning: Mapping[str, int], user_words: Mapping[str, int] = _NOTHING) -> Outcomes:
    """Return the outcome that each word means, in capitals or not; none is guessed.

    Parameters
    ----------
    words : polars.Series
        Text, null where there is no answer; its name is used in errors.
    meaning : mapping
        Outcomes by word.
    user_words : mapping, optional
        Outcomes by words of the user's own, which go first.

    Returns
    -------
    ndarray of int8

    Raises
    ------
    InputError
        At the first word without a meaning.
    """
    said = _meant(words, {**meaning, **user_words})
    _refuse_unknown(said, words, meaning)
    return said


def by_words_then_ids(
    words: pl.Series,
    left: pl.Series,
    right: pl.Series,
    meaning: Mapping[str, int],
    user_words: Mapping[str, int] = _NOTHING,
) -> tuple[Outcomes, str]:
    """Return outcomes by words or, where not all are words for one, as :func:`by_words_or_ids` does; and a note.

    words, left, right, meaning, user_words: As there.
    Returns said, note (empty where words were enough).
    """
    said = _exactly(words, {**meaning, **user_words})
    if (said != _UNKNOWN).all():
        return said, ""
    said = by_words_or_ids(words, left, right, meaning, user_words)
    names = pl.concat([side.unique().cast(pl.String) for side in (left, right)]).unique().to_list()
    return said, "winners are named by their ids" if words.unique().cast(pl.String).is_in(names).any() else ""


def by_words_or_ids(
    words: pl.Series,
    left: pl.Series,
    right: pl.Series,
    meaning: Mapping[str, int],
    user_words: Mapping[str, int] = _NOTHING,
) -> Outcomes:
    """Return outcomes where a word may also be the id of the item that won.

    Parameters
    ----------
    words : polars.Series
        Text, null where there is no answer.
    left, right : polars.Series
        The ids of the items on each side.
    meaning : mapping
        Outcomes by word.
    user_words : mapping, optional
        Outcomes by words of the user's own, which go first.

    Returns
    -------
    ndarray of int8

    Raises
    ------
    InputError
        At the first word that is neither, or that could be either.
    """
    if all(isinstance(column.dtype, pl.Enum) for column in (words, left, right)):
        ids = {name for side in (left, right) for name in categories_of(side)}
        if not ids & {*categories_of(words)}:
            said = _meant(words, meaning, {name.lower() for name in ids})
            by_user = _exactly(words, user_words)
            said = np.where(by_user != _UNKNOWN, by_user, said).astype(np.int8)
            _refuse_unknown(said, words, meaning, "the id of one of the two items, or ")
            return said
    words, left, right = (column.cast(pl.String) for column in (words, left, right))
    won_left, won_right = ((words == side).fill_null(False).to_numpy() for side in (left, right))
    by_id = np.where(won_left, LEFT, np.where(won_right, RIGHT, _UNKNOWN)).astype(np.int8)
    answered = words.is_not_null().to_numpy()
    called_so = pl.concat([left, right]).unique()
    said = _meant(words, meaning, {str(name).lower() for name in called_so})
    named = words.is_in(called_so.filter(called_so.is_in(list(meaning))).to_list()).fill_null(False).to_numpy()
    by_user = _exactly(words, user_words)
    doubt = answered & named & (said != by_id) & (by_user == _UNKNOWN)
    if doubt.any():
        row = int(doubt.argmax())
        problem = f"{words.name} is {shown(words[row])}, which is an outcome and the name of an item"
        raise InputError(problem, "rename the item, or write the winner's id in every row", row=row + 1, rows=())
    said = np.where(answered & (by_id != _UNKNOWN), by_id, said).astype(np.int8)
    said = np.where(by_user != _UNKNOWN, by_user, said).astype(np.int8)
    _refuse_unknown(said, words, meaning, "the id of one of the two items, or ")
    return said


def categories_of(column: pl.Series) -> pl.Series:
    """Return the categories of a column of fixed ones."""
    assert isinstance(column.dtype, pl.Enum)
    return column.dtype.categories


def turned(said: Outcomes, where: BoolArray) -> Outcomes:
    """Return the outcomes with left and right exchanged at some places."""
    return np.where(where & (said <= RIGHT), RIGHT - said, said).astype(np.int8)


def _meant(words: pl.Series, meaning: Mapping[str, int], called: Collection[str] = ()) -> Outcomes:
    """Return what words mean; capitals do not matter where no item is called so."""
    said = _exactly(words, meaning)
    if (said != _UNKNOWN).all():
        return said
    others = words.filter(pl.Series(said == _UNKNOWN)).unique().to_list()
    small = {word: word.lower() for word in others if word.lower() in meaning and word.lower() not in called}
    return _exactly(words, {**meaning, **{word: meaning[same] for word, same in small.items()}}) if small else said


def _exactly(words: pl.Series, meaning: Mapping[str, int]) -> Outcomes:
    if not meaning:
        return np.where(words.is_null().to_numpy(), MISSING, _UNKNOWN).astype(np.int8)
    return looked_up(words, meaning, _UNKNOWN, MISSING)


def looked_up(words: pl.Series, value: Mapping[str, int], otherwise: int, missing: int) -> NDArray[np.int8]:
    """Return a small number for each word: its value, or `otherwise`; and `missing` where there is none."""
    if isinstance(words.dtype, pl.Enum):
        categories = categories_of(words).to_list()
        table = np.array([*(value.get(word, otherwise) for word in categories), missing], dtype=np.int8)
        return taken(table, places_in_categories(words, len(categories)))
    known = words.replace_strict(dict(value), default=otherwise, return_dtype=pl.Int8).fill_null(otherwise)
    return np.where(words.is_null().to_numpy(), missing, known.to_numpy()).astype(np.int8)


def _refuse_unknown(said: Outcomes, words: pl.Series, meaning: Mapping[str, int], more: str = "") -> None:
    wrong = said == _UNKNOWN
    if wrong.any():
        row = int(wrong.argmax())
        listed = [*map(repr, list(meaning)[:_FEW_WORDS]), *(["…"] if len(meaning) > _FEW_WORDS else [])]
        unknown = words.filter(pl.Series(wrong)).unique(maintain_order=True).to_list()[:_FEW_UNKNOWN]
        plain = [word if re.fullmatch(r"[\w.-]{1,20}", word) else "WORD" for word in unknown]
        defined = ",".join(f"{word}=SIDE" for word in dict.fromkeys(plain))
        remedy = (
            f"expected {more}{', '.join(listed)}; define {'a word' if len(unknown) == 1 else 'words'} with --winner "
            f"{defined}: left, right, tie, both_bad or abstain (winner_words= in Python)"
        )
        if all(word != word.strip() and word.strip().lower() in meaning for word in unknown):
            remedy = f"remove the spaces around it, as after commas, for {unknown[0].strip()!r}; ids have them, too"
        rows = (np.flatnonzero(wrong) + 1).tolist()
        problem = f"{words.name} is {shown(words[row])}"
        raise InputError(problem, remedy, row=row + 1, rows=rows, reason=f"unknown {words.name}")
