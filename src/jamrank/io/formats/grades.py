"""How clearly an item won: from words such as A>>B or "much better", from a margin, or from two scores."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.soft import MOST_GRADES
from jamrank.io.formats.outcomes import LEFT, MISSING, RIGHT, TIE, Outcomes, looked_up
from jamrank.typing import FloatArray

_SLIGHT = ("slightly", "somewhat", "marginally", "a bit", "a little")
_STRONG = ("much", "far", "a lot", "significantly", "clearly", "strongly")
_HEDGED = {**dict.fromkeys(_SLIGHT, 1), "": 2, **dict.fromkeys(_STRONG, 3)}
_SIDES = {LEFT: ("a", "left", "model_a", "model a"), RIGHT: ("b", "right", "model_b", "model b")}
# Of margins without whole numbers, grades are parts of equal size.
_PARTS = 3


def _phrases() -> tuple[dict[str, int], dict[str, int]]:
    """Return what graded phrases mean, and their level."""
    said: dict[str, int] = {"about the same": TIE, "the same": TIE, "equally good": TIE, "no preference": TIE}
    level: dict[str, int] = {}
    for how, grade in _HEDGED.items():
        of_left = {LEFT: [f"{how} better"], RIGHT: [f"{how} worse"]}
        for side, names in _SIDES.items():
            spoken = [f"{name}{verb} {how} better" for name in names for verb in ("", " is")] + of_left[side]
            for phrase in spoken:
                plain = " ".join(phrase.split())
                said[plain], level[plain] = side, grade
    return said, level


GRADED, _LEVEL = _phrases()


def grades_of_words(words: pl.Series, said: Outcomes) -> NDArray[np.int8] | None:
    """Return how clearly each winner won, from 1; None where the words do not differ in that.

    words: As they are in the file.
    said: What they mean.
    """
    distinct = words.unique().drop_nulls().to_list()
    levels = {word: _level(word) for word in distinct}
    return _ranked(np.where(said <= RIGHT, looked_up(words, levels, 0, 0), 0)) if any(levels.values()) else None


def _level(word: str) -> int:
    plain = " ".join(word.lower().split())
    if (arrows := re.fullmatch(r"(?:\[\[)?[ab](>+)[ab](?:\]\])?", plain)) is not None:
        return len(arrows.group(1))
    return _LEVEL.get(plain, 0)


def grades_of_margins(margin: FloatArray) -> tuple[Outcomes, NDArray[np.int8] | None]:
    """Return outcomes and grades of numbers: above 0 left is better, below 0 right, at 0 neither.

    A few distinct sizes (a Likert scale, differences of marks) are the grades; of more, the grades are three parts of
    equal size.
    """
    said = np.select([np.isnan(margin), margin > 0, margin < 0], [MISSING, LEFT, RIGHT], TIE).astype(np.int8)
    size = np.round(np.abs(np.where(said <= RIGHT, margin, 0.0)), 9)
    distinct = np.unique(size[size > 0])
    if len(distinct) > MOST_GRADES:
        edges = np.quantile(size[size > 0], np.arange(1, _PARTS) / _PARTS)
        return said, _ranked(np.where(size > 0, 1 + np.searchsorted(edges, size, side="left"), 0))
    return said, _ranked(np.where(size > 0, 1 + np.searchsorted(distinct, size), 0))


def _ranked(level: NDArray[np.integer]) -> NDArray[np.int8] | None:
    levels = np.unique(level[level > 0])
    if len(levels) < 2:
        return None
    return np.where(level > 0, 1 + np.searchsorted(levels, level), 0).astype(np.int8)


def graded_note(grade: NDArray[np.int8] | None) -> str:
    """Return a note of how many votes have which grade; empty where none has."""
    if grade is None:
        return ""
    counts = np.bincount(grade[grade > 0])[1:]
    listed = ", ".join(f"{count:,} of grade {k + 1}" for k, count in enumerate(counts.tolist()))
    return f"graded votes: {listed}"
