"""Any table, with the columns named by the user."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.errors import InputError, ParameterError
from jamrank.io.formats.base import Ballots, soft_votes
from jamrank.io.formats.grades import GRADED, graded_note, grades_of_margins, grades_of_words
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, TIE, VERDICTS, Outcomes, by_words_or_ids
from jamrank.io.formats.table import Table

# What a form may have beside who was compared and who won: named alone, they go with a form that is recognised.
FURTHER = ("annotator", "question", "weight")
_SCORES = ("left_score", "right_score")
ROLES = ("left", "right", "winner", "p_left", "margin", *_SCORES, "chosen", "rejected", *FURTHER)
_WAYS = (
    {"left", "right", "winner"},
    {"left", "right", "p_left"},
    {"left", "right", "margin"},
    {"left", "right", *_SCORES},
    {"chosen", "rejected"},
)


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Make sure that a mapping says enough, and nothing twice.

    Raises ParameterError: If it does not.
    """
    unknown = [role for role in mapping if role not in ROLES]
    if unknown:
        raise ParameterError(f"mapping has {unknown[0]!r}; known are {', '.join(ROLES)}")
    if not mapping or not any(set(mapping) <= {*way, *FURTHER} for way in _WAYS):
        raise ParameterError(_expected(mapping))


def _expected(mapping: Mapping[str, str]) -> str:
    ways = "left, right and winner (or p_left, margin, left_score and right_score); or chosen and rejected"
    return f"mapping has {', '.join(mapping) or 'nothing'}; expected {ways}"


def completed(table: Table, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping with what it leaves out, by the columns that are called so.

    Raises InputError: If there are no such columns.
    """
    given = {role for role in mapping if role not in FURTHER}
    there = {role: role for role in ROLES if role in table}
    if "label" in table:  # crowd-kit's winner
        there.setdefault("winner", "label")
    way = next((way for way in _WAYS if given <= way and all(role in mapping or role in there for role in way)), None)
    if way is None:
        problem, _, remedy = _expected(mapping).partition("; ")
        raise InputError(problem, remedy)
    return {**{role: there[role] for role in sorted(way) if role not in mapping}, **mapping}


def read_mapped(table: Table, mapping: Mapping[str, str], whole: bool = True) -> Ballots:
    """Read a table by the user's own words.

    table: The file.
    mapping: Columns by what they mean: ``left``, ``right`` and ``winner`` (``left``, ``right``, ``tie``, … , the name
        of either column, or the id of the item that won), or ``p_left`` in place of ``winner`` (1: left won, 0:
        right, between: a soft vote), ``margin`` (a Likert scale: above 0 left is better) or ``left_score`` and
        ``right_score``, or ``chosen`` and ``rejected``; and ``annotator``, ``question``, ``weight``.
    whole: Whether the mapping says all there is; otherwise annotators, questions and weights are looked for as in any
        form.
    """
    check_mapping(mapping)
    sides = "chosen" not in mapping
    left = table.ids(mapping["left" if sides else "chosen"])
    right = table.ids(mapping["right" if sides else "rejected"])
    p_left = grade = None
    if "p_left" in mapping:
        said, p_left = soft_votes(table.numbers(mapping["p_left"], 0.0, 1.0))
    elif "margin" in mapping:
        said, grade = grades_of_margins(table.numbers(mapping["margin"]))
    elif "left_score" in mapping:
        said, grade = grades_of_margins(np.subtract(*(table.numbers(mapping[name]) for name in _SCORES)))
    elif sides:
        said, grade = _outcomes(table, mapping, left, right)
    else:
        said = np.full(len(table), LEFT, dtype=np.int8)
    annotator, note = table.unnamed() if whole and "annotator" not in mapping else table.annotators()
    if whole:
        question, asked = table.questions(), "" if "question" in mapping else table.unasked(mapping.values())
    else:
        question, asked = table.asked("question")
    weight = None if whole and "weight" not in mapping else table.weights()
    return Ballots(
        annotator,
        left,
        right,
        said,
        weight,
        question,
        sides=sides,
        notes=(note, asked, graded_note(grade)),
        p_left=p_left,
        grade=grade,
    )


def _outcomes(
    table: Table, mapping: Mapping[str, str], left: pl.Series, right: pl.Series
) -> tuple[Outcomes, NDArray[np.int8] | None]:
    items = set(pl.concat([side.unique().cast(pl.String) for side in (left, right)]))
    meaning = {"left": LEFT, "right": RIGHT, mapping["left"]: LEFT, mapping["right"]: RIGHT, **NOT_DECIDED}
    # Where an item is called A, that is who won, and not where it stood.
    meaning |= {word: side for word, side in {**VERDICTS, **GRADED}.items() if word not in items and len(word) > 1}
    words = table.words(mapping["winner"])
    others = {word.lower() for word in set(words.drop_nulls().unique()) - items}
    letters = _letters(mapping["left"], mapping["right"], others)
    # Beside H, an A is in doubt even where an item is called so.
    meant = letters if "h" in others else {word: letters[word] for word in letters.keys() - items}
    meaning |= {word: side for word, side in meant.items() if word not in meaning}
    try:
        said = by_words_or_ids(words, left, right, meaning, table.user_words)
    except InputError as error:
        remedy = f"{error.remedy}; a column of 1 (left) and 0 is mapped as p_left"
        raise error.but(remedy=remedy) from None
    return said, grades_of_words(words, said)


def _letters(left: str, right: str, said: set[str]) -> dict[str, int]:
    """Return what single letters mean: A and B for the first and the second item; or home win, away win and draw.

    left, right: The names of the columns.
    said: The words for the winner in lower case, without ids.
    """
    if {left[:4].lower(), right[:4].lower()} == {"home", "away"} and "b" not in said:
        letters = {left[0].lower(): LEFT, right[0].lower(): RIGHT, "d": TIE}
    else:  # beside H, an A is not the first item
        letters = {} if "h" in said else {"a": LEFT, "b": RIGHT}
    letters |= {letter.upper(): side for letter, side in letters.items()}
    return {**letters, "model_a": LEFT, "model_b": RIGHT}
