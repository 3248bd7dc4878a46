"""Intervals of flips are withheld where they would not hold: shared errors, and tastes that hide errors."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.report import Analysis, findings
from jamrank.simulation import Tastes

SENTENCE = "The errors of the annotators are correlated: intervals of flips are withheld."


def votes_with_shared_errors(shared: float, seed: int = 2) -> jr.Comparisons:
    """Let three of seven annotators err on the same pairs to some extent, and an eighth toss a coin."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(40, 1)
    together = rng.random(len(first)) < 0.25
    errs = rng.random((7, len(first))) < 0.25
    errs[:3] = np.where(rng.random((3, len(first))) < shared, together, errs[:3])
    right = np.vstack([~errs, rng.random(len(first)) < 0.5])
    who = np.repeat(np.arange(8), len(first))
    return jr.Comparisons.from_arrays(np.tile(first, 8), np.tile(second, 8), who, right.ravel().astype(int))


@pytest.mark.parametrize("model", [jr.CrowdBT(), jr.JAM(), jr.BradleyTerry()])
def test_shared_errors_leave_no_intervals_of_flips(model, tmp_path):
    votes = votes_with_shared_errors(0.6)
    frame = model.fit(votes).annotators_
    assert frame["flip_low"].null_count() == frame["flip_high"].null_count() == 8
    assert frame["flip"].null_count() == 0
    assert not frame["evidence"].str.contains("between").any()
    intervals = model.result_.flip_intervals(0.9)
    assert intervals["flip_low"].null_count() == 8
    told = " ".join(findings(Analysis(model.result_, votes)))
    assert "Intervals of flips are withheld, all others here are too narrow" in told
    model.save(tmp_path / "m.jamrank")
    assert jr.load(tmp_path / "m.jamrank").annotators_.equals(frame)


def test_a_coin_tosser_among_them_is_still_called_random():
    found = jr.CrowdBT().fit(votes_with_shared_errors(0.6, seed=3)).annotators_
    assert found["flip_low"].null_count() == 8
    assert dict(zip(found["annotator"], found["verdict"], strict=True))[7] == "random"


def test_a_small_correlation_is_named_without_the_caution_on_all_intervals():
    votes = votes_with_shared_errors(0.6, seed=0)
    model = jr.CrowdBT().fit(votes)
    assert 0.9 * 8 < model.effective_judges_ < 0.975 * 8
    told = findings(Analysis(model.result_, votes))
    assert SENTENCE in told
    assert not any("Caution" in line or "nearly independent" in line for line in told)


def test_independent_errors_have_intervals():
    votes = votes_with_shared_errors(0.0)
    model = jr.CrowdBT().fit(votes)
    assert model.annotators_["flip_low"].null_count() == 0
    assert "withheld" not in " ".join(findings(Analysis(model.result_, votes)))


def test_a_model_of_hard_pairs_keeps_its_intervals():
    model = jr.JAM(noise="difficulty").fit(votes_with_shared_errors(0.6))
    assert model.annotators_["flip_low"].null_count() == 0


def test_wide_tastes_that_nobody_shares_hide_errors():
    tastes = Tastes(own_sd=6.0)
    drawn = jr.simulate(10, 5, 4000, truth="vote", flips=[0.1] * 5, spread=1.5, tastes=tastes, random_state=0)
    model = jr.FamilyBT(families={}, n_draws=96).fit(drawn.votes)
    frame = model.annotators_
    assert frame["flip_low"].null_count() == 5
    assert set(frame["verdict"]) == {"unresolved"}
    told = " ".join(findings(Analysis(model.result_, drawn.votes)))
    assert "errors cannot be told from them: intervals of flips are withheld" in told
    assert "errors look like tastes" in told
    assert "reliable" not in told
