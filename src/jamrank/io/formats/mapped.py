"""Any table, with the columns named by the user."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from jamrank.errors import InputError, ParameterError
from jamrank.io.formats.base import Ballots, shared_weights, soft_votes
from jamrank.io.formats.outcomes import LEFT, NOT_DECIDED, RIGHT, Outcomes, by_words_or_ids
from jamrank.io.formats.table import Table

__all__ = ["ROLES", "check_mapping", "read_mapped"]

ROLES = ("left", "right", "winner", "p_left", "chosen", "rejected", "annotator", "question", "weight")
_WAYS = ({"left", "right", "winner"}, {"left", "right", "p_left"}, {"chosen", "rejected"})
_LETTERS = {"a": LEFT, "b": RIGHT, "A": LEFT, "B": RIGHT, "model_a": LEFT, "model_b": RIGHT}


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Make sure that a mapping says enough, and nothing twice.

    Raises
    ------
    ParameterError
        If it does not.
    """
    unknown = [role for role in mapping if role not in ROLES]
    if unknown:
        raise ParameterError(f"mapping has {unknown[0]!r}; known are {', '.join(ROLES)}")
    given = set(mapping) & {"left", "right", "winner", "p_left", "chosen", "rejected"}
    if given not in _WAYS:
        ways = "left, right and winner; left, right and p_left; or chosen and rejected"
        raise ParameterError(f"mapping has {', '.join(mapping) or 'nothing'}; expected {ways}")


def read_mapped(table: Table, mapping: Mapping[str, str]) -> Ballots:
    """Read a table by the user's own words.

    Parameters
    ----------
    table : Table
        The file.
    mapping : mapping
        Columns by what they mean: ``left``, ``right`` and ``winner`` (``left``, ``right``, ``tie``, … , the name
        of either column, or the id of the item that won), or ``p_left`` in place of ``winner`` (1: left won, 0:
        right, between: a soft vote), or ``chosen`` and ``rejected``; and ``annotator``, ``question``, ``weight``.

    Returns
    -------
    Ballots
    """
    check_mapping(mapping)
    for role, column in mapping.items():
        if column not in table and "." not in column:
            columns = ", ".join(map(repr, table.columns[:20]))
            raise InputError(f"--map {role}={column}: no such column among {columns}", "check the name")
    sides = "chosen" not in mapping
    left = table.ids(mapping["left" if sides else "chosen"])
    right = table.ids(mapping["right" if sides else "rejected"])
    row, share = np.arange(len(table)), None
    if "p_left" in mapping:
        row, said, share = soft_votes(table.numbers(mapping["p_left"], 0.0, 1.0))
    elif sides:
        said = _outcomes(table, mapping, left, right)
    else:
        said = np.full(len(table), LEFT, dtype=np.int8)
    annotator, note = _annotators(table, mapping)
    question = table.ids(mapping["question"], missing="").gather(row) if "question" in mapping else None
    weight = table.weights(mapping["weight"]) if "weight" in mapping else None
    return Ballots(
        annotator.gather(row),
        left.gather(row),
        right.gather(row),
        said,
        shared_weights(weight, row, share),
        question,
        row,
        sides,
        notes=(note,) if note else (),
    )


def _annotators(table: Table, mapping: Mapping[str, str]) -> tuple[pl.Series, str]:
    if "annotator" in mapping:
        return table.ids(mapping["annotator"]), ""
    return table.unnamed()


def _outcomes(table: Table, mapping: Mapping[str, str], left: pl.Series, right: pl.Series) -> Outcomes:
    items = set(pl.concat([left.cast(pl.String), right.cast(pl.String)]).unique())
    meaning = {mapping["left"]: LEFT, mapping["right"]: RIGHT, "left": LEFT, "right": RIGHT, **NOT_DECIDED}
    # Where an item is called A, that is who won, and not where it stood.
    meaning = {word: side for word, side in _LETTERS.items() if word not in items} | meaning
    words = table.words(mapping["winner"])
    try:
        return by_words_or_ids(words, left, right, meaning)
    except InputError as error:
        remedy = f"{error.remedy}; a column of 1 (left) and 0 is mapped as p_left"
        raise InputError(error.problem, remedy, row=error.row) from None
