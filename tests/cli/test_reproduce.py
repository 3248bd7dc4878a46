"""``jamrank reproduce`` as a user meets it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from jamrank.cli import main
from jamrank.paper import runner
from jamrank.paper.data import Data
from jamrank.paper.experiments import EXPERIMENTS
from jamrank.paper.losses import LossTrial
from jamrank.paper.trials import Measurement

FOLDER = Path(os.environ.get("JAMRANK_DATA") or Path(__file__).parents[3] / "shared" / "data")
WINE = FOLDER / "wine_quality" / "winequality-red.csv"
needs_wine = pytest.mark.skipif(not WINE.exists(), reason=f"needs {WINE.name}: set JAMRANK_DATA to the data folder")


def call(*arguments: object):
    return CliRunner().invoke(main, ["reproduce", *(str(argument) for argument in arguments)])


def refusal(*arguments: object) -> str:
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("jamrank: ")
    return line


@pytest.fixture
def without_work(monkeypatch) -> None:
    """Let the experiment on losses find something at once, without data."""
    measured = [Measurement(f"JAM, {loss}", "accuracy", "", 98.5) for loss in ("logistic", "hinge")]
    monkeypatch.setattr(Data, "require", lambda self, names, told: None)
    monkeypatch.setattr(LossTrial, "run", lambda self, data: measured)


def test_help_names_every_experiment_and_shows_examples():
    result = call("--help")
    assert result.exit_code == 0
    listed = result.output.split("Experiments:")[1].split("Examples:")[0]
    assert re.findall(r"^ +(\w+) ", listed, re.MULTILINE) == list(EXPERIMENTS)
    assert "jamrank reproduce --quick" in result.output.split("Examples:")[1]


def test_what_does_not_exist_is_refused_and_leaves_nothing(tmp_path):
    line = refusal("flop", "--out", tmp_path / "out")
    assert "'flop'" in line
    for name in EXPERIMENTS:
        assert name in line
    assert "at least 1" in refusal("loss", "--seeds", 0, "--out", tmp_path / "out")
    assert "at least 1" in refusal("loss", "--jobs", 0, "--out", tmp_path / "out")
    assert "--seeds" in refusal("loss", "--seeds", "many", "--out", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_cannot_be_made_is_told_before_the_work(without_work, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in refusal("loss", "--out", tmp_path / "file" / "out")


@pytest.mark.parametrize(
    ("name", "file"), [("loss", "winequality-red.csv"), ("digits", "pendigits.tra"), ("ratings", "SC_ratings.csv")]
)
def test_a_missing_data_file_is_named(tmp_path, name, file):
    line = refusal(name, "--data", tmp_path, "--out", tmp_path / "out")
    assert f"{file} is missing" in line
    assert "leave out --data" in line


def test_missing_libraries_get_the_command_that_installs_them(without_work, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_lacks", lambda module: module == "matplotlib")
    assert "pip install 'jamrank[paper]'" in refusal("loss", "--out", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_says_so_in_one_line(without_work, tmp_path, monkeypatch):
    def interrupt(self, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(LossTrial, "run", interrupt)
    result = call("loss", "--out", tmp_path)
    assert result.exit_code == 130
    assert result.stderr.strip() == "jamrank: interrupted"


def test_quiet_prints_nothing(without_work, tmp_path):
    result = call("loss", "--seeds", 1, "--quick", "--quiet", "--out", tmp_path)
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "results.md").exists()


def test_the_summary_stands_beside_what_the_paper_says(without_work, tmp_path):
    result = call("loss", "--seeds", 2, "--quick", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for word in ("here", "paper", "98.50 / 98.50", "similar", "2 trials run."):
        assert word in result.stdout
    assert str(tmp_path / "out" / "results.md") in result.stdout
    assert (
        "1 trial run, 2 trials from an earlier run."
        in call("loss", "--seeds", 3, "--quick", "--out", tmp_path / "out").stdout
    )


@needs_wine
def test_a_small_experiment_from_end_to_end(tmp_path):
    arguments = ("loss", "--quick", "--seeds", 1, "--data", FOLDER, "--out", tmp_path)
    first = call(*arguments)
    assert first.exit_code == 0, first.output
    assert "1 trial run." in first.stdout
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results.json", "results.md", "runs.json", "loss.png", "loss.svg", ".trials"}
    rows = json.loads((tmp_path / "results.json").read_bytes())
    accuracies = {row["model"]: row["value"] for row in rows if row["metric"] == "accuracy"}
    assert set(accuracies) == {"JAM, logistic", "JAM, hinge"}
    for value in accuracies.values():
        assert f"{value:.2f}" in first.stdout
        assert f"| {value:.2f} |" in (tmp_path / "results.md").read_text(encoding="utf-8")
    before = {name: (tmp_path / name).read_bytes() for name in names - {".trials", "runs.json"}}
    second = call(*arguments)
    assert "0 trials run, 1 trial from an earlier run." in second.stdout
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
