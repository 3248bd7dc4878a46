"""Ratings: every two items that one annotator rated are a vote for the one rated higher."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError
from jamrank.io.formats.base import Ballots, Format
from jamrank.io.formats.outcomes import LEFT, RIGHT, TIE
from jamrank.io.formats.table import ANNOTATORS, Table
from jamrank.typing import Int32Array

__all__ = ["FORMAT"]

# More votes than this fit into no memory that a file of ratings should need.
_MOST = 100_000_000


def read(table: Table) -> Ballots:
    """Read ``annotator,item,rating``; only ratings of one annotator, within one question, are compared."""
    annotator, note = table.annotators("annotator")
    item = table.ids("item" if "item" in table else "item_id")
    name = "rating" if "rating" in table else "score"
    rating = table.numbers(name)
    question = table.questions("question", "question_id")
    rated = ~np.isnan(rating)
    _refuse_too_many(annotator.filter(rated), None if question is None else question.filter(rated))
    votes = Comparisons.from_ratings(item, annotator, rating, question)
    pair = votes.vote_pair
    said = np.where(votes.vote_result == 2, TIE, np.where(votes.vote_result == 1, LEFT, RIGHT)).astype(np.int8)
    unrated = int((~rated).sum())
    weight = votes.vote_weight
    return Ballots(
        _series(votes.annotators, votes.vote_annotator, annotator),
        _series(votes.items, votes.pair_first[pair], item),
        _series(votes.items, votes.pair_second[pair], item),
        said,
        np.array(weight) if (weight != 1).any() else None,
        None if question is None else _series(votes.questions, votes.pair_question[pair], question),
        sides=False,
        set_aside={"no rating": unrated} if unrated else {},
        notes=tuple(filter(None, [note, f"every two ratings by one annotator are a vote: {len(said):,} votes"])),
    )


def _series(labels: NDArray[Any], codes: Int32Array, like: pl.Series) -> pl.Series:
    return pl.Series(like.name, labels.tolist(), dtype=like.dtype).gather(codes)


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
