from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jamrank.data.color_refinement import signatures
from tests.data.votes import ballots, of


@given(ballots(), st.permutations(range(6)), st.permutations(range(4)))
def test_names_of_items_and_annotators_change_no_hash(rows, item, annotator):
    renamed = [(item[left], item[right], annotator[who], *rest) for left, right, who, *rest in rows]
    (votes, of_annotator), (again, of_renamed) = signatures(of(rows)), signatures(of(renamed))
    assert sorted(votes.tolist()) == sorted(again.tolist())
    assert sorted(of_annotator.tolist()) == sorted(of_renamed.tolist())


def test_who_won_against_whom_counts():
    chain = [("a", "b", "x", 1, 1, ""), ("b", "c", "x", 1, 1, "")]
    fork = [("a", "b", "x", 1, 1, ""), ("c", "b", "x", 1, 1, "")]
    assert sorted(signatures(of(chain))[0].tolist()) != sorted(signatures(of(fork))[0].tolist())
