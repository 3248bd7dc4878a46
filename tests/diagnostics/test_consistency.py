from __future__ import annotations

import numpy as np

from jamrank.data.comparisons import Comparisons
from jamrank.diagnostics.consistency import self_consistency
from jamrank.diagnostics.sides import sides


def test_votes_of_one_annotator_for_both_items_contradict_each_other():
    votes = Comparisons.from_arrays(
        ["a", "b", "a", "a", "a", "b"],
        ["b", "a", "b", "b", "c", "c"],
        ["x", "x", "y", "y", "x", "x"],
        [1, 1, 1, 1, 1, 1],
    )
    found = self_consistency(votes)
    assert found.repeated.tolist() == [1, 1]
    assert found.contradicted.tolist() == [1, 0]
    assert found.cancelled.tolist() == [2, 0]


def test_the_same_pair_under_another_question_is_no_repetition():
    votes = Comparisons.from_arrays(["a", "a"], ["b", "b"], ["x", "x"], [1, 0], question=["p", "q"])
    found = self_consistency(votes)
    assert found.repeated.tolist() == [0]
    assert found.contradicted.tolist() == [0]


def test_circles_are_counted_for_each_annotator_and_question():
    left, right = ["a", "b", "c"], ["b", "c", "a"]
    votes = Comparisons.from_arrays(
        left * 4, right * 4, ["x"] * 6 + ["y"] * 6, [1, 1, 1] * 3 + [1, 1, 0], question=(["p"] * 3 + ["q"] * 3) * 2
    )
    found = self_consistency(votes)
    assert found.circular.tolist() == [2, 1]
    assert found.ordered.tolist() == [0, 1]


def test_a_jury_is_looked_at_like_the_same_votes_one_by_one():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(7, 1)
    outcomes = rng.integers(-1, 2, (len(first), 3)).astype(np.int8)
    jury = Comparisons.from_matrix(second, first, outcomes)
    crowd = Comparisons.from_frame(jury.to_frame())
    a, b = self_consistency(jury), self_consistency(crowd)
    for name in ("repeated", "contradicted", "cancelled", "circular", "ordered"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist()
    assert sides(jury).left.tolist() == sides(crowd).left.tolist()
    assert sides(jury).share_left == (outcomes == 1).sum() / (outcomes >= 0).sum()
