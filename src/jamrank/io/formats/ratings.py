"""Ratings: every two items that one annotator rated are a vote for the one rated higher."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.ratings import encode_ratings
from jamrank.errors import InputError
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, RIGHT, TIE
from jamrank.io.formats.table import ANNOTATORS, Table
from jamrank.typing import Int32Array

# More votes than this fit into no memory that a file of ratings should need.
_MOST = 100_000_000
# By the result of a vote: 0 where the second item is rated higher, 1 where the first is, 2 where neither.
_OUTCOMES = np.array([RIGHT, LEFT, TIE], dtype=np.int8)


def read(table: Table) -> Ballots:
    """Read ``annotator,item,rating``; only ratings of one annotator, within one question, are compared."""
    annotator, note = table.annotators("annotator")
    item = table.ids("item" if "item" in table else "item_id")
    name = "rating" if "rating" in table else "score"
    rating = table.numbers(name)
    question, asked = table.asked("question", "question_id", broad=False)
    rated = ~np.isnan(rating)
    _refuse_too_many(annotator.filter(rated), None if question is None else question.filter(rated))
    votes = encode_ratings(item, annotator, rating, question)
    said = _OUTCOMES[votes.results]
    unrated = int((~rated).sum())
    return Ballots(
        _series(votes.annotators, votes.annotator, annotator),
        _series(votes.items, votes.left, item),
        _series(votes.items, votes.right, item),
        said,
        question=None
        if votes.question is None or question is None
        else _series(votes.questions, votes.question, question),
        sides=False,
        set_aside={"no rating": unrated} if unrated else {},
        notes=(note, asked, f"any two ratings by one annotator are a vote: {len(said):,} votes"),
    )


def _series(labels: NDArray[Any], codes: Int32Array, like: pl.Series) -> pl.Series:
    """Return ids as a column: text as categories, since a few ratings make many votes."""
    kind = pl.Enum(labels.tolist()) if like.dtype == pl.String else like.dtype
    return pl.Series(like.name, labels.tolist(), dtype=kind).gather(codes)


def _refuse_too_many(annotator: pl.Series, question: pl.Series | None) -> None:
    columns = [annotator.alias("a"), *([question.alias("q")] if question is not None else [])]
    sizes = pl.DataFrame(columns).group_by(pl.all()).len()["len"].cast(pl.Float64).to_numpy()
    pairs = float((sizes * (sizes - 1) / 2).sum())
    if pairs > _MOST:
        raise InputError(f"the ratings make {pairs:,.0f} votes", "rate within questions, or take fewer ratings")


def fits(table: Table) -> bool:
    """Return whether someone is named who rated, and all ratings are numbers."""
    name = "rating" if "rating" in table else "score"
    return any(who in table for who in ANNOTATORS) and table.is_numeric(name)


FORMAT = Format("ratings", "ratings", ("item|item_id", "rating|score"), read, fits)
