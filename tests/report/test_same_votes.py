"""Same votes of annotators who cannot be named from copies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
from jamrank.data.copies import log_chance_of_same_counts
from jamrank.report import Analysis, findings


def votes_of(who: list[str], truth: str) -> jr.Comparisons:
    """Return votes of annotators on the same 150 pairs, each drawn anew but for the last, who copies the first."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=12)
    left = rng.integers(0, 12, 150)
    right = (left + rng.integers(1, 12, 150)) % 12
    p = expit(score[left] - score[right])
    rows = [rng.random(150) < p if truth == "vote" else p > 0.5 for _ in who[:-1]]
    won = np.array([*rows, rows[0]])
    n = len(who)
    return jr.Comparisons.from_arrays(
        np.tile(left, n), np.tile(right, n), np.repeat(who, 150), won.ravel().astype(float)
    )


@pytest.mark.parametrize("who", [["a", "b"], ["a", "b", "c"]])
def test_same_votes_are_said_to_be_copies_or_hardly_ever_wrong(who: list[str]) -> None:
    votes = votes_of(who, "vote")
    named = [line for line in findings(Analysis(jr.BradleyTerry().fit(votes).result_, votes)) if "the same" in line]
    assert len(named) == 1
    assert named[0].startswith(f"a and {who[-1]} cast the same 150 votes, which BradleyTerry cannot explain")
    assert f"--without {who[-1]}" in named[0]


def test_nothing_is_said_where_annotators_hardly_err() -> None:
    votes = votes_of(["a", "b"], "pair")
    assert not [line for line in findings(Analysis(jr.JAM().fit(votes).result_, votes)) if "the same" in line]
    three = votes_of(["a", "b", "c"], "vote")
    others = three.only(three.vote_annotator < 2)
    assert not [
        line for line in findings(Analysis(jr.BradleyTerry().fit(others).result_, others)) if "the same" in line
    ]


@pytest.mark.parametrize("n_votes", [60, 600])
def test_equal_counts_of_many_votes_on_a_pair_are_an_accident(n_votes: int) -> None:
    who = np.repeat(["a", "b", "c", "d"], n_votes)
    won = np.tile(np.arange(n_votes) % 3 > 0, 4)
    votes = jr.Comparisons.from_arrays(np.full(len(won), "x"), np.full(len(won), "y"), who, won.astype(float))
    assert not [
        line for line in findings(Analysis(jr.BradleyTerry().fit(votes).result_, votes)) if "the same" in line
    ]


def test_the_chance_of_same_counts_is_that_of_drawn_ones() -> None:
    p, cast = np.array([0.7, 0.4]), np.array([1.0, 5.0])
    drawn = np.random.default_rng(0).binomial(cast.astype(int), p, (200_000, 3, 2))
    share = float((drawn == drawn[:, :1]).all(axis=(1, 2)).mean())
    assert abs(np.exp(log_chance_of_same_counts(p, cast, 3)) - share) < 4 * np.sqrt(share / 200_000)
