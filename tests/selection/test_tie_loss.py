"""How well ties are predicted, apart from decided votes."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.selection import compare


def test_ties_are_scored_apart_and_decided_votes_given_that_they_are_decided():
    drawn = jr.simulate(8, 3, 900, ties=[0.6] * 3, noise="none", truth="vote", spread=1.5, random_state=0)
    models = {"ties": jr.BradleyTerry(), "none": jr.BradleyTerry(ties="leave out"), "shares": jr.WinRate()}
    found = compare(drawn.votes, models=models, folds=3)
    rows = {row["model"]: row for row in found.table.iter_rows(named=True) if row["split"] == "vote"}
    assert np.isnan(rows["none"]["tie_loss"]) and np.isnan(rows["shares"]["tie_loss"])
    share = drawn.votes.n_ties / drawn.votes.n_votes
    usual = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert rows["ties"]["tie_loss"] < usual
    # Both predict who wins where somebody does, so neither is charged for ties.
    assert rows["ties"]["log_loss"] == pytest.approx(rows["none"]["log_loss"], abs=0.02)


def test_votes_without_ties_have_no_such_column():
    found = compare(jr.simulate(6, 3, 300, random_state=1).votes, models=[jr.BradleyTerry()], folds=2)
    assert "tie_loss" not in found.table.columns


def test_a_soft_vote_is_scored_by_its_probability():
    left, right = np.array(["a", "b", "a"] * 40), np.array(["b", "c", "c"] * 40)
    votes = jr.Comparisons.from_arrays(left, right, np.repeat([f"x{k}" for k in range(40)], 3), [0.8, 0.7, 0.9] * 40)
    found = compare(votes, models={"bt": jr.BradleyTerry()}, folds=4)
    row = next(row for row in found.table.iter_rows(named=True) if row["split"] == "vote")
    entropy = -np.mean([p * np.log(p) + (1 - p) * np.log(1 - p) for p in (0.8, 0.7, 0.9)])
    assert row["log_loss"] == pytest.approx(entropy, abs=0.03)
