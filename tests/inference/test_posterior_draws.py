from __future__ import annotations

import numpy as np

import jamrank as jr


def test_draws_know_of_gold():
    rows = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("c", "a")] * 3
    left, right = zip(*rows, strict=True)
    votes = jr.Comparisons.from_arrays(left, right, [k % 3 for k in range(len(rows))], np.ones(len(rows)))
    above = []
    for gold in ([("c", "a")], None, [("a", "c")]):
        draws = jr.JAM().fit(votes, gold=gold).score_draws(2000)
        above.append((draws[:, 0] > draws[:, 2]).mean())
    assert above[0] + 0.1 < above[1] < above[2] - 0.1
