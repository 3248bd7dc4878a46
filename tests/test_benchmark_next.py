"""What the benchmark of choosing computes."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")

from benchmarks import next as choosing
from benchmarks import next_report
from benchmarks.crowds import CROWDS, Replay


def test_a_curve_crosses_a_level_between_its_points():
    grid = np.array([10.0, 20.0, 30.0])
    assert next_report.crossing(grid, np.array([0.5, 0.7, 0.9]), 0.8) == pytest.approx(25.0)
    assert next_report.crossing(grid, np.array([0.85, 0.7, 0.9]), 0.8) == 10.0
    assert next_report.crossing(grid, np.array([0.5, 0.6, 0.7]), 0.8) == np.inf


def test_the_ratio_is_that_of_the_crossings():
    def curves(slope):
        return [[{"votes": v, "CrowdBT order": slope * v / 1000} for v in (100, 500, 1000)]]

    asked = next_report.Asked("", "bad/chosen", "bad/random/CrowdBT", "order", 0.4, 1.0)
    found = next_report._ratio({("bad", "chosen"): curves(0.8), ("bad", "random"): curves(0.5)}, asked)
    assert found[0] == pytest.approx(500 / 800, rel=0.01)
    never = next_report._ratio({("bad", "chosen"): curves(0.8), ("bad", "random"): curves(0.3)}, asked)
    assert never[0] == pytest.approx(0.5, rel=0.01) and never[4] == np.inf  # followed for 1,000 votes


@pytest.mark.parametrize("method", ["random", "chosen", "given", "top-k"])
def test_a_run_is_measured_at_its_checkpoints(method):
    found = choosing.collect(choosing.Case("clean", method, 60, 0))
    assert [point["votes"] for point in found["curve"]] == [30, 60]
    assert all(0 < point["CrowdBT order"] < 1 for point in found["curve"])


def test_the_same_seed_is_the_same_crowd_for_every_method():
    runs = [choosing.Collection(choosing.Case("bad", method, 60, 3)) for method in ("random", "chosen")]
    assert (runs[0].crowd.flips == runs[1].crowd.flips).all()
    cheap, both = (CROWDS[f"costs-0-{keep}"](np.random.default_rng(1)) for keep in ("cheap", "both"))
    assert (cheap.scores == both.scores).all() and len(cheap.flips) == 5 and len(both.flips) == 10


def test_a_recorded_vote_is_given_once_and_turned_with_the_sides():
    replay = Replay(np.zeros(2), np.zeros(3), np.random.default_rng(0))
    replay.votes[0, 1] = [(0, True), (2, False)]
    assert replay.answer(2, 1, 0) == (2, True)
    assert replay.answer(1, 1, 0) == (0, False)  # somebody else judged the pair
    assert replay.answer(0, 0, 1) is None


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    cases, done = [choosing.Case("clean", "random", 30, 0)], tmp_path / "next.jsonl"
    first = choosing.run(cases, done, 1)
    monkeypatch.setattr(choosing, "collect", None)
    assert choosing.run(cases, done, 1) == first


def test_what_is_not_run_again_stays_on_the_page(tmp_path):
    def runs(crowd, slope, commit):
        curve = [{"votes": v, "CrowdBT order": 0.6 + slope * v / 1000} for v in (100, 500, 1000)]
        kinds = [("chosen", curve), ("random", [point | {"votes": 1.5 * point["votes"]} for point in curve])]
        return [
            {"case": {"crowd": crowd, "method": method, "seed": 0}, "commit": commit, "curve": points}
            for method, points in kinds
        ]

    first = runs("clean", 0.3, "one") + runs("bad", 0.3, "one")
    next_report.write(tmp_path, first, {"choice": 1.0}, {"commit": "one"})
    before = json.loads((tmp_path / "next.json").read_text())
    next_report.write(tmp_path, runs("bad", 0.4, "two"), {}, {"commit": "two"}, everything=False)
    after = json.loads((tmp_path / "next.json").read_text())
    clean, bad = ([one["own"] == f"{crowd}/chosen" for one in before["ratios"]] for crowd in ("clean", "bad"))
    assert (
        sum(clean)
        and sum(bad)
        and [one["own"] for one in after["ratios"]] == [one["own"] for one in before["ratios"]]
    )
    for was, now, again in zip(before["ratios"], after["ratios"], bad, strict=True):
        assert (now["commit"], now == was) == (("two", False) if again else ("one", True))
    assert after["sentences"]["budget clean"] == before["sentences"]["budget clean"]
    assert after["sentences"]["budget bad"]["commit"] == "two" and after["milliseconds"] == {"choice": 1.0}
