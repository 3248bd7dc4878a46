from __future__ import annotations

from hypothesis import given

from jamrank.rows import Rows
from tests.rows.votes import tables


@given(tables())
def test_edges_are_where_each_pair_of_items_begins_whatever_the_question(votes):
    for rows in (Rows.per_pair(votes), Rows.per_vote(votes)):
        pairs = list(zip(rows.first.tolist(), rows.second.tolist(), strict=True))
        assert [pairs[at] for at in rows.edges] == sorted(set(pairs))
        assert [pairs.index(pair) for pair in sorted(set(pairs))] == rows.edges.tolist()
