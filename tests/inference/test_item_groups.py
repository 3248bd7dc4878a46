"""Ranks within groups of items that votes join."""

from __future__ import annotations

import json
from io import BytesIO

import numpy as np
import polars as pl
import pytest

import jamrank as jr
from jamrank.inference.item_groups import item_groups, within_groups
from jamrank.report.exports import EXPORTS, exported
from jamrank.report.result_tables import ResultTables
from jamrank.selection.groups import group_ranking, side_by_side

pytestmark = pytest.mark.filterwarnings("ignore::jamrank.errors.JamrankWarning")


def leagues(sizes=(4, 3), each=40, seed=0):
    """Return votes in leagues that never met; the items of each are numbers, and the lower one is better."""
    rng, votes, begin = np.random.default_rng(seed), [], 0
    for n in sizes:
        for _ in range(each):
            low, high = sorted(rng.choice(n, 2, replace=False) + begin)
            votes.append((low, high, rng.random() < 0.85))
        begin += n
    left, right, won = (np.array(column) for column in zip(*votes, strict=True))
    return jr.Comparisons.from_arrays(left, right, np.zeros(len(left)), won.astype(float))


@pytest.mark.parametrize("scale", ["logit", "elo"])
def test_every_table_has_ranks_within_groups(scale, tmp_path):
    model = jr.BradleyTerry().fit(leagues())
    model.save(tmp_path / "model.jamrank")
    for result in (model.result_, jr.load(tmp_path / "model.jamrank").result_):
        tables = ResultTables(result, scale=scale)
        written = tables.written_ranking
        assert written.columns == ["item", "group", *model.ranking_.columns[1:]]
        assert written["group"].to_list() == [1] * 4 + [2] * 3
        for (_,), own in written.group_by("group", maintain_order=True):
            assert own["rank"].to_list() == list(range(1, own.height + 1))
            assert own["score"].is_sorted(descending=True)
            assert (own["rank_high"] <= own.height).all()
        score = dict(model.ranking_on(scale).select("item", "score").iter_rows())
        assert all(score[item] == value for item, value in written.select("item", "score").iter_rows())
        files = exported(tables, list(EXPORTS))
        assert pl.read_parquet(BytesIO(files["ranking.parquet"])).equals(written)
        assert [row["group"] for row in json.loads(files["results.json"])["ranking"]] == written["group"].to_list()
        lines = str(files["leaderboard.md"]).splitlines()[2:]
        assert lines[0].startswith("| Group | Rank | Item | Score |")
        assert [line.split(" | ")[0].strip("| ") for line in lines[2:]] == list(map(str, written["group"]))


def test_one_group_has_no_column_of_groups():
    model = jr.BradleyTerry().fit(leagues((5,)))
    tables = ResultTables(model.result_)
    assert tables.group_ranking is None
    assert tables.written_ranking.equals(pl.DataFrame(model.ranking_))


def test_pairs_of_known_truth_join_groups():
    votes = leagues()
    assert item_groups(jr.BradleyTerry().fit(votes).result_, votes) is not None
    result = jr.JAM().fit(votes, gold=[(0, 4)]).result_
    assert item_groups(result, votes) is None


def test_features_compare_all_items():
    votes = leagues()
    features = pl.DataFrame({"item": votes.items.tolist(), "x": np.arange(7.0)})
    assert item_groups(jr.JAM().fit(votes, features).result_, votes) is None


def test_the_probability_of_the_first_rank_is_within_a_group():
    model = jr.BradleyTerry().fit(leagues())
    table = group_ranking(model)
    assert table.group_by("group").agg(pl.col("p_first").sum())["p_first"].to_list() == pytest.approx([1, 1])
    beside = side_by_side(table, {"all": table})
    assert beside.columns[:3] == ["item", "group", "rank"]
    assert beside["rank all"].to_list() == beside["rank"].to_list()
    assert beside["group all"].to_list() == beside["group"].to_list()


def test_a_leaderboard_of_very_many_groups_has_no_rank_intervals():
    n = 301
    votes = jr.Comparisons.from_arrays(np.arange(n) * 2, np.arange(n) * 2 + 1, np.zeros(n), np.ones(n))
    tables = ResultTables(jr.BradleyTerry().fit(votes).result_)
    assert tables.written_ranking["rank_low"].null_count() == 2 * n
    assert str(exported(tables, ["markdown"])["leaderboard.md"]).count("\n") == 2 * n + 4


def test_ranks_within_groups_are_as_in_the_ranking():
    result = jr.BradleyTerry().fit(leagues((6, 2, 2))).result_
    order = result.order(item_groups(result, result.votes.in_memory))
    found = within_groups(pl.DataFrame(result.ranking()), result, order)
    assert found["group"].to_list() == [1] * 6 + [2] * 2 + [3] * 2
    whole = dict(pl.DataFrame(result.ranking()).select("item", "rank").iter_rows())
    for (_,), own in found.group_by("group"):
        assert sorted(own["item"].to_list(), key=whole.get) == own["item"].to_list()
