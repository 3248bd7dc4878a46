"""Ratings on an ordinal scale as votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jamrank.data.folding import EncodedVotes, compare_ratings
from jamrank.data.ids import as_column, encode, keep_used, take
from jamrank.data.parsing import check_lengths, encode_questions, fill_questions, parse_ratings, refuse_missing
from jamrank.errors import InputError


def encode_ratings(item: Any, annotator: Any, rating: Any, question: Any) -> EncodedVotes:
    """Return the votes that ratings imply, as :meth:`jamrank.Comparisons.from_ratings` has them."""
    columns = {"item": as_column(item), "annotator": as_column(annotator)}
    if question is not None:
        columns["question"] = fill_questions(as_column(question))
    ratings = parse_ratings(rating)
    check_lengths({**columns, "rating": ratings}, "rating")
    for name, column in columns.items():
        refuse_missing(name, column, "rating")
    rated = ~np.isnan(ratings)
    ratings, columns = ratings[rated], {name: take(column, rated) for name, column in columns.items()}
    items, (item_code,) = encode(columns["item"])
    annotators, (annotator_code,) = encode(columns["annotator"])
    questions, question_code = encode_questions(columns.get("question"))
    asked = np.zeros(len(ratings), dtype=np.int32) if question_code is None else question_code
    left, right, who, about, results = compare_ratings(ratings, item_code, len(items), annotator_code, asked)
    if not len(left):
        raise InputError(
            "no two ratings to compare",
            "expected an annotator who rated at least two different items"
            + ("" if question is None else " within one question"),
        )
    items, (left, right) = keep_used(items, left, right)
    annotators, (who,) = keep_used(annotators, who)
    questions, (about,) = keep_used(questions, about)
    return EncodedVotes(items, annotators, questions, left, right, who, about, results, None)
