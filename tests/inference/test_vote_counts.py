"""Counts of votes in tables are sums of weights without errors of rounding."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.inference.vote_summary import whole_numbers


@pytest.mark.parametrize(
    ("weights", "shown"),
    [
        ([46.00000000000001, 3.0], [46, 3]),
        ([45.99999999999999, 3.0], [46, 3]),
        ([0.1 + 0.2, 3.0], [0.3, 3.0]),
        ([1e-12, 3.0], [1e-12, 3.0]),
    ],
)
def test_sums_are_rounded(weights, shown):
    found = whole_numbers(np.array(weights))
    assert found.tolist() == shown
    assert all(isinstance(one, int) for one in shown) == (found.dtype.kind == "i")


def test_soft_votes_are_counted_in_whole_numbers():
    rng = np.random.default_rng(0)
    share = rng.random(300).round(3)
    who = rng.choice(["x", "y"], 300)
    left, right = np.array([rng.choice(["a", "b", "c"], 2, replace=False) for _ in range(300)]).T
    model = jr.BradleyTerry().fit({"annotator": who, "left": left, "right": right, "p_left": share})
    for frame in (model.pairs_, model.annotators_):
        assert frame["votes"].dtype.is_integer() and frame["votes"].sum() == 300
