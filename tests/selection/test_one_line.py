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
