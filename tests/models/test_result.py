"""What every result promises: one object, small surface, files, pickles, Auto like any model."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import NotFittedError, NotStoredError, ParameterError

VOTES = jr.simulate(10, 5, 400, random_state=3).votes
OLD = Path(__file__).parent / "model-version-1.json"

pytestmark = pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")


def public(model: object) -> list[str]:
    return [name for name in dir(model) if not name.startswith("_")]


def ours(model: object) -> list[type]:
    return [kind for kind in type(model).__mro__ if kind.__module__.startswith("jamrank")]


def test_a_fitted_jam_is_small():
    model = jr.JAM().fit(VOTES)
    assert len(public(model)) <= 45, public(model)
    assert len(ours(model)) <= 4
    assert set(vars(model)) == {*model.get_params(), "_result"}


@pytest.mark.parametrize("name", ["JAM", "CrowdBT", "AmElo", "DawidSkene", "WinRate", "MajorityVote", "Auto"])
def test_copies_answer_what_the_model_answers(name):
    model = getattr(jr, name)().fit(VOTES)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.ranking_.equals(model.ranking_)
        assert again.annotators_.equals(model.annotators_)
        assert again.pairs_.equals(model.pairs_)
        assert again.top(3).equals(model.top(3))
        np.testing.assert_array_equal(again.vote_proba(VOTES), model.vote_proba(VOTES))


def test_saving_starts_no_computation(tmp_path):
    model = jr.JAM().fit(VOTES)
    model.save(tmp_path / "m.jamrank")
    result = model.result_
    assert "estimate" not in vars(result.uncertainty) and "draws" not in vars(result.inference)
    assert "posterior" not in vars(result.predictor) and "flip_range" not in vars(result.annotators)
    again = jr.load(tmp_path / "m.jamrank")
    assert again.ranking_.equals(model.ranking_) and again.top(3).equals(model.top(3))


def test_without_votes_a_loaded_model_has_what_was_computed_or_says_why_not(tmp_path, monkeypatch):
    from jamrank.models import files

    monkeypatch.setattr(files, "_MOST_VOTES", 10)
    model = jr.CrowdBT().fit(VOTES)
    model.save(tmp_path / "bare.jamrank")
    bare = jr.load(tmp_path / "bare.jamrank")
    assert bare.predict_proba("item0", "item1") == model.predict_proba("item0", "item1")
    with pytest.raises(NotStoredError, match="fit again"):
        _ = bare.ranking_
    ranking, annotators, top = model.ranking_, model.annotators_, model.top(2)
    model.save(tmp_path / "full.jamrank")
    full = jr.load(tmp_path / "full.jamrank")
    assert full.ranking_.equals(ranking) and full.annotators_.equals(annotators) and full.top(2).equals(top)


def test_auto_is_as_good_as_the_model_that_it_chose(tmp_path):
    auto = jr.Auto().fit(VOTES)
    assert auto.result_ is auto.model_.result_
    assert auto.ranking_on("elo").equals(auto.model_.ranking_on("elo"))
    warm = jr.JAM().fit(VOTES, start=auto)
    np.testing.assert_allclose(warm.scores_, jr.JAM().fit(VOTES).scores_, atol=0.02)
    assert auto._repr_html_().count("<table") == 2 and "item" in str(auto)
    auto.save(tmp_path / "auto.jamrank")
    again = jr.load(tmp_path / "auto.jamrank")
    assert again.chosen_ == auto.chosen_ and again.reason_ == auto.reason_
    assert again.ranking_.equals(auto.ranking_)
    assert len(public(auto)) <= 50 and "__getattr__" not in vars(jr.Auto)
    with pytest.raises(NotFittedError, match="fit"):
        _ = jr.Auto().chosen_


def test_messages_say_what_cannot_be():
    rates = jr.WinRate().fit(VOTES)
    with pytest.raises(ParameterError, match=r"^WinRate scores are not log-odds; Elo is undefined for them\.$"):
        rates.ranking_on("elo")
    with pytest.raises(ParameterError, match=r"^WinRate cannot be used as a warm start\.$"):
        jr.JAM().fit(VOTES, start=rates)


def test_a_fitted_model_prints_the_head_of_its_ranking():
    model = jr.JAM().fit(VOTES)
    first = model.items_[np.argmax(model.scores_)]
    lines = str(model).splitlines()
    assert lines[0] == repr(model) == "JAM()" and first in lines[2] and len(lines) == 12
    assert "draws" not in vars(model.result_.inference)
    assert str(jr.JAM()) == "JAM()"


def test_one_interval_everywhere():
    model = jr.CrowdBT().fit(VOTES)
    ranking, intervals = model.ranking_, model.score_intervals()
    for column in ("score_low", "score_high"):
        assert ranking[column].to_list() == intervals[column].to_list()


def test_models_of_the_first_version_still_load():
    model = jr.load(OLD)
    assert type(model) is jr.JAM and model.ranking_["item"].to_list() == ["a", "b", "c"]
    assert model.annotators_["annotator"].to_list() == ["ann", "bob"]
    assert len(model.pairs_) == 3 and 0.5 < model.predict_proba("a", "c")[0] < 1
    with pytest.raises(NotStoredError, match="fit again"):
        model.top(1)


def test_the_engine_that_really_ran_is_named():
    assert jr.JAM(engine="memory").fit(VOTES).result_.convergence.engine == "memory"
    from jamrank.kernels.gpu_device import gpu_available

    if not gpu_available():
        ended = jr.JAM(engine="gpu").fit(VOTES).result_.convergence
        assert ended.engine == "memory" and "gpu" in ended.engine_reason
