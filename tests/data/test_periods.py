"""When votes were cast."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.data.periods import N_PERIODS, parse_times


def frame(n: int = 200, **more) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, n)
    columns = {
        "annotator": rng.integers(0, 3, n),
        "left": left,
        "right": (left + rng.integers(1, 4, n)) % 4,
        "winner": rng.choice(["left", "right", "tie"], n),
        "time": rng.permutation(n),
    }
    return pl.DataFrame({**columns, **more})


def by_hand(table: pl.DataFrame, votes: jr.Comparisons) -> np.ndarray:
    """Count the rows of each folded vote in each period, one by one."""
    found = np.zeros((len(votes.vote_result), N_PERIODS))
    for row in table.iter_rows(named=True):
        first, second = sorted((row["left"], row["right"]))
        won = {"left": row["left"], "right": row["right"], "tie": None}[row["winner"]]
        code = 2 if won is None else int(won == first)
        for k in range(len(found)):
            pair = votes.vote_pair[k]
            same = (votes.items[votes.pair_first[pair]], votes.items[votes.pair_second[pair]]) == (first, second)
            same &= votes.annotators[votes.vote_annotator[k]] == row["annotator"]
            if same and votes.vote_result[k] == code and votes.vote_swapped[k] == (row["left"] > row["right"]):
                found[k, row["time"] * N_PERIODS // table.height] += row.get("weight", 1.0)
    return found


@pytest.mark.parametrize("weight", [None, 2.0])
def test_every_vote_is_counted_in_its_period(weight):
    table = frame() if weight is None else frame(weight=[weight] * 200)
    votes = jr.Comparisons.from_frame(table)
    period = votes.storage.table.period
    np.testing.assert_allclose(period, by_hand(table, votes))
    np.testing.assert_allclose(period.sum(axis=1), votes.vote_weight)
    some = np.arange(len(period)) % 2 == 0
    np.testing.assert_allclose(votes.only(some).storage.table.period, period[some])


@pytest.mark.parametrize(
    ("values", "known"),
    [
        ([f"2026-11-{day:02}" for day in range(1, 21)], True),
        ([str(k) for k in range(20)], True),
        (["AB", "BA"] * 10, False),
        ([0, 1] * 10, False),
        ([*range(19), None], False),
    ],
)
def test_only_times_are_times(values, known):
    found = parse_times(pl.Series(values))
    assert (found is not None) == known
    if known:
        assert found.tolist() == list(range(1, 21))


def test_a_column_of_records_called_like_a_time_tells_nothing():
    records = np.empty(20, dtype=object)
    records[:] = [[{"rank": 1, "value": "a"}, {"rank": "b"}]] * 20
    assert parse_times(records) is None


def test_a_file_of_another_form_keeps_its_times(tmp_path):
    table = frame().rename({"left": "model_a", "right": "model_b", "time": "tstamp", "annotator": "judge"})
    words = {"left": "model_a", "right": "model_b", "tie": "tie"}
    table.with_columns(pl.col("winner").replace_strict(words)).write_csv(tmp_path / "battles.csv")
    votes = jr.read_comparisons(tmp_path / "battles.csv")
    assert votes.storage.table.period.sum() == 200
