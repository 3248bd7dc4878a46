"""A noise, a scorer and a model from outside the package: one file and one line in a registry each."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import ParameterError
from jamrank.models import MODELS, find_model
from jamrank.noise import NOISES
from jamrank.scorers import SCORERS, ObjectScorer, ScorerSpec

VOTES = jr.simulate(12, 5, 600, truth="vote", random_state=1).votes

pytestmark = pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")


def test_a_noise_from_outside(tmp_path):
    from examples import shared_flip

    assert "shared flip" in NOISES
    model = jr.JAM(noise="shared flip").fit(VOTES)
    assert model.converged_ and np.ptp(model.flip_) == 0 and 0 < model.flip_[0] < 0.5
    low, high = model.result_.annotators.flip_range
    assert (low < model.flip_).all() and (model.flip_ < high).all()
    model.save(tmp_path / "m.jamrank")
    assert jr.load(tmp_path / "m.jamrank").ranking_.equals(model.ranking_)
    assert shared_flip.SharedFlip.__name__ == "SharedFlip"


def test_a_model_from_outside(tmp_path):
    import examples.shared_model  # noqa: F401

    model = find_model("anonymousbt")().fit(VOTES)
    assert model.result_.spec.noise == "shared flip" and len(model.ranking_on("elo")) == 12
    model.save(tmp_path / "m.jamrank")
    assert type(jr.load(tmp_path / "m.jamrank")) is MODELS["AnonymousBT"]
    MODELS.unregister("AnonymousBT")
    sys.modules.pop("examples.shared_model", None)  # whoever imports it next registers it again


def test_a_scorer_from_outside():
    class Firm(ObjectScorer):
        """Free scores that are drawn to 0 four times as strongly."""

        def __init__(self, n_items, variance, centre=None):
            super().__init__(n_items, None if variance is None else variance / 4, centre)

    SCORERS.register("firm", ScorerSpec(lambda n, state: Firm(n, state.score_variance, state.centre), effects=True))
    try:
        prior = jr.Prior(score_variance=2.0)
        firm = jr.JAM(scorer="firm", prior=prior, flips="joint").fit(VOTES).scores_
        same = jr.JAM(scorer="objects", prior=jr.Prior(score_variance=0.5), flips="joint").fit(VOTES).scores_
        np.testing.assert_allclose(firm, same, atol=1e-4)
    finally:
        SCORERS.unregister("firm")
    with pytest.raises(ParameterError, match="scorer is 'firm'"):
        jr.JAM(scorer="firm").fit(VOTES)
