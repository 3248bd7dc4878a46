"""Load, kills and whole studies. Short forms run with the other tests, the rest by ``make test-long``."""

from __future__ import annotations

import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")
from benchmarks import studio as benchmark
from benchmarks import studio_efficiency as efficiency


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
def test_chosen_pairs_need_fewer_votes_than_random_ones():
    curves = {name: [efficiency.curve(name, seed) for seed in range(6)] for name in ("random", "information")}
    reached = efficiency.votes_to_match(curves["information"], curves["random"])
    assert reached <= 0.7 * efficiency.N_VOTES
