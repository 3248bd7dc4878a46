from __future__ import annotations

import math

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import ParameterError, UnknownItemError


@pytest.fixture(scope="module", params=["polars", "pandas"])
def model(request) -> jr.JAM:
    frame = jr.simulate(n_items=6, n_annotators=3, n_votes=200, random_state=0).frame
    return jr.JAM().fit(jr.Comparisons.from_frame(frame.to_pandas() if request.param == "pandas" else frame))


def column(frame, name: str) -> np.ndarray:
    return np.asarray(frame[name].to_list(), dtype=float)


def test_elo_is_400_points_for_ten_to_one(model):
    plain, elo = model.ranking_, model.ranking_on("elo", anchor="item2")
    points = 400 / math.log(10)
    assert list(elo.columns) == list(plain.columns)
    assert elo["item"].to_list() == plain["item"].to_list()
    at = elo["item"].to_list().index("item2")
    assert column(elo, "score")[at] == pytest.approx(1000)
    np.testing.assert_allclose(np.diff(column(elo, "score")), points * np.diff(column(plain, "score")))
    np.testing.assert_allclose(column(elo, "score_se"), points * column(plain, "score_se"))
    assert column(elo, "rank_low").tolist() == column(plain, "rank_low").tolist()


def test_without_an_anchor_the_mean_is_1000(model):
    assert column(model.ranking_on("elo"), "score").mean() == pytest.approx(1000)
    assert column(model.ranking_on("logit", anchor="item0"), "score").tolist() == pytest.approx(
        (column(model.ranking_, "score") - model.scores_[0]).tolist()
    )


def test_a_scale_that_cannot_be_is_refused(model):
    with pytest.raises(UnknownItemError, match="anchor x"):
        model.ranking_on("elo", anchor="x")
    with pytest.raises(ParameterError, match="scale is 'glicko'"):
        model.ranking_on("glicko")
    votes = jr.Comparisons.from_arrays(["a"], ["b"], ["x"], [1])
    with pytest.raises(ParameterError, match="not log-odds"):
        jr.Borda().fit(votes).ranking_on("elo")
