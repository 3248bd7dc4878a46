from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError

LABELS = ("items", "annotators", "questions")


ARRAYS = (
    "pair_first",
    "pair_second",
    "pair_question",
    "vote_start",
    "vote_annotator",
    "vote_result",
    "vote_swapped",
    "vote_weight",
)


def assert_same(a: Comparisons, b: Comparisons, but: tuple[str, ...] = ()) -> None:
    for name in LABELS:
        assert getattr(a, name).tolist() == getattr(b, name).tolist(), name
    for name in ARRAYS:
        if name not in but:
            x, y = getattr(a, name), getattr(b, name)
            assert x.dtype == y.dtype, name
            np.testing.assert_array_equal(x, y, err_msg=name)
    if "n_votes" not in but:
        assert (a.n_votes, a.n_missing) == (b.n_votes, b.n_missing)


def refusal(build, *args, **kwargs) -> InputError:
    with pytest.raises(InputError) as caught:
        build(*args, **kwargs)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.remedy
    return caught.value


def told(votes: Comparisons) -> list[tuple]:
    """Spell out the folded votes as (pair, annotator, result, swapped, weight)."""
    rows = []
    for pair in range(votes.n_pairs):
        first, second = votes.items[votes.pair_first[pair]], votes.items[votes.pair_second[pair]]
        for v in range(votes.vote_start[pair], votes.vote_start[pair + 1]):
            who = votes.annotators[votes.vote_annotator[v]]
            result, swapped = int(votes.vote_result[v]), bool(votes.vote_swapped[v])
            rows.append((first, second, who, result, swapped, float(votes.vote_weight[v])))
    return rows


@st.composite
def ballots(draw, most: int = 30):
    """Rows of (left, right, annotator, outcome, weight, question)."""
    n_items = draw(st.integers(2, 6))
    row = st.tuples(
        st.integers(0, n_items - 1),
        st.integers(1, n_items - 1),
        st.integers(0, 3),
        st.sampled_from([0.0, 1.0, 0.5, np.nan]),
        st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.5]),
        st.sampled_from(["p", "q"]),
    )
    rows = draw(st.lists(row, min_size=1, max_size=most))
    return [(left, (left + step) % n_items, *rest) for left, step, *rest in rows]


def of(rows) -> Comparisons:
    left, right, who, outcome, weight, question = (list(column) for column in zip(*rows, strict=True))
    return Comparisons.from_arrays(left, right, who, outcome, weight, question)


def columns(**extra):
    return {
        "left": ["a", "b", "c"],
        "right": ["b", "c", "a"],
        "annotator": ["x", "y", "x"],
        "winner": ["left", "tie", None],
        **extra,
    }
