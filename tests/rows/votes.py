from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import jamrank.rows.rows as rows_module
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST, TIE
from jamrank.rows import Patterns, Rows


@st.composite
def tables(draw, outcomes=(0.0, 1.0, 0.5, np.nan)):
    n_items = draw(st.integers(2, 6))
    row = st.tuples(
        st.integers(0, n_items - 1),
        st.integers(1, n_items - 1),
        st.integers(0, 3),
        st.sampled_from(outcomes),
        st.sampled_from([1.0, 1.0, 2.0, 0.5]),
        st.integers(0, 1),
    )
    left, step, who, outcome, weight, question = zip(*draw(st.lists(row, min_size=1, max_size=30)), strict=True)
    right = [(a + b) % n_items for a, b in zip(left, step, strict=True)]
    return Comparisons.from_arrays(left, right, who, outcome, weight, question)


def votes_of(votes: Comparisons, pair: int) -> list[tuple[int, bool, float]]:
    """Decided votes on a pair, as (annotator, first won, weight)."""
    at = slice(votes.vote_start[pair], votes.vote_start[pair + 1])
    columns = votes.vote_annotator[at], votes.vote_result[at], votes.vote_weight[at]
    return [(int(a), bool(r == FIRST), float(w)) for a, r, w in zip(*columns, strict=True) if r != TIE]


def votes_in(rows: Rows, row: int) -> list[tuple[int, bool, float]]:
    ballots = rows.ballots
    place = ballots.of_row[row] if isinstance(ballots, Patterns) else row
    at = slice(ballots.start[place], ballots.start[place + 1])
    vote_counts = ballots.vote[at]
    weight = ballots.weight[at] if len(ballots.weight) else np.ones(len(vote_counts))
    return list(zip((vote_counts // 2).tolist(), (vote_counts % 2 == 1).tolist(), weight.tolist(), strict=True))


def rows_of(votes: Comparisons, kind: str) -> Rows:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "few_patterns", lambda votes: kind == "patterns")
        return Rows._find_per_pair(votes, 1)


def pairs_of(rows: Rows, votes: Comparisons) -> np.ndarray:
    return np.arange(votes.n_pairs)[rows.pair]


KINDS = pytest.mark.parametrize("kind", ["patterns", "lists"])
