"""Sets that benchmarks keep: what is stored comes back, and what is done is not done again."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is found where tests run as `python -m pytest` in the checkout")

from benchmarks import alike, everyday, report, stored

SETS = [
    {"job": "a", "seed": 0, "items": 12_345, "model": "JAM", "order": 0.987654, "ranks": None, "commit": "abc",
     "sentences": [["connected", 0.0, 0.0], ["first item", 1.0, 0.05], ["connected", 0.0, 0.0]],
     "wrong": [["first item", "é ranks first."]]},
    {"job": "a", "seed": 1, "refused": "no decided vote", "commit": "abc"},
    {"job": "b", "seed": 0, "items": 3, "model": "JAM", "order": 1.0, "ranks": 0.5, "commit": "def",
     "sentences": [], "wrong": []},
]  # fmt: skip


def measure_nothing(name, seed):
    return {"value": float(seed)}


def measure_and_fail(name, seed):
    raise AssertionError("was done already")


def test_packed_sets_come_back():
    found = {(one["job"], one["seed"]): one for one in everyday.unpacked(everyday.packed(SETS))}
    assert len(found) == len(SETS)
    for one in SETS:
        rounded = {**one, "order": 0.9877} if one.get("order") == 0.987654 else one
        assert found[one["job"], one["seed"]] == rounded


def test_four_thousand_sets_are_less_than_three_megabytes():
    figures = {f"figure {k}": 0.123456 for k in range(14)}
    sentences = [[f"a template with a long name {k}", 0.0, 0.05 * (k > 25)] for k in range(30)]
    sets = [
        {"job": f"job {k % 25}", "seed": k, "commit": "abc", **figures, "sentences": sentences} for k in range(4000)
    ]
    assert len(everyday.packed(sets)) < 3e6


def test_a_run_goes_on_from_both_files(tmp_path):
    done = tmp_path / "done.jsonl"
    cases = [("one", 0), ("one", 1), ("two", 0)]
    first = alike.run(measure_nothing, cases[:2], done, 1, 1.0)
    assert [(one["line"], one["seed"], one["value"]) for one in first] == [("one", 0, 0.0), ("one", 1, 1.0)]
    with done.open("a") as lines:
        lines.write('{"line": "two", "se')  # a run that was killed
    known = stored.unpacked(stored.packed([{**first[0], "line": "two"}], "line"), "line")
    again = alike.run(measure_and_fail, cases, done, 1, 1.0, known)
    assert again[:2] == first and again[2]["value"] == 0.0
    assert len(alike.run(measure_nothing, [*cases, ("two", 1)], done, 1, 1.0)) == 4
    assert len(alike.run(measure_and_fail, [*cases, ("two", 1)], done, 1, 1.0)) == 4


def test_the_stored_sets_are_read():
    sets = stored.unpacked(json.loads((report.HERE / "alike_sets.json").read_text()), "line")
    assert {one["line"] for one in sets} >= {line.name for line in alike.LINES}
    assert all(isinstance(one["seed"], int) for one in sets)
