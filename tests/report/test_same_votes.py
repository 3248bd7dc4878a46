"""Same votes of annotators who cannot be named from copies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import jamrank as jr
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
