from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import jamrank as jr
from jamrank.cli import main


def run(*args):
    return CliRunner().invoke(main, ["diff", *map(str, args)])


@pytest.fixture
def votes(tmp_path):
    rows = (
        ["x,y,left"] * 30 + ["x,y,right"] * 10 + ["x,y,tie"] * 2 + ["y,z,left"] * 5 + ["y,z,right"] * 4 + ["p,q,left"]
    )
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["left,right,winner", *rows]) + "\n", encoding="utf-8")
    return path


def test_a_settled_difference_and_an_open_one(votes):
    settled = run(votes, "y", "x", "-q").output
    assert settled.startswith("x is above y with probability >99 %: settled at 95 %.")
    assert "Between them: 42 votes (30 for x, 10 for y, 2 ties)." in settled
    opened = run(votes, "y", "z", "-q").output
    assert "the difference is not settled at 95 %." in opened
    assert "Difference of the scores:" in opened
    assert "No vote compares x with z directly." in run(votes, "x", "z", "-q").output


def test_items_that_nothing_connects_are_not_compared(votes):
    output = run(votes, "x", "p", "-q").output
    assert "cannot be compared: no decided votes connect them" in output
    assert "probability" not in output


def test_json_and_a_saved_model(votes, tmp_path):
    jr.fit(votes, "bt").save(tmp_path / "model.jamrank")
    for source in (votes, tmp_path / "model.jamrank"):
        found = json.loads(
            run(source, "x", "y", "--json", "-q", *(["--model", "bt"] if source == votes else [])).stdout
        )
        assert (found["above"], found["below"], found["settled"]) == ("x", "y", True)
        assert found["low"] < found["difference"] < found["high"]
        assert found["low"] > 0
    elo = json.loads(run(votes, "x", "y", "--json", "-q", "--model", "bt", "--scale", "elo").stdout)
    assert elo["difference"] == pytest.approx(found["difference"] * 173.7178, rel=1e-4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("x", "xx"), "xx: no vote is about such an item; did you mean x?"),
        (("x", "x"), "x is given twice; give two different items"),
        (("x", "y", "--model", "Copeland"), "Copeland gives no uncertainty"),
        (("x",), "expected VOTES and two items"),
        ((), "expected VOTES and two items"),
    ],
)
def test_errors_are_one_line(votes, args, message):
    result = run(votes, *args)
    assert result.exit_code == 2
    assert message in result.stderr
