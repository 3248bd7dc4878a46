from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jamrank.data import folding
from jamrank.data.comparisons import Comparisons
from jamrank.data.folding import mixed_radix
from jamrank.data.storage import FIRST, SECOND, TIE
from tests.data.votes import assert_same, ballots, of, refusal, told


@given(ballots(), st.data())
def test_weight_two_equals_the_vote_written_twice(rows, data):
    chosen = data.draw(st.integers(0, len(rows) - 1))
    left, right, who, outcome, weight, question = rows[chosen]
    doubled = [*rows]
    doubled[chosen] = (left, right, who, outcome, 2 * weight, question)
    assert_same(of(doubled), of([*rows, rows[chosen]]), but=("n_votes",))


def test_equal_votes_fold_into_a_weight_and_are_still_counted():
    votes = Comparisons.from_arrays(["a"] * 3, ["b"] * 3, ["x"] * 3, [1, 1, 0])
    assert told(votes) == [("a", "b", "x", SECOND, False, 1.0), ("a", "b", "x", FIRST, False, 2.0)]
    assert votes.n_votes == 3


def test_ties_are_kept_as_ties_whichever_side_was_shown():
    votes = Comparisons.from_arrays(["a", "b"], ["b", "a"], ["x", "y"], [0.5, 0.5])
    assert votes.vote_result.tolist() == [TIE, TIE]
    assert votes.n_ties == 2.0


@st.composite
def ratings(draw):
    """Rows of (item, annotator, rating, question); an item may be rated more than once."""
    rating = st.sampled_from([1.0, 2.0, 2.5, 3.0, np.nan, None])
    row = st.tuples(st.sampled_from("edcba"), st.sampled_from("zyx"), rating, st.sampled_from(["p", "q", None]))
    return draw(st.lists(row, min_size=1, max_size=25))


def rated(rows) -> Comparisons:
    item, annotator, rating, question = (list(column) for column in zip(*rows, strict=True))
    return Comparisons.from_ratings(item, annotator, rating, question)


def pair_by_pair(rows) -> list[tuple]:
    """Spell out the votes (left, right, annotator, outcome, question) of ratings by a double loop."""
    known = [(item, who, rating, question or "") for item, who, rating, question in rows if rating == rating]
    known = [row for row in known if row[2] is not None]
    return [
        (left, right, who, 0.5 if high == low else float(high > low), question)
        for left, who, high, question in known
        for right, other, low, topic in known
        if left < right and (who, question) == (other, topic)
    ]


@given(ratings())
def test_ratings_are_a_vote_for_every_two_items_of_an_annotator(rows):
    votes = pair_by_pair(rows)
    if not votes:
        refusal(rated, rows)
        return
    left, right, who, outcome, question = (list(column) for column in zip(*votes, strict=True))
    assert_same(rated(rows), Comparisons.from_arrays(left, right, who, outcome, question=question))


@given(ratings(), st.randoms(use_true_random=False))
def test_the_order_of_ratings_changes_nothing(rows, random):
    if pair_by_pair(rows):
        assert_same(rated(rows), rated(random.sample(rows, len(rows))))


def test_the_higher_rating_wins_and_equal_ratings_tie():
    votes = Comparisons.from_ratings(["b", "a", "c", "a", "c"], ["x", "x", "x", "y", "y"], [5, 3, 5, 2, 1])
    assert told(votes) == [
        ("a", "b", "x", SECOND, False, 1.0),
        ("a", "c", "x", SECOND, False, 1.0),
        ("a", "c", "y", FIRST, False, 1.0),
        ("b", "c", "x", TIE, False, 1.0),
    ]
    assert (votes.n_votes, votes.n_missing, votes.n_ties) == (4, 0, 1.0)


def test_an_item_rated_twice_is_compared_twice_but_not_with_itself():
    votes = Comparisons.from_ratings(["a", "b", "a"], ["x"] * 3, [1, 2, 3])
    assert told(votes) == [("a", "b", "x", SECOND, False, 1.0), ("a", "b", "x", FIRST, False, 1.0)]


def test_what_is_compared_with_nothing_is_not_there():
    votes = Comparisons.from_ratings(
        ["a", "b", "alone", "unrated"], ["x", "x", "single", "x"], [1.0, 2.0, 3.0, np.nan], ["q", "q", "r", "q"]
    )
    assert votes.items.tolist() == ["a", "b"]
    assert votes.annotators.tolist() == ["x"]
    assert votes.questions.tolist() == ["q"]
    assert (votes.n_votes, votes.n_missing) == (1, 0)


def test_ratings_are_compared_within_a_question_only():
    votes = Comparisons.from_ratings([1, 2, 2, 3], ["x"] * 4, [5, 4, 1, 2], question=["p", "p", "q", "q"])
    assert told(votes) == [(1, 2, "x", FIRST, False, 1.0), (2, 3, "x", SECOND, False, 1.0)]
    assert votes.questions[votes.pair_question].tolist() == ["p", "q"]


@pytest.mark.parametrize(
    "rating",
    [
        [2, 1, None],
        pd.Series([2, 1, None], dtype="Int64"),
        pl.Series([2, 1, None]),
        pl.Series([2, 1, None], dtype=pl.UInt8),
        [Decimal(2), Fraction(1, 2), float("nan")],
        np.array([2.0, 1.0, np.nan], dtype=np.float16),
        [True, False, pd.NA],
    ],
    ids=lambda rating: type(rating).__name__,
)
def test_ratings_of_any_kind_of_number_may_be_missing(rating):
    votes = Comparisons.from_ratings(["a", "b", "c"], ["x"] * 3, rating)
    assert told(votes) == [("a", "b", "x", FIRST, False, 1.0)]


def test_whole_ratings_are_compared_as_they_are():
    for rating in ([2**60 + 1, 2**60], np.array([200, 100], dtype=np.uint8), np.array([True, False])):
        assert told(Comparisons.from_ratings(["a", "b"], ["x"] * 2, rating))[0][3] == FIRST


@given(st.data())
def test_mixed_radix_sorts_like_the_digits_even_past_63_bits(data):
    radices = data.draw(st.lists(st.sampled_from([2, 1000, 2**31 - 1, 2**31, 2**40]), min_size=1, max_size=5))
    n = data.draw(st.integers(1, 8))
    rows = [tuple(data.draw(st.sampled_from([0, 1, r // 2, r - 1])) for r in radices) for _ in range(n)]
    digits = [(np.array([row[d] for row in rows], dtype=np.int64), radix) for d, radix in enumerate(radices)]
    key, bound = mixed_radix(digits)
    assert key.dtype == np.int64
    assert (key >= 0).all()
    assert bound <= 2**63
    assert (key < bound).all()
    for a in range(n):
        for b in range(n):
            assert (key[a] < key[b], key[a] == key[b]) == (rows[a] < rows[b], rows[a] == rows[b])


def test_folding_does_not_depend_on_how_wide_the_key_is(monkeypatch):
    rng = np.random.default_rng(1)
    left, step, who, outcome, question = rng.integers(0, [[9], [8], [5], [2], [4]], (5, 400))
    rows = left, (left + 1 + step) % 9, who, outcome, np.ones(400), question
    plain = Comparisons.from_arrays(*rows)
    monkeypatch.setattr(folding, "mixed_radix", lambda digits: mixed_radix([(d, max(r, 2**31)) for d, r in digits]))
    assert_same(plain, Comparisons.from_arrays(*rows))
