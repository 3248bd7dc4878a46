"""Covariates stay with their votes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.data.covariates import covariate_of
from jamrank.data.periods import N_PERIODS


def written(votes: jr.Comparisons) -> list[tuple]:
    """Return the votes as rows, sorted."""
    return sorted(votes.to_frame().fill_null(0).rows())


def test_votes_are_folded_only_if_covariates_are_equal():
    votes = jr.Comparisons.from_arrays(
        ["a", "a", "b", "a"], ["b", "b", "a", "b"], ["k"] * 4, [1, 1, 0, 1], covariates={"x": [1.0, 2.0, 3.0, 1.0]}
    )
    assert votes.n_folded == 3
    frame = votes.to_frame().sort("x")
    assert frame["x"].to_list() == [1.0, 2.0, 3.0]
    assert frame["weight"].to_list() == [2.0, 1.0, 1.0]
    assert frame["left"].to_list() == ["a", "a", "b"]
    assert covariate_of(votes, "side").tolist() == [1.0] * 3


@pytest.mark.parametrize("seed", range(3))
def test_random_votes_come_back(seed):
    rng = np.random.default_rng(seed)
    n = 200
    frame = pl.DataFrame(
        {
            "annotator": rng.choice(list("xyz"), n),
            "left": rng.integers(0, 3, n),
            "right": rng.integers(3, 6, n),
            "winner": rng.choice(["left", "right", "tie"], n),
            "question": rng.choice(["p", "q"], n),
            "grade": rng.integers(0, 3, n),
            "u": rng.integers(0, 3, n).astype(float),
            "v": rng.standard_normal(n).round(1),
            "time": np.arange(n),
        }
    )
    votes = jr.Comparisons.from_frame(frame, ["u", "v"])
    back = jr.Comparisons.from_frame(votes.to_frame(), ["u", "v"])
    assert written(votes) == written(back)
    names = ["annotator", "left", "right", "winner", "question", "u", "v"]
    expected = frame.group_by(names).agg(pl.len().alias("n").cast(pl.Float64)).sort(names)
    found = votes.to_frame().group_by(names).agg(pl.col("weight").sum().alias("n")).sort(names)
    assert expected.rows() == found.rows()
    # Every vote is in the period in which it was cast.
    share = votes.storage.table.period
    assert share.shape == (len(votes.vote_result), N_PERIODS)
    np.testing.assert_allclose(share.sum(axis=1), votes.vote_weight)
    np.testing.assert_allclose(share.sum(axis=0), n / N_PERIODS)


def test_soft_votes_keep_their_covariates():
    votes = jr.Comparisons.from_arrays(
        ["a"] * 3, ["b"] * 3, ["k"] * 3, [0.7, 0.2, 0.7], covariates={"x": [5.0, 1.0, -1.0]}
    )
    frame = votes.to_frame().sort("x")
    assert frame["x"].to_list() == [-1.0, 1.0, 5.0]
    np.testing.assert_allclose(frame["p_left"].to_numpy(), [0.7, 0.2, 0.7])


def test_some_of_the_votes():
    votes = jr.Comparisons.from_arrays(["a", "b"], ["b", "c"], ["k", "l"], [1, 0], covariates={"x": [1.0, 2.0]})
    assert covariate_of(votes.only(votes.vote_annotator == 1), "x").tolist() == [2.0]
