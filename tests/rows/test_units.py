from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from jamrank.data.storage import TIE
from jamrank.rows import ROWS_BY, Rows
from tests.rows.votes import tables


@given(tables())
def test_rows_about_ties_are_all_votes_by_whether_they_are_ties(votes):
    rows = ROWS_BY["tie"](votes, 1)
    assert rows.about == "tie" and rows.single_votes
    tied = votes.vote_result == TIE
    for said, chosen in enumerate((~tied, tied)):
        expected = np.bincount(votes.vote_annotator[chosen], votes.vote_weight[chosen], votes.n_annotators)
        np.testing.assert_allclose(rows.vote_counts[:, said], expected)
    decided = Rows.per_vote(votes)
    pairs = {(int(a), int(b)) for a, b in zip(rows.first, rows.second, strict=True)}
    assert {(int(a), int(b)) for a, b in zip(decided.first, decided.second, strict=True)} <= pairs


@pytest.mark.parametrize("kind", ["pair-by-side", "vote-by-side"])
@given(votes=tables())
def test_rows_by_side_have_two_coins_an_annotator(kind, votes):
    rows = ROWS_BY[kind](votes, 1)
    assert rows.n_confusion_groups == 2 * votes.n_annotators
    for side, shown in enumerate((~votes.vote_swapped, votes.vote_swapped)):
        for said in (0, 1):
            chosen = shown & (votes.vote_result == said)
            expected = np.bincount(votes.vote_annotator[chosen], votes.vote_weight[chosen], votes.n_annotators)
            np.testing.assert_allclose(rows.vote_counts[side::2, said], expected)
