from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jamrank.data.comparisons import Comparisons
from tests.data.votes import assert_same, columns


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"weight": [1.0, 2.0, 0.5]},
        {"question": ["q", None, "p"]},
        {"question": [3, None, 4]},
        {"left": [1, 2, 3], "right": [2, 3, 1]},
        {"annotator": [dt.datetime(2024, 1, d) for d in (1, 2, 3)]},
    ],
    ids=str,
)
def test_pandas_polars_and_arrow_frames_say_the_same(extra):
    from_polars = Comparisons.from_frame(pl.DataFrame(columns(**extra)))
    from_pandas = Comparisons.from_frame(pd.DataFrame(columns(**extra)))
    from_arrow = Comparisons.from_frame(pa.table(columns(**extra)))
    assert_same(from_polars, from_pandas)
    assert_same(from_polars, from_arrow)


@pytest.mark.parametrize("kind", ["string", "category", object])
def test_any_pandas_text_column_may_leave_the_winner_open(kind):
    frame = pd.DataFrame(columns()).astype({"winner": kind})
    assert_same(Comparisons.from_frame(frame), Comparisons.from_frame(pl.DataFrame(columns())))


def test_answers_come_in_the_kind_of_frame_that_was_given():
    assert isinstance(Comparisons.from_frame(pd.DataFrame(columns())).to_frame(), pd.DataFrame)
    assert isinstance(Comparisons.from_frame(pl.DataFrame(columns())).to_frame(), pl.DataFrame)
