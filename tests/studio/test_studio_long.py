"""Load, kills and whole studies. Short forms run with the other tests, the rest by ``make test-long``."""

from __future__ import annotations

import numpy as np
import pytest
from efficiency import N_ITEMS, pairs_right, votes_of_study

from jamrank.studio.study import Study

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")
from benchmarks import studio as benchmark


def test_no_vote_is_lost_or_doubled_when_the_server_is_killed(tmp_path):
    found = benchmark.kills(str(tmp_path / "s.sqlite"), "SQLite", tmp_path, 1, n_judges=4, between=1.0)
    assert found.acknowledged > 0
    assert (found.lost, found.twice) == (0, 0)


@pytest.mark.long
def test_thirty_kills(tmp_path):
    found = benchmark.kills(str(tmp_path / "s.sqlite"), "SQLite", tmp_path, 30)
    assert (found.lost, found.twice) == (0, 0)
    assert found.votes_after > 0


@pytest.mark.long
def test_kills_on_postgresql(tmp_path, postgresql):
    found = benchmark.kills(postgresql(), "PostgreSQL", tmp_path, 10)
    assert (found.lost, found.twice) == (0, 0)
    assert found.votes_after > 0


@pytest.mark.long
def test_two_hundred_judges(tmp_path, ledger_url):
    found = benchmark.load(ledger_url, "test", tmp_path, 200, 30.0)
    assert (found.errors, found.lost, found.twice) == (0, 0, 0)
    assert found.votes > 200


@pytest.mark.long
def test_chosen_pairs_need_fewer_votes_than_random_ones(run_studio, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("item,text\n" + "".join(f"item{k:02d},{k}\n" for k in range(N_ITEMS)), encoding="utf-8")
    counts, seeds = list(range(200, 601, 20)), 6
    curves = {}
    for strategy in ("random", "information"):
        study = Study(votes_per_judge=200, strategy=strategy, gold_share=0.0)
        found = []
        for seed in range(seeds):
            where = str(tmp_path / f"{strategy}{seed}.sqlite")
            frame, scores = votes_of_study(run_studio(items, study, where=where), seed, counts[-1])
            found.append([pairs_right(frame.head(count), scores) for count in counts])
        curves[strategy] = np.mean(found, axis=0)
    reached = next(
        count for count, right in zip(counts, curves["information"], strict=True) if right >= curves["random"][-1]
    )
    assert reached <= 0.7 * counts[-1]
