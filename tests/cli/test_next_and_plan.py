"""``jamrank next`` and ``jamrank plan`` as a user meets them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import jamrank as jr
from jamrank.cli import main


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    jr.simulate(8, 3, 60, flips=[0.05, 0.1, 0.2], truth="vote", random_state=1).frame.write_csv(path)
    return path


def test_next_writes_what_to_ask(votes, tmp_path):
    out = tmp_path / "next.csv"
    result = call("next", votes, "--count", 5, "--out", out, "--seed", 1, "--target", 0.02)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("go: ") and "Ask next" in result.output
    asked = pl.read_csv(out)
    assert asked.height == 5
    assert asked.columns == ["annotator", "left", "right", "gain", "probability", "strategy", "why"]
    assert set(asked["annotator"]) <= {"ann0", "ann1", "ann2"} and (asked["left"] != asked["right"]).all()
    again = call("next", votes, "--count", 5, "--seed", 1, "--target", 0.02, "--json")
    assert [one["left"] for one in json.loads(again.output)["assignments"]] == asked["left"].to_list()


def test_next_starts_with_no_votes(tmp_path):
    (tmp_path / "items.csv").write_text("item\nx\ny\nz\n")
    (tmp_path / "judges.csv").write_text("annotator,cost,capacity\nann,1,2\nbob,5,1\n")
    files = ["--items", tmp_path / "items.csv", "--annotators", tmp_path / "judges.csv"]
    result = call("next", *files, "--json", "--seed", 0)
    assert result.exit_code == 0, result.output
    asked = json.loads(result.output)["assignments"]
    assert sorted(one["annotator"] for one in asked) == ["ann", "ann", "bob"]
    planned = call("plan", *files, "--runs", 2, "--most", 30, "--json")
    assert planned.exit_code == 0 and json.loads(planned.output)["plan"]["runs"] == 2


def test_numbers_as_ids_are_the_same_items_in_every_file(tmp_path):
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\n1,10,11,left\n2,11,12,right\n")
    (tmp_path / "items.csv").write_text("item\n11\n13\n")
    (tmp_path / "judges.csv").write_text("annotator,cost\n1,2\n3,1\n")
    told = call(
        "next", tmp_path / "votes.csv", "--items", tmp_path / "items.csv", "--annotators", tmp_path / "judges.csv",
        "--count", 12, "--json", "--seed", 0,
    )  # fmt: skip
    asked = json.loads(told.output)["assignments"]
    assert {one[side] for one in asked for side in ("left", "right")} == {10, 11, 12, 13}
    assert {one["annotator"] for one in asked} <= {1, 2, 3}


@pytest.mark.parametrize(
    ("more", "code", "state"),
    [
        (["--target", "0.6", "--gold", "GOLD"], 10, "reached"),
        (["--target", "0.0001", "--budget", "60"], 12, "budget spent"),
    ],
)
def test_exit_codes_say_how_it_stands(votes, tmp_path, more, code, state):
    gold = tmp_path / "gold.csv"
    gold.write_text("left,right,winner\nitem0,item1,left\n")
    out = tmp_path / "next.csv"
    result = call("next", votes, *[gold if one == "GOLD" else one for one in more], "--out", out)
    assert result.exit_code == code, result.output
    assert result.output.startswith(f"{state}: ")
    assert "it lists no comparisons." in " ".join(result.output.split())
    assert pl.read_csv(out).height == 0


def test_coins_are_futile(tmp_path):
    rng = np.random.default_rng(0)
    rows = ["annotator,left,right,winner"]
    for _ in range(600):
        left, right = rng.choice(6, 2, replace=False)
        rows.append(f"a{rng.integers(3)},i{left},i{right},{rng.choice(['left', 'right'])}")
    (tmp_path / "votes.csv").write_text("\n".join(rows) + "\n")
    result = call("next", tmp_path / "votes.csv", "--target", 0.01)
    assert result.exit_code == 11, result.output


def test_nothing_left_to_ask_is_said_and_repeats_are_an_option(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("annotator,left,right,winner\nann,tea,milk,left\n")
    result = call("next", path)
    assert result.exit_code == 11 and "No pair is left to ask" in result.output and "--repeats" in result.output
    assert json.loads(call("next", path, "--json").stdout)["status"]["state"] == "futile"
    assert "Ask next" in call("next", path, "--repeats").output


@pytest.mark.parametrize(
    "text",
    ["left,right,winner\ntea,milk,tie\n", "annotator,left,right,winner\n" + "ann,tea,milk,left\nann,milk,tea,left\n"],
)
def test_votes_that_repeat_or_name_nobody_are_asked_again(text, tmp_path):
    (tmp_path / "votes.csv").write_text(text)
    result = call("next", tmp_path / "votes.csv")
    assert result.exit_code == 0 and "Ask next" in result.output


def test_votes_that_share_a_truth_are_not_counted_as_independent(tmp_path):
    """Four judges of the same 60 questions know less than four times as much as one."""
    rng, rows = np.random.default_rng(3), []
    for question in range(60):
        for candidate, p in (("b", 0.62), ("c", 0.55), ("d", 0.5)):
            better = rng.random() < p
            for judge, flip in (("w", 0.05), ("x", 0.1), ("y", 0.1), ("z", 0.15)):
                says = better ^ (rng.random() < flip)
                rows.append(f"{judge},a,{candidate},{'right' if says else 'left'},q{question}")
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["annotator,left,right,winner,question", *rows]))
    told = json.loads(call("plan", path, "--json", "--runs", 2, "--most", 10).output)["status"]["expected_error"]
    votes = jr.read_comparisons(path)
    shared, independent = (jr.Chooser(given, random_state=0).status() for given in (jr.JAM().fit(votes), votes))
    assert told == pytest.approx(shared.expected_error, abs=0.02)
    assert told > independent.expected_error + 0.02


def test_a_plan_that_is_done_says_so(tmp_path):
    rows = "ann,tea,milk,left\nbob,tea,milk,left\n" * 40
    (tmp_path / "votes.csv").write_text("annotator,left,right,winner\n" + rows)
    result = call("plan", tmp_path / "votes.csv", "--runs", 2, "--most", 20)
    assert "No further votes are needed for an expected error of 10.0 %." in " ".join(result.output.split())


def test_plan_says_how_many_votes_and_draws_them(votes, tmp_path):
    picture = tmp_path / "plan.svg"
    result = call("plan", votes, "--runs", 3, "--most", 200, "--target", 0.12, "--picture", picture, "--budget", 100)
    assert result.exit_code == 0, result.output
    assert "expected error" in result.output and "budget" in result.output
    text = picture.read_text()
    assert text.startswith("<svg") and text.rstrip().endswith("</svg>") and "target 12.0 %" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no votes and no items; give VOTES, or --items and --annotators to start with none"),
        (["--items", "ITEMS"], "no annotators; give annotators, or votes that name some"),
        (["--items", "ITEMS", "--annotators", "BAD"], "cost is 'much'; expected a number"),
        (["--items", "WRONG"], "no column 'item'; the columns are name, size"),
        (["VOTES", "--goal", "threshold"], "threshold is None; expected a score, or one of the items"),
    ],
)
@pytest.mark.parametrize("command", ["next", "plan"])
def test_what_is_missing_is_said_in_one_line(command, given, message, votes, tmp_path):
    (tmp_path / "items.csv").write_text("item\nx\ny\n")
    (tmp_path / "wrong.csv").write_text("name,size\nx,1\n")
    (tmp_path / "bad.csv").write_text("annotator,cost\nann,much\n")
    files = {"ITEMS": "items.csv", "WRONG": "wrong.csv", "BAD": "bad.csv"}
    told = [votes if one == "VOTES" else tmp_path / files[one] if one in files else one for one in given]
    result = call(command, *told)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1 and message in result.output
