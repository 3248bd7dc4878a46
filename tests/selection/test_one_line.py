from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.errors import ParameterError


@pytest.fixture(scope="module")
def table():
    return jr.simulate(6, 4, 300, random_state=1).votes.to_frame()


def test_one_line_is_the_same_as_reading_and_fitting(table, tmp_path):
    path = tmp_path / "votes.csv"
    table.write_csv(path)
    expected = jr.CrowdBT().fit(jr.read_comparisons(path))
    for votes in (path, str(path), table, table.to_dicts(), jr.read_comparisons(path)):
        np.testing.assert_allclose(jr.fit(votes, "crowdbt").scores_, expected.scores_, atol=1e-9)
        np.testing.assert_allclose(jr.CrowdBT().fit(votes).scores_, expected.scores_, atol=1e-9)
    assert isinstance(jr.fit(table), jr.Auto)


def test_columns_are_named_and_annotators_left_out(table):
    renamed = table.rename({"left": "one", "right": "two", "winner": "who", "annotator": "judge name"})
    columns = {"left": "one", "right": "two", "winner": "who", "annotator": "judge name", "weight": "weight"}
    model = jr.fit(renamed, "bt", mapping=columns, without=table["annotator"][0])
    kept = table.filter(pl.col("annotator") != table["annotator"][0])
    np.testing.assert_allclose(model.scores_, jr.BradleyTerry().fit(kept).scores_, atol=1e-9)


def test_parameters_of_the_model(table):
    assert jr.fit(table, "JAM", noise="two-coin").get_params()["noise"] == "two-coin"
    given = jr.JAM()
    assert jr.fit(table, given, noise="two-coin").get_params()["noise"] == "two-coin"
    assert given.get_params()["noise"] == "flip"  # left as it is
    with pytest.raises(ParameterError, match="BradleyTerry has no parameter 'nose'"):
        jr.fit(table, "bt", nose=1)
    with pytest.raises(ParameterError, match="unknown model"):
        jr.fit(table, "best")
    with pytest.raises(ParameterError, match="expected the name of a model"):
        jr.fit(table, 7)


@pytest.mark.parametrize("model", ["BradleyTerry", "AmElo"])
def test_annotators_of_a_named_model_without_flips_are_assessed_by_crowd_bt(model):
    votes = jr.simulate(10, 6, 1500, truth="vote", flips=[0.05, 0.05, 0.1, 0.1, 0.5, 0.9], random_state=0).votes
    found, crowd = jr.fit(votes, model), jr.CrowdBT().fit(votes)
    assert "CrowdBT" in found.result_.judged_by
    assert found.annotators_["verdict"].to_list() == crowd.annotators_["verdict"].to_list()
    assert found.annotators_["verdict"].to_list()[5] == "adversarial"
    assert jr.fit(votes, "CrowdBT").result_.judged_by == ""
